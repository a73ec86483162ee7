"""Rendering of an explanation as a self-contained HTML page that needs no server and no network."""

from __future__ import annotations

import base64
import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from unifilter.factorization.typical import with_signal

if TYPE_CHECKING:
    from unifilter.explanation.spectral_explanation import SpectralExplanation


def render_page(explanation: SpectralExplanation) -> str:
    """Insert style, script and numbers into the template of the page."""
    page = files("unifilter.explanation") / "page"
    parts = {
        "title": _escaped(explanation.name),
        "style": (page / "built" / "page.css").read_text(encoding="utf-8"),
        "data": _script_safe(json.dumps(page_data(explanation), allow_nan=False, ensure_ascii=False)),
        "script": (page / "built" / "page.js").read_text(encoding="utf-8"),
    }
    html = (page / "template.html").read_text(encoding="utf-8")
    for name, text in parts.items():
        html = html.replace(f"<!--{name}-->", text, 1)
    return html


def page_data(explanation: SpectralExplanation) -> dict[str, Any]:
    """The data of the page: every number of the explanation, and the tridiagonals that its sliders need."""
    dtype = explanation.tridiagonal.alpha.dtype
    signals, _ = with_signal(explanation.tridiagonal)
    return {
        **explanation.to_dict(),
        "tridiagonal": {
            "channels": signals.channels,
            "dtype": str(dtype).removeprefix("torch."),
            # In the original precision, so that the page uses exactly the numbers of the library.
            "alpha": _base64(signals.alpha.to(dtype)),
            "beta": _base64(signals.beta.to(dtype)),
            "norm": _base64(signals.norm.to(dtype)),
            "dimension": _base64(signals.dimension.to(torch.int32)),
        },
        "filter": {
            "channels": explanation.filter_weights.shape[1],
            "weights": _base64(explanation.filter_weights),
        },
    }


def _base64(values: Tensor) -> str:
    array = values.contiguous().numpy()
    return base64.b64encode(array.astype(np.dtype(array.dtype).newbyteorder("<")).tobytes()).decode("ascii")


def _script_safe(text: str) -> str:
    """Escape JSON so that it cannot end its script element."""
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
