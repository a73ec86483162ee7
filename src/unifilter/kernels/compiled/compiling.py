"""How kernels are compiled, and where their machine code is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile


def _digest_of_sources() -> str:
    folder = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(f"{path.relative_to(folder).as_posix()}\n".encode() + path.read_bytes())
    return digest.hexdigest()


_SOURCES = _digest_of_sources()


class _Location(CompileResultCacheImpl):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        # numba compiles again when this changes. Its own stamp is time and size of the one file the function is in,
        # which says nothing of the functions it imports.
        self.locator.get_source_stamp = lambda: _SOURCES


class _Files(IndexDataCacheFile):
    """One file for each signature, source and processor.

    numba numbers them in the order they are written: of two processes that compile at once, one would find the machine
    code of the other under its own signature.
    """

    def save(self, key: object, data: object) -> None:
        digest = hashlib.sha256(repr((self._version, self._source_stamp, key)).encode()).hexdigest()
        name = f"{self._index_name.removesuffix('.nbi')}.{digest[:16]}.nbc"
        self._save_data(name, data)
        self._save_index(self._load_index() | {key: name})


class _KernelCache(FunctionCache):
    _impl_class = _Location

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, _SOURCES)


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    dispatcher = njit(nogil=True, error_model="numpy", **options)(function)
    # Beside the source, else in the user's cache folder: numba's own choice of place. Where it finds none that can be
    # written to, kernels are compiled again in every process.
    with suppress(RuntimeError):
        dispatcher._cache = _KernelCache(function)
    return dispatcher


def compile_kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that releases the GIL."""
    return _compiled(function)


def compile_inline(function: Callable[..., Any]) -> Any:
    """The same for what is called once per row: passing an array costs more than the few lines inside."""
    return _compiled(function, forceinline=True)
