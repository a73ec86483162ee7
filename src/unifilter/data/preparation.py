"""From features as users have them to what a network takes: fitted on training nodes, stored with the model as data."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unifilter._internal.checks import check_choice, without_torch_notices
from unifilter.data.features import SCALINGS, FeatureScaling, pack_features, scale_rows
from unifilter.data.frames import is_frame
from unifilter.data.table import Table
from unifilter.data.table_encoder import TableEncoder


class DataWarning(UserWarning):
    """New data differs from the training data in a way that the model can live with."""


class Preparation(ABC):
    """What is done to features before a network sees them."""

    @property
    @abstractmethod
    def num_features(self) -> int:
        """How many columns a network gets."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...] | None:
        """What these columns are called; ``None`` where the features have no names."""

    @property
    def columns_in(self) -> tuple[str, ...] | None:
        """The names of the user's columns; ``None`` where the features have no names."""
        return None

    @property
    def groups(self) -> tuple[int, ...] | None:
        """For each column of a network, which of the user's columns it is from."""
        return None

    @abstractmethod
    def prepare(self, x: Any, dtype: torch.dtype) -> Tensor:
        """Features for a network; what is wrong with them is an error, what was made to fit a :class:`DataWarning`."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """As plain data."""


@dataclass(frozen=True, eq=False)
class ArrayPreparation(Preparation):
    """For a matrix of numbers: one of four scalings.

    Attributes:
        columns: Number of columns.
        scaling: ``"raw"``, ``"row"``, ``"l2"`` or ``"standard"``.
        center, scale: For ``"standard"``, what is subtracted from each column and what it is divided by then. Sparse
            features are not centered, which would fill them.
    """

    columns: int
    scaling: FeatureScaling = "raw"
    center: np.ndarray | None = None
    scale: np.ndarray | None = None

    @classmethod
    def fit(cls, features: Tensor, scaling: FeatureScaling, rows: np.ndarray | None = None) -> ArrayPreparation:
        """Column statistics from some rows, by default from all.

        Args:
            features: Dense or CSR.
            scaling: Which scaling.
            rows: The training nodes.
        """
        check_choice("features", scaling, SCALINGS)
        if scaling != "standard":
            return cls(features.shape[1], scaling)
        center, scale = _mean_and_deviation(features, rows)
        return cls(features.shape[1], scaling, None if features.layout == torch.sparse_csr else center, scale)

    @property
    def num_features(self) -> int:
        return self.columns

    @property
    def names(self) -> None:
        return None

    def prepare(self, x: Any, dtype: torch.dtype) -> Tensor:
        if isinstance(x, Table) or is_frame(x):
            raise ValueError(
                "the model was trained on an array, and x is a table: pass an array with the same columns, or train "
                "the model on a table"
            )
        features = pack_features(x, dtype)
        if features.shape[1] != self.columns:
            raise ValueError(
                f"x has {features.shape[1]} feature columns, but the model was trained on {self.columns}: "
                "pass the same columns in the same order"
            )
        if not torch.isfinite(features.values() if features.layout == torch.sparse_csr else features).all():
            raise ValueError("the features contain NaN or infinity: impute or drop these values first")
        return self.apply(features)

    def apply(self, features: Tensor) -> Tensor:
        """The same for features that are known to be right."""
        if self.scaling == "raw":
            return features
        if self.scaling != "standard":
            return scale_rows(features, self.scaling)
        if self.center is None and features.layout == torch.strided:
            # Trained on sparse features: what is dense here is treated as they were.
            return (features.double() / torch.from_numpy(self.scale)).to(features.dtype)
        if features.layout == torch.sparse_csr and self.center is not None:
            features = features.to_dense()
        if features.layout == torch.sparse_csr:
            scale = torch.from_numpy(self.scale)[features.col_indices()]
            values = (features.values().double() / scale).to(features.dtype)
            with without_torch_notices():
                return torch.sparse_csr_tensor(
                    features.crow_indices(), features.col_indices(), values, features.shape, check_invariants=False
                )
        moved = features.double() - torch.from_numpy(self.center)
        return (moved / torch.from_numpy(self.scale)).to(features.dtype)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "array",
            "columns": self.columns,
            "scaling": self.scaling,
            "center": None if self.center is None else self.center.tolist(),
            "scale": None if self.scale is None else self.scale.tolist(),
        }


@dataclass(frozen=True, eq=False)
class TablePreparation(Preparation):
    """For a table: columns are matched by name and encoded by their kind.

    Attributes:
        encoder: What was learned from the training rows.
    """

    encoder: TableEncoder

    @property
    def num_features(self) -> int:
        return self.encoder.num_features

    @property
    def names(self) -> tuple[str, ...]:
        return self.encoder.feature_names_out

    @property
    def columns_in(self) -> tuple[str, ...]:
        return self.encoder.feature_names_in

    @property
    def groups(self) -> tuple[int, ...]:
        return tuple(self.encoder.groups)

    def prepare(self, x: Any, dtype: torch.dtype) -> Tensor:
        if is_frame(x):
            x = Table.from_frame(x)
        if not isinstance(x, Table):
            columns = ", ".join(map(repr, self.encoder.feature_names_in))
            raise ValueError(
                f"the model was trained on a table with the columns {columns}, and x is a {type(x).__name__}: pass a "
                "DataFrame with these columns"
            )
        encoded = self.encoder.encode(x)
        for note in encoded.notes:
            warnings.warn(note, DataWarning, stacklevel=4)
        return pack_features(encoded.matrix, dtype)

    def prepare_known(self, table: Table, dtype: torch.dtype) -> Tensor:
        """The same for the table that the training rows are from: what they lack of it is no surprise."""
        return pack_features(self.encoder.encode(table).matrix, dtype)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "table", "encoder": self.encoder.to_dict()}


def preparation_from_dict(values: Mapping[str, Any]) -> Preparation:
    """What :meth:`Preparation.to_dict` described."""
    if values["kind"] == "table":
        return TablePreparation(TableEncoder.from_dict(values["encoder"]))
    center, scale = (None if values[name] is None else np.array(values[name]) for name in ("center", "scale"))
    check_choice("features", values["scaling"], SCALINGS)
    return ArrayPreparation(values["columns"], values["scaling"], center, scale)


def _mean_and_deviation(features: Tensor, rows: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Of each column over some rows; a constant column has the deviation 1, so that it can be divided by."""
    if features.layout == torch.sparse_csr:
        import scipy.sparse as sp

        parts = (features.values().numpy(), features.col_indices().numpy(), features.crow_indices().numpy())
        matrix = sp.csr_array(parts, shape=(features.shape[0], features.shape[1])).astype(np.float64)
        matrix = matrix if rows is None else matrix[rows]
        count, columns = matrix.shape
        mean = np.bincount(matrix.indices, matrix.data, minlength=columns) / count
        # Not the mean of squares less the squared mean: where these are close, rounding errors would be left.
        stored = np.bincount(matrix.indices, (matrix.data - mean[matrix.indices]) ** 2, minlength=columns)
        zeros = count - np.bincount(matrix.indices, minlength=columns)
        deviation = np.sqrt((stored + zeros * mean**2) / count)
    else:
        dense = features.double() if rows is None else features[torch.as_tensor(rows)].double()
        mean, deviation = dense.mean(dim=0).numpy(), dense.std(dim=0, correction=0).numpy()
    # Rounding leaves a constant column a tiny spread.
    constant = deviation <= 1e-12 * np.maximum(np.abs(mean), 1e-300)
    return mean, np.where(constant, 1.0, deviation)
