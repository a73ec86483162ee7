from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from explanation.small_models import CHANNELS, NODES, fitted, small_graph
from torch_geometric.explain import Explainer

from unifilter import UniFilterClassifier
from unifilter.explanation import explain_node
from unifilter.explanation.pyg_explainer import PyGModel, UniFilterExplainer


def inputs() -> tuple[torch.Tensor, torch.Tensor]:
    graph, x, _ = small_graph()
    edges = graph.edges()[0]
    return torch.from_numpy(x), torch.cat([edges, edges.flip(0)], dim=1)


def explainer(model: torch.nn.Module, **options: Any) -> Explainer:
    return Explainer(
        model,
        UniFilterExplainer(),
        **({"explanation_type": "model", "node_mask_type": "attributes"} | options),
        model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"},
    )


def test_the_model_predicts_what_the_classifier_predicts() -> None:
    clf = fitted()
    logits = PyGModel(clf)(*inputs())
    np.testing.assert_array_equal(clf.classes_[logits.argmax(dim=1).numpy()], clf.predict())
    with pytest.raises(ValueError, match="not fitted yet"):
        PyGModel(UniFilterClassifier())


def test_the_mask_is_the_node_view() -> None:
    clf = fitted()
    mask = explainer(PyGModel(clf))(*inputs(), index=9).node_mask
    np.testing.assert_allclose(mask.numpy(), explain_node(clf, 9).by_node_and_feature, atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "shape", "axis"), [("object", (NODES, 1), 1), ("common_attributes", (1, CHANNELS), 0)]
)
def test_coarser_masks_are_sums(kind: str, shape: tuple[int, int], axis: int) -> None:
    clf = fitted()
    mask = explainer(PyGModel(clf), node_mask_type=kind)(*inputs(), index=9).node_mask
    fine = explain_node(clf, 9).by_node_and_feature
    assert mask.shape == shape
    np.testing.assert_allclose(mask.numpy(), fine.sum(axis=axis, keepdims=True), atol=1e-6)


def test_phenomena_explain_the_given_class_and_nodes_are_summed() -> None:
    clf = fitted()
    target = torch.ones(NODES, dtype=torch.int64)
    found = explainer(PyGModel(clf), explanation_type="phenomenon")
    mask = found(*inputs(), target=target, index=torch.tensor([3, 9])).node_mask
    expected = sum(explain_node(clf, node, target="odd").by_node_and_feature for node in (3, 9))
    np.testing.assert_allclose(mask.numpy(), expected, atol=1e-6)


def test_what_it_cannot_do() -> None:
    with pytest.raises(ValueError, match="does not support the given explanation settings"):
        explainer(PyGModel(fitted(epochs=1)), edge_mask_type="object")

    class Other(torch.nn.Module):
        def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
            return x[:, :2]

    with pytest.raises(ValueError, match=r"explains a PyGModel\(classifier\), not Other: wrap it"):
        explainer(Other())(*inputs(), index=0)
