"""Safe unpickling of arrays: only numpy arrays, scipy CSR matrices and containers are allowed."""

from __future__ import annotations

import pickle
from collections import OrderedDict, defaultdict
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp


def load_pickle(path: Path) -> Any:
    """Load the object in a pickle file of any age, including Python 2."""
    with path.open("rb") as file:
        return _load(file, path)


def load_object_array(path: Path) -> np.ndarray:
    """Load the objects of a ``.npy`` file that numpy itself would read only with ``allow_pickle=True``."""
    with path.open("rb") as file:
        try:
            header = np.lib.format
            version = header.read_magic(file)
            _, _, dtype = (header.read_array_header_1_0 if version == (1, 0) else header.read_array_header_2_0)(file)
        except ValueError as error:
            raise ValueError(f"{path} is not a complete .npy file ({error}): download it again") from error
        if not dtype.hasobject:
            raise ValueError(f"{path} contains plain {dtype} numbers instead of a list of splits: download it again")
        return np.asarray(_load(file, path))


def _load(file: IO[bytes], path: Path) -> Any:
    try:
        return _ArraysOnly(file, encoding="latin1").load()
    except _RefusedError as refused:
        raise ValueError(f"{path} {refused}: it was not read; get the file from its own project") from None
    except Exception as error:  # a damaged pickle can raise any error
        raise ValueError(f"{path} is damaged ({type(error).__name__}: {error}): download it again") from error


class _RefusedError(Exception):
    """The pickle refers to an object that arrays do not need."""


class _ArraysOnly(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ADMITTED[module, name]
        except KeyError:
            raise _RefusedError(f"wants to load {module}.{name}, which is not an array or container") from None


# Components of pickled arrays, under their old and current names. A name in a file never causes an import.
_ADMITTED: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("collections", "OrderedDict"): OrderedDict,
    ("collections", "defaultdict"): defaultdict,
}
for _module in ("numpy.core.multiarray", "numpy._core.multiarray"):
    _ADMITTED[_module, "_reconstruct"] = np.empty(0).__reduce__()[0]
    _ADMITTED[_module, "scalar"] = np.float64(0).__reduce__()[0]
for _module in ("scipy.sparse.csr", "scipy.sparse._csr"):
    _ADMITTED[_module, "csr_matrix"] = sp.csr_matrix
for _module in ("__builtin__", "builtins"):
    for _container in (list, dict, set, frozenset, tuple, int, float):
        _ADMITTED[_module, _container.__name__] = _container
