"""Outputs for a graph whose filtered features do not fit into memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from unifilter._internal.type_aliases import FeatureLike
from unifilter.data import ArrayPreparation
from unifilter.factorization.stored.feature_columns import FeatureColumns, PreparedColumns, feature_columns
from unifilter.methods import Storage
from unifilter.nn import UniFilter

if TYPE_CHECKING:
    from unifilter.estimators.trained_model import TrainedModel


def can_stream(model: TrainedModel) -> bool:
    """Whether the outputs of a model can be computed some columns of features at a time."""
    return isinstance(model.network, UniFilter)


def streamed_outputs(model: TrainedModel, graph: Any, x: FeatureLike, memory_limit: str | int) -> Tensor:
    """See :meth:`unifilter.TrainedModel.logits`."""
    from unifilter.estimators.trained_model import check_outputs

    network, tridiagonal, storage = model.network, model.tridiagonal, Storage(memory_limit)
    if not isinstance(network, UniFilter) or tridiagonal is None:
        raise ValueError(
            f"memory_limit is for unifilter and its variants, which filter columns independently, not for "
            f"{model.method.name}: leave it out"
        )
    columns = _columns(model, x)
    known = model.graph_of(graph, columns.shape[0])
    network.eval()
    parts = storage.filtered_rows(known, columns, tridiagonal, network.lanczos_weights())
    outputs = torch.cat([network.on_node_inputs(part) for part in parts])
    check_outputs(outputs)
    return outputs


def _columns(model: TrainedModel, x: Any) -> FeatureColumns:
    """The prepared features. Rows of a dense array are prepared when they are read."""
    preparation = model.preparation
    dense = isinstance(x, np.ndarray) or (isinstance(x, Tensor) and x.layout == torch.strided)
    if not dense or not isinstance(preparation, ArrayPreparation) or x.ndim != 2:
        prepared = model.prepare(x)
        return feature_columns(prepared, len(prepared))
    preparation.prepare(x[:1], model.dtype)  # checks the type and the number of columns

    def prepare(rows: Any) -> Tensor:
        part = torch.as_tensor(rows).to(model.dtype)
        if not torch.isfinite(part).all():
            raise ValueError("the features contain NaN or infinity: impute or drop these values first")
        return preparation.apply(part)

    return PreparedColumns(x, prepare, model.dtype)
