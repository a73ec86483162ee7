"""Checks of the header of a model file against its tensors, before the model is built."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args

import torch
from torch import Tensor

from unifilter.data import TASK_METRICS
from unifilter.graph import Direction
from unifilter.methods import Method, ModelShape
from unifilter.nn import GraphModule

# Settings of training, which may have any size.
_OF_TRAINING = ("seed", "epochs", "batch_size", "patience", "window")
# Hops and layers may have no parameters of their own. This many take seconds at most.
_ALWAYS_FINE = 1000


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _are_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_number, value))


def _are_classes(value: Any) -> bool:
    kinds = {type(one) for one in value} if isinstance(value, list) else {object}
    return kinds in ({str}, {int}, {bool})


_ENTRIES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "method": (lambda value: isinstance(value, str), "a name"),
    "settings": (lambda value: isinstance(value, dict), "a dict"),
    "requested": (lambda value: isinstance(value, dict), "a dict"),
    "in_channels": (_is_count, "an integer of at least 1"),
    "num_outputs": (_is_count, "an integer of at least 1"),
    "facts": (lambda value: isinstance(value, dict), "a dict"),
    "classes": (_are_classes, "a list of strings or integers"),
    "dtype": (lambda value: value in ("float32", "float64"), "float32 or float64"),
    "preparation": (lambda value: isinstance(value, dict), "a dict"),
    "task": (lambda value: isinstance(value, str) and value in TASK_METRICS, f"one of {', '.join(TASK_METRICS)}"),
    "temperature": (lambda value: _is_number(value) and value > 0, "a positive number"),
    "target_center": (lambda value: value is None or _are_numbers(value), "a list of numbers, or null"),
    "target_scale": (lambda value: value is None or _are_numbers(value), "a list of numbers, or null"),
    "nothing_learned": (lambda value: isinstance(value, str), "a text"),
    "filter_unmoved": (lambda value: isinstance(value, bool), "true or false"),
    "leaderboard": (lambda value: value is None or isinstance(value, dict), "a dict, or nothing"),
    "direction": (lambda value: value in get_args(Direction), f"one of {', '.join(get_args(Direction))}"),
}


def check_header(header: Mapping[str, Any]) -> None:
    """Check that all entries are present, valid and consistent."""
    for name, (fits, what) in _ENTRIES.items():
        if name not in header or not fits(header[name]):
            raise ValueError(f"its {name} must be {what}, not {_short(header.get(name))}")
    outputs = header["num_outputs"]
    if len(header["classes"]) != outputs:
        raise ValueError(f"it has {outputs} outputs but {len(header['classes'])} classes")
    for name in ("target_center", "target_scale"):
        if (header[name] is None) == (header["task"] == "regression"):
            raise ValueError(f"its task is {header['task']}, but its {name} is {_short(header[name])}")
        if header[name] is not None and len(header[name]) != outputs:
            raise ValueError(f"it has {outputs} outputs but {len(header[name])} numbers in {name}")


def check_sizes(settings: Mapping[str, Any], shape: ModelShape, tensors: Mapping[str, Tensor]) -> None:
    """Reject sizes that are too large for the number of stored parameters.

    This is checked before the network is built, because building it loops over its layers and hops.
    """
    stored = sum(tensor.numel() for tensor in tensors.values())
    sizes = {"in_channels": shape.in_channels, "num_outputs": shape.num_outputs}
    for name, value in [*_named_values(settings), *sizes.items()]:
        if name in _OF_TRAINING or isinstance(value, bool) or not isinstance(value, int):
            continue
        if not 0 <= value <= max(_ALWAYS_FINE, stored):
            raise ValueError(f"its {name} is {_short(value)}, but {stored:,} numbers are stored")


def _named_values(settings: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every setting by its name, also those of the members of a portfolio."""
    if isinstance(settings, Mapping):
        for key, value in settings.items():
            yield from _named_values(value, str(key))
    elif isinstance(settings, list):
        for value in settings:
            yield from _named_values(value, name)
    else:
        yield name, settings


def check_tensors(method: Method, shape: ModelShape, double: bool, tensors: Mapping[str, Tensor]) -> None:
    """Check that names, shapes and types of the tensors match the network defined by the settings.

    That network is built on the meta device, without memory for its parameters.
    """
    with torch.device("meta"):
        network = method.network(shape)
    wanted = (network.double() if double else network).state_dict()
    late = _late_buffers(network)
    if missing := sorted(wanted.keys() - tensors.keys() - late):
        raise ValueError(f"it has no tensor {missing[0]!r}, which its settings require")
    if unknown := sorted(tensors.keys() - wanted.keys() - late):
        raise ValueError(f"it has a tensor {_short(unknown[0])}, which does not belong to its settings")
    for name, tensor in tensors.items():
        if name not in late and (tensor.shape, tensor.dtype) != (wanted[name].shape, wanted[name].dtype):
            raise ValueError(
                f"its tensor {name!r} is {tensor.dtype} of shape {list(tensor.shape)}, but its settings require "
                f"{wanted[name].dtype} of shape {list(wanted[name].shape)}"
            )


def _late_buffers(network: GraphModule) -> set[str]:
    """Buffers that a network creates when it first sees a graph, with the size of that graph."""
    return {
        f"{prefix}.{name}".lstrip(".")
        for prefix, module in network.named_modules()
        if isinstance(module, GraphModule)
        for name in module.lazy_buffers
    }


def _short(value: Any) -> str:
    """A value for a message, shortened if it is long."""
    try:
        text = repr(value)
    except ValueError:  # Python does not print integers with thousands of digits
        text = "a number of thousands of digits"
    return text if len(text) <= 60 else text[:57] + "..."
