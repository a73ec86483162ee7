from __future__ import annotations

import pytest
from planted import planted_problem

from unifilter.methods import METHODS, ModelShape
from unifilter.methods.acm_gcn import ACMGCNMethod, ACMGCNPlusMethod, ACMGCNPlusPlusMethod, ACMIIGCNMethod
from unifilter.nn import ACMGCN
from unifilter.training import LossWindow

FAMILY = (ACMGCNMethod, ACMIIGCNMethod, ACMGCNPlusMethod, ACMGCNPlusPlusMethod)


def test_the_names_fix_what_tells_the_variants_apart() -> None:
    names = ("filter_last", "layer_norm", "structure", "residual")
    assert {one.name: tuple(getattr(one(), name) for name in names) for one in FAMILY} == {
        "acm-gcn": (False, False, False, False),
        "acmii-gcn": (True, False, False, False),
        "acm-gcn+": (False, True, True, False),
        "acm-gcn++": (False, True, True, True),
    }


@pytest.mark.parametrize("method", FAMILY)
def test_training_stops_as_the_authors_does(method: type[ACMGCNMethod]) -> None:
    built = method()
    stop = built.stop_rule()
    assert isinstance(stop, LossWindow)
    assert (stop.window, built.epochs, built.optimizer) == (200, 5000, "adam")
    groups = built.build(planted_problem()).parameter_groups
    assert [(group["lr"], group["weight_decay"]) for group in groups] == [(0.01, 5e-5)]


@pytest.mark.parametrize(
    ("name", "dataset", "split", "expected"),
    [
        ("acm-gcn", "chameleon", "48", (0.05, 5e-5, 0.7, False, "row")),
        ("acm-gcn", "chameleon", "60", (0.01, 5e-5, 0.8, False, "row")),
        ("acm-gcn", "actor", "48", (0.01, 5e-3, 0.0, False, "row")),
        ("acmii-gcn", "squirrel", "48", (0.05, 5e-6, 0.7, False, "row")),
        ("acmii-gcn", "squirrel", "60", (0.01, 5e-5, 0.5, False, "row")),
        ("acm-gcn+", "squirrel", "48", (0.002, 1e-4, 0.6, True, "raw")),
        ("acm-gcn+", "cora", "48", (0.002, 0.0, 0.6, False, "row")),
        ("acm-gcn+", "cora", "60", (0.1, 5e-3, 0.3, True, "raw")),
        ("acm-gcn++", "pubmed", "60", (0.1, 1e-4, 0.1, False, "row")),
        ("acm-gcn++", "chameleon", "48", (0.002, 5e-4, 0.8, True, "raw")),
    ],
)
def test_published_settings(name: str, dataset: str, split: str, expected: tuple[object, ...]) -> None:
    method = METHODS[name].preset(dataset, split=split)
    assert isinstance(method, ACMGCNMethod)
    found = method.lr, method.weight_decay, method.dropout, method.structure, method.features
    assert found == expected
    assert method.hidden_channels == 64


def test_the_structure_channel_is_for_the_nodes_of_training() -> None:
    shape = ModelShape(4, 3, {"num_nodes": 20, "rectified": True})
    for method in (ACMGCNPlusMethod(), ACMGCNMethod(structure=True)):
        assert method.transductive
        assert method.network(shape).num_nodes == 20
    for method in (ACMGCNMethod(), ACMGCNPlusMethod(structure=False)):
        assert not method.transductive
        assert method.network(shape).num_nodes is None


def test_numbers_and_several_labels_may_be_negative() -> None:
    learner = ACMGCNMethod().build(planted_problem())
    assert isinstance(learner.model, ACMGCN)
    assert learner.model.output.rectified
    assert learner.shape.facts == {"rectified": True}
    signed = ACMGCNMethod().network(ModelShape(4, 3, {"rectified": False}))
    assert not signed.output.rectified
    assert signed.hidden.rectified
