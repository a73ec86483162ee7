"""Conversion of values to JSON types."""

from __future__ import annotations

import json
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """A value as numbers, strings, lists and dicts. An object with ``to_dict`` is stored as what that returns."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if hasattr(value, "to_dict") and not isinstance(value, type):
        return plain(value.to_dict())
    try:
        return json.loads(json.dumps(value))
    except TypeError:
        raise ValueError(f"{value!r} cannot be stored: use numbers, strings, booleans, lists or None") from None
