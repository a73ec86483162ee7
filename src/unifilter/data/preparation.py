"""Preparation of user features for a network: fitted on training nodes, stored with the model as plain data."""

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
    """New data differs from the training data in a way that does not prevent a prediction."""


class Preparation(ABC):
    """The preprocessing of features for a network."""

    @property
    @abstractmethod
    def num_features(self) -> int:
        """Number of columns of the prepared features."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...] | None:
        """Names of the prepared columns; ``None`` if the features have no names."""

    @property
    def columns_in(self) -> tuple[str, ...] | None:
        """Names of the user's columns; ``None`` if the features have no names."""
        return None

    @property
    def groups(self) -> tuple[int, ...] | None:
        """For each prepared column, the index of the user's column it comes from."""
        return None

    @abstractmethod
    def prepare(self, x: Any, dtype: torch.dtype) -> Tensor:
        """Prepare features. Invalid features raise an error; features that were adapted emit a :class:`DataWarning`."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The preparation as plain data."""


@dataclass(frozen=True, eq=False)
class ArrayPreparation(Preparation):
    """Preparation of a numeric matrix: one of four scalings.

    Attributes:
        columns: Number of columns.
        scaling: ``"raw"``, ``"row"``, ``"l2"`` or ``"standard"``.
        center, scale: For ``"standard"``, the mean to subtract from each column and the standard deviation to divide it
            by. Sparse features are not centered, because that would make them dense.
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
                "the model was trained on an array, but x is a table: pass an array with the same columns, or train "
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
        """Like :meth:`prepare`, without validation."""
        if self.scaling == "raw":
            return features
        if self.scaling != "standard":
            return scale_rows(features, self.scaling)
        if self.center is None and features.layout == torch.strided:
            # The model was trained on sparse features, so dense ones are not centered either.
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
    """Preparation of a table: columns are matched by name and encoded by their type.

    Attributes:
        encoder: The encoder fitted on the training rows.
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
                f"the model was trained on a table with the columns {columns}, but x is a {type(x).__name__}: pass a "
                "DataFrame with these columns"
            )
        encoded = self.encoder.encode(x)
        for note in encoded.notes:
            warnings.warn(note, DataWarning, stacklevel=4)
        return pack_features(encoded.matrix, dtype)

    def prepare_known(self, table: Table, dtype: torch.dtype) -> Tensor:
        """Like :meth:`prepare` for the table that contains the training rows, without warnings."""
        return pack_features(self.encoder.encode(table).matrix, dtype)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "table", "encoder": self.encoder.to_dict()}


def preparation_from_dict(values: Mapping[str, Any]) -> Preparation:
    """Restore a preparation from :meth:`Preparation.to_dict`."""
    if values["kind"] == "table":
        return TablePreparation(TableEncoder.from_dict(values["encoder"]))
    center, scale = (None if values[name] is None else np.array(values[name]) for name in ("center", "scale"))
    check_choice("features", values["scaling"], SCALINGS)
    return ArrayPreparation(values["columns"], values["scaling"], center, scale)


def _mean_and_deviation(features: Tensor, rows: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each column over some rows. The deviation of a constant column is set to 1."""
    if features.layout == torch.sparse_csr:
        import scipy.sparse as sp

        parts = (features.values().numpy(), features.col_indices().numpy(), features.crow_indices().numpy())
        matrix = sp.csr_array(parts, shape=(features.shape[0], features.shape[1])).astype(np.float64)
        matrix = matrix if rows is None else matrix[rows]
        count, columns = matrix.shape
        mean = np.bincount(matrix.indices, matrix.data, minlength=columns) / count
        # The mean of squares minus the squared mean would leave only rounding errors where the two are close.
        stored = np.bincount(matrix.indices, (matrix.data - mean[matrix.indices]) ** 2, minlength=columns)
        zeros = count - np.bincount(matrix.indices, minlength=columns)
        deviation = np.sqrt((stored + zeros * mean**2) / count)
    else:
        dense = features.double() if rows is None else features[torch.as_tensor(rows)].double()
        mean, deviation = dense.mean(dim=0).numpy(), dense.std(dim=0, correction=0).numpy()
    # Rounding gives constant columns a tiny deviation.
    constant = deviation <= 1e-12 * np.maximum(np.abs(mean), 1e-300)
    return mean, np.where(constant, 1.0, deviation)
