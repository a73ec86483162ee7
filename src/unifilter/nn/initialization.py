"""Initial weights by name."""

from __future__ import annotations

import math
from typing import Literal

from torch import Tensor, nn

from unifilter._internal.checks import check_choice

Initialization = Literal["glorot", "uniform"]


def initialize(weight: Tensor, bias: Tensor | None = None, how: Initialization = "glorot") -> None:
    """``"glorot"`` weights ``[out, in]`` with a bias of zero, or both ``"uniform"``, as in Kipf's code for PyTorch."""
    check_choice("initialization", how, ("glorot", "uniform"))
    if how == "uniform":
        uniform(weight)
    else:
        nn.init.xavier_uniform_(weight)
    if bias is not None:
        uniform(bias) if how == "uniform" else nn.init.zeros_(bias)


def uniform(weight: Tensor) -> None:
    r"""Draw a weight ``[out, in]`` or a bias ``[out]`` within :math:`\pm 1/\sqrt{\text{out}}`."""
    bound = 1 / math.sqrt(len(weight))
    nn.init.uniform_(weight, -bound, bound)
