"""What users pass, by the names that signatures have for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, Union

import numpy as np
from scipy import sparse
from torch import Tensor

if TYPE_CHECKING:
    from unifilter.data import Table


class Frame(Protocol):
    """A pandas DataFrame, or what behaves like one."""

    @property
    def columns(self) -> Any: ...
    @property
    def iloc(self) -> Any: ...
    @property
    def index(self) -> Any: ...


class Convertible(Protocol):
    """What NumPy makes an array of, such as a pandas Series."""

    def __array__(self) -> np.ndarray: ...


#: Features of all nodes, ``[num_nodes, channels]``: a tensor (dense or sparse), an array, a SciPy sparse matrix, a
#: pandas DataFrame with a row for each node, or a :class:`unifilter.data.Table`.
FeatureLike: TypeAlias = Union[Tensor, np.ndarray, sparse.sparray, sparse.spmatrix, Frame, "Table"]
#: Some nodes: their numbers in any order, or a mask of all nodes.
NodeIndex: TypeAlias = Tensor | np.ndarray | Sequence[int] | Sequence[bool] | Convertible
#: The answer for each node: classes of any kind (-1, ``None`` or NaN where unknown), a matrix of 0 and 1 for several
#: labels per node, or numbers.
Labels: TypeAlias = Tensor | np.ndarray | Sequence[Any] | Convertible
