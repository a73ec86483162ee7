"""The file gives what the model gives, whatever the method and the graph."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from small_estimator import SMALL, grown

from unifilter import NodeClassifier, NodeRegressor, TrainedModel, UniFilterClassifier
from unifilter._internal.extras import MissingExtraError
from unifilter.data import NodeDataset
from unifilter.estimators import onnx_file
from unifilter.methods import METHODS, ModelShape
from unifilter.nn import GraphModule

# Methods whose layers read single rows, each way that their layers can be built.
WAYS: list[tuple[str, dict[str, Any]]] = [
    ("unifilter", {**SMALL, "batch_norm": True}),
    ("unifilter", {**SMALL, "num_layers": 4, "tau": "learn", "weights": "channel"}),
    ("unifilter", {**SMALL, "num_layers": 1, "basis": "bernstein"}),
    ("hetfilter", {**SMALL, "hidden_channels": 6}),  # as wide as the features: the input is added
    ("homfilter", SMALL),
    ("ortfilter", SMALL),
    ("sgc", {"epochs": 3}),
    ("asgc", {}),
    ("sign", {"epochs": 3}),
    ("sign", {"epochs": 3, "head": "paper"}),
    ("adaptkry", {"epochs": 3}),
    ("adaptkry", {"epochs": 3, "combine": "concatenate", "num_layers": 3}),
    ("mlp", {"epochs": 3, "batch_norm": True}),
]


def outputs_of(path: Path, rows: torch.Tensor) -> dict[str, np.ndarray]:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(names, {"rows": rows.numpy()}), strict=True))


@pytest.mark.parametrize(("method", "settings"), WAYS)
def test_the_file_gives_what_the_model_gives(
    method: str, settings: dict[str, Any], data: NodeDataset, tmp_path: Path
) -> None:
    clf = NodeClassifier(method, dtype="float64", **settings).fit(data.graph, data.features, data.labels)
    model, path = clf.model_, tmp_path / "model.onnx"
    model.export_onnx(path)
    for graph, x in ((data.graph, data.features), grown(data)):  # one of them the model has never seen
        rows, logits = model.node_inputs(graph, x), model.logits(graph, x)
        torch.testing.assert_close(model.network.on_node_inputs(rows).detach(), logits, rtol=1e-9, atol=1e-9)
        found = outputs_of(path, rows)
        np.testing.assert_allclose(found["outputs"], logits, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found["probabilities"], model.probabilities(logits), rtol=1e-9, atol=1e-9)
        # Each row on its own: a single one, and more than it was traced with.
        np.testing.assert_allclose(outputs_of(path, rows[7:8])["outputs"], logits[7:8], rtol=1e-9, atol=1e-9)


def test_single_precision(fitted: UniFilterClassifier, data: NodeDataset, tmp_path: Path) -> None:
    fitted.model_.export_onnx(tmp_path / "model.onnx")
    found = outputs_of(tmp_path / "model.onnx", fitted.model_.node_inputs(data.graph, data.features))
    assert found["outputs"].dtype == np.float32
    np.testing.assert_allclose(found["probabilities"], fitted.predict_proba(), rtol=1e-4, atol=1e-5)


def test_numbers_keep_their_unit_and_digits(data: NodeDataset, tmp_path: Path) -> None:
    y = 1e9 + data.features[:, 0].double().numpy()
    reg = NodeRegressor(**{**SMALL, "dropout": 0.0}).fit(data.graph, data.features, y)
    reg.model_.export_onnx(tmp_path / "model.onnx")
    found = outputs_of(tmp_path / "model.onnx", reg.model_.node_inputs(data.graph, data.features))
    np.testing.assert_allclose(found["values"][:, 0] - 1e9, reg.predict() - 1e9, atol=1e-4)


def test_labels_have_a_probability_each(data: NodeDataset, tmp_path: Path) -> None:
    y = np.stack([data.features[:, 0] > 0, data.features[:, 1] > 0], axis=1).astype(float)
    clf = NodeClassifier(**SMALL).fit(data.graph, data.features, y)
    clf.model_.export_onnx(tmp_path / "model.onnx")
    found = outputs_of(tmp_path / "model.onnx", clf.model_.node_inputs(data.graph, data.features))
    np.testing.assert_allclose(found["probabilities"], clf.predict_proba(), rtol=1e-4, atol=1e-5)


def test_the_file_says_what_it_holds(data: NodeDataset, tmp_path: Path) -> None:
    names = np.array(["ä", "b", "c"])[data.labels.numpy()]
    clf = UniFilterClassifier(**SMALL).fit(data.graph, data.features, names)
    clf.model_.export_onnx(tmp_path / "model.onnx")
    about = {one.key: one.value for one in onnx.load(tmp_path / "model.onnx").metadata_props}
    assert json.loads(about["names"]) == clf.classes_.tolist() == ["b", "c", "ä"]
    assert (about["method"], about["task"]) == ("unifilter", "classification")
    assert json.loads(about["settings"])["hops"] == SMALL["hops"]


# Without the portfolio, whose network consists of trained members.
@pytest.mark.parametrize("name", [name for name in METHODS if name != "auto"])
def test_every_other_method_is_refused_with_the_remedy(name: str, tmp_path: Path) -> None:
    method = METHODS[name]()
    network = method.network(
        ModelShape(4, 2, {"num_nodes": 2, "homophily": 0.5, "tau": 0.5, "rectified": True, "relations": 1})
    )
    exported = type(network).node_inputs is not GraphModule.node_inputs
    assert exported == (name in {way for way, _ in WAYS})
    if exported:
        return
    model = TrainedModel(method, ModelShape(4, 2), network, np.arange(2), method)
    with pytest.raises(ValueError, match="looks at the neighbors of a node behind its layers.*such as unifilter, sgc"):
        model.export_onnx(tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []


def test_an_operation_that_is_not_known_is_refused(
    fitted: UniFilterClassifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(fitted.model_.network), "on_node_inputs", lambda self, rows: torch.erf(rows))
    with pytest.raises(ValueError, match=r"the layers use aten\.erf.*: save the model with save\(path\) instead"):
        fitted.model_.export_onnx(tmp_path / "model.onnx")
    monkeypatch.setattr(
        type(fitted.model_.network), "on_node_inputs", lambda self, rows: torch.add(rows, rows, alpha=2)
    )
    with pytest.raises(ValueError, match="the layers use aten.add.Tensor with alpha"):
        fitted.model_.export_onnx(tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []


def test_what_is_missing_is_said_before_any_work(
    fitted: UniFilterClassifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(FileNotFoundError, match="there is no folder .*nowhere to write model.onnx to"):
        fitted.model_.export_onnx(tmp_path / "nowhere" / "model.onnx")
    monkeypatch.setattr(onnx_file, "make_fx", None)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtraError, match=r"export_onnx needs onnx: pip install 'unifilter\[onnx\]'"):
        fitted.model_.export_onnx(tmp_path / "model.onnx")
