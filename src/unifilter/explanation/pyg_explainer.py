"""PyG's ``Explainer`` for a trained UniFilter: contributions of the features of each node to a prediction."""

from __future__ import annotations

from typing import Any

import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn
from torch_geometric.explain import ExplainerAlgorithm, Explanation
from torch_geometric.explain.config import MaskType, ModelMode, ModelReturnType, ModelTaskLevel

from unifilter.estimators import NodeClassifier
from unifilter.explanation.node_view import explain_node
from unifilter.graph import Graph


class PyGModel(nn.Module):
    """A fitted classifier with PyG's call signature: ``model(x, edge_index)`` returns the logits of every node.

    The columns are in the order of ``classifier.classes_``.
    """

    def __init__(self, classifier: NodeClassifier) -> None:
        super().__init__()
        check_is_fitted(classifier)
        self.classifier = classifier

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.classifier.model_.logits(Graph.from_edges(edge_index, len(x)), x)


class UniFilterExplainer(ExplainerAlgorithm):  # type: ignore[misc]
    """Contributions of :func:`unifilter.explanation.explain_node` as a node mask.

    They are signed and add up to the score of the explained class. For several nodes they are summed. There is no edge
    mask.

    Example:
        >>> from torch_geometric.explain import Explainer
        >>> from unifilter import UniFilterClassifier
        >>> from unifilter.datasets import load_dataset
        >>> from unifilter.explanation.pyg_explainer import PyGModel, UniFilterExplainer
        >>> data = load_dataset("karate").to_data()
        >>> clf = UniFilterClassifier(hops=3, homophily=0.8, epochs=20).fit(data, train=[0, 1, 33, 32])
        >>> explainer = Explainer(
        ...     PyGModel(clf), UniFilterExplainer(), explanation_type="model", node_mask_type="attributes",
        ...     model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"},
        ... )
        >>> explainer(data.x, data.edge_index, index=5).node_mask.shape
        torch.Size([34, 34])
    """

    def forward(
        self, model: nn.Module, x: Any, edge_index: Any, *, target: Tensor, index: int | Tensor | None = None, **_: Any
    ) -> Explanation:
        if not isinstance(model, PyGModel):
            raise ValueError(f"UniFilterExplainer explains a PyGModel(classifier), not {type(model).__name__}: wrap it")
        classifier = model.classifier
        graph = Graph.from_edges(edge_index, len(x))
        nodes = torch.arange(len(x)) if index is None else torch.as_tensor(index).reshape(-1)
        mask = torch.zeros(x.shape[0], x.shape[1], dtype=torch.float64)
        for node in nodes.tolist():
            wanted = classifier.classes_.tolist()[int(target[node])]
            view = explain_node(classifier, node, target=wanted, graph=graph, x=x)
            mask += torch.from_numpy(view.by_node_and_feature)
        kind = self.explainer_config.node_mask_type
        if kind == MaskType.object:
            mask = mask.sum(dim=1, keepdim=True)
        elif kind == MaskType.common_attributes:
            mask = mask.sum(dim=0, keepdim=True)
        return Explanation(node_mask=mask.to(x.dtype))

    def supports(self) -> bool:
        model, explainer = self.model_config, self.explainer_config
        return bool(
            model.mode == ModelMode.multiclass_classification
            and model.task_level == ModelTaskLevel.node
            and model.return_type == ModelReturnType.raw
            and explainer.node_mask_type is not None
            and explainer.edge_mask_type is None
        )
