"""A trained model as a file: tensors and settings, no code.

The format is safetensors. Its metadata holds one JSON document with the method's name and settings, the classes, and
a digest of the whole file.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from unifilter._internal.files import whole_file
from unifilter._internal.plain import plain
from unifilter._internal.version import __version__
from unifilter.estimators.trained_model import TrainedModel
from unifilter.methods import METHODS, ModelShape

_FORMAT = 2
_KEY = "unifilter"
# The digest is of the file with this in its place; it occurs nowhere else.
_NO_DIGEST = "?" * 64
_REMEDY = "pass a file that save() wrote, or copy it again"


def save_model(model: TrainedModel, path: str | os.PathLike[str]) -> None:
    """Write a model to a file, which is whole or not there."""
    header = _header(model)
    tensors = {name: value.contiguous() for name, value in model.network.state_dict().items()}
    content = safetensors.torch.save(tensors, {_KEY: json.dumps(header, sort_keys=True)})
    with whole_file(path) as file:
        file.write(content.replace(_NO_DIGEST.encode(), hashlib.sha256(content).hexdigest().encode(), 1))


def check_storable(model_or_method: Any) -> None:
    """Raise a ``ValueError`` where a method could not be rebuilt from a file."""
    method = getattr(model_or_method, "method", model_or_method)
    method.plain_settings()
    if METHODS.name_of(type(method)) is None:
        raise ValueError(
            f"the method {method.name!r} cannot be stored, because it could not be found again by name: register it "
            f"first, register_method({type(method).__name__})"
        )


def load_model(path: str | os.PathLike[str]) -> TrainedModel:
    """Read what :func:`save_model` wrote."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no model file {path}: pass the path of a file that save() wrote")
    header, tensors = _read(Path(path))
    name = header["method"]
    if name not in METHODS:
        raise ValueError(
            f"{path} holds a model of the method {name!r}, which is not known here: import the package that defines "
            "it, which should call register_method, and load the model again"
        )
    method = METHODS[name].from_plain(header["settings"])
    shape = ModelShape(header["in_channels"], header["num_classes"], header["facts"])
    with torch.random.fork_rng(devices=[]):
        # The initial weights are replaced at once: drawing them must not change the caller's random numbers.
        network = method.network(shape)
    if header["dtype"] == "float64":
        network.double()
    network.load_state_dict(tensors)
    requested = METHODS[name].from_plain(header["requested"])
    return TrainedModel(method, shape, network.eval(), np.array(header["classes"]), requested)


def _header(model: TrainedModel) -> dict[str, Any]:
    check_storable(model)
    return {
        "format": _FORMAT,
        "unifilter": __version__,
        "method": model.method.name,
        "method_version": model.method.version,
        "settings": model.method.plain_settings(),
        "requested": model.requested.plain_settings(),
        "in_channels": model.shape.in_channels,
        "num_classes": model.shape.num_classes,
        "facts": plain(dict(model.shape.facts)),
        "classes": model.classes.tolist(),
        "dtype": model.precision,
        "sha256": _NO_DIGEST,
    }


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Header and tensors, checked against the digest."""
    content = path.read_bytes()
    try:
        tensors = safetensors.torch.load(content)
        # safetensors gives no access to the metadata of bytes: the file starts with the length of its JSON header.
        metadata = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")]).get("__metadata__", {})
        header = json.loads(metadata.get(_KEY, "{}"))
    except (SafetensorError, ValueError) as error:
        raise ValueError(f"{path} is not a model file, or not a whole one ({error}): {_REMEDY}") from None
    if not isinstance(header, dict) or "sha256" not in header:
        raise ValueError(f"{path} holds tensors, but no UniFilter model: pass a file that save() wrote")
    unsigned = content.replace(str(header["sha256"]).encode(), _NO_DIGEST.encode(), 1)
    if header["sha256"] != hashlib.sha256(unsigned).hexdigest():
        raise ValueError(f"{path} was changed after it was saved, its digest is wrong: save the model again")
    if header["format"] != _FORMAT:
        raise ValueError(
            f"{path} has format {header['format']}, and this version reads {_FORMAT}: "
            + ("update unifilter" if header["format"] > _FORMAT else "train and save the model again")
        )
    return header, tensors
