"""How kernels are compiled."""

from __future__ import annotations

from numba import njit

compile_kernel = njit(nogil=True, cache=True, error_model="numpy")
# For what is called once per row: an array is passed as seven numbers, which costs more than the few lines inside.
compile_inline = njit(nogil=True, cache=True, error_model="numpy", forceinline=True)
