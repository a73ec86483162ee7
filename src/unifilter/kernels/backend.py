"""Which kernels run: those compiled by numba for the CPU, or plain torch."""

from __future__ import annotations

import importlib.util
import os
import sys
from functools import cache

import torch
from torch import Tensor

ENVIRONMENT_VARIABLE = "UNIFILTER_KERNELS"
_CHOICES = ("auto", "numba", "torch")


def use_compiled(tensor: Tensor) -> bool:
    """Whether the compiled kernels take a tensor: float32 or float64 on the CPU, and numba neither absent nor unwanted.

    While torch compiles or exports a model the answer is no: it cannot look into code that numba compiled.
    """
    if torch.compiler.is_compiling():
        return False
    return tensor.device.type == "cpu" and tensor.dtype in (torch.float32, torch.float64) and _numba_chosen()


def numba_chosen() -> bool:
    """The same for kernels that take arrays, which are on the CPU."""
    return _numba_chosen()


@cache
def _numba_chosen() -> bool:
    """What the environment variable says, read once: ``auto`` takes numba where it is installed."""
    choice = os.environ.get(ENVIRONMENT_VARIABLE, "auto")
    if choice not in _CHOICES:
        raise ValueError(f"{ENVIRONMENT_VARIABLE} is {choice!r}: set it to one of {', '.join(_CHOICES)}, or unset it")
    if choice == "numba" and not _numba_installed():
        raise ValueError(
            f"{ENVIRONMENT_VARIABLE} is 'numba', and numba is not installed: pip install numba, or set it to 'torch'"
        )
    return choice != "torch" and _numba_installed()


def _numba_installed() -> bool:
    # A module that is None in `sys.modules` cannot be imported, and `find_spec` raises an error for it.
    blocked = [name for name in ("numba", "llvmlite") if sys.modules.get(name, ...) is None]
    return not blocked and all(importlib.util.find_spec(name) is not None for name in ("numba", "llvmlite"))
