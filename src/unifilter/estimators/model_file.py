"""Model files: tensors and settings, without code.

The format is safetensors. Its metadata contains a JSON document with the method's name and settings, the classes,
and a digest of the whole file.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
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
from unifilter.data import preparation_from_dict
from unifilter.estimators.calibration import Calibration
from unifilter.estimators.leaderboard import Leaderboard
from unifilter.estimators.model_checks import check_header, check_sizes, check_tensors
from unifilter.estimators.trained_model import TrainedModel
from unifilter.methods import METHODS, ModelShape

_FORMAT = 4
_KEY = "unifilter"
# Cannot clash with the name of a parameter.
_SCORES = "conformal scores"
# The digest is computed with this in its place; it occurs nowhere else.
_NO_DIGEST = "?" * 64
# Maximum number of characters of a reason in a message.
_LONGEST_REASON = 500
_REMEDY = "pass a file written by save(), or copy it again"


def save_model(model: TrainedModel, path: str | os.PathLike[str]) -> None:
    """Write a model to a file, atomically."""
    header = _header(model)
    tensors = _unshared(model.network.state_dict())
    if len(model.calibration.scores):  # older versions of safetensors cannot read empty tensors
        tensors[_SCORES] = torch.from_numpy(model.calibration.scores).contiguous()
    content = safetensors.torch.save(tensors, {_KEY: json.dumps(header, sort_keys=True)})
    with whole_file(path) as file:
        file.write(content.replace(_NO_DIGEST.encode(), hashlib.sha256(content).hexdigest().encode(), 1))


def _unshared(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors that each have memory of their own: members of a portfolio share a factorization, which a file cannot."""
    found: dict[str, Tensor] = {}
    seen: set[int] = set()
    for name, value in state.items():
        found[name] = value.clone() if value.data_ptr() in seen else value.contiguous()
        seen.add(value.data_ptr())
    return found


def check_storable(model_or_method: Any) -> None:
    """Raise a ``ValueError`` if a method could not be restored from a file."""
    method = getattr(model_or_method, "method", model_or_method)
    method.plain_settings()
    if METHODS.name_of(type(method)) is None:
        raise ValueError(
            f"the method {method.name!r} cannot be stored, because its class has no registered name: register it "
            f"first, register_method({type(method).__name__})"
        )


def load_model(path: str | os.PathLike[str]) -> TrainedModel:
    """Load a model written by :func:`save_model`."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no model file {path}: pass the path of a file written by save()")
    header, tensors = _read(Path(path))
    name = header.get("method")
    if not isinstance(name, str) or name not in METHODS:
        raise ValueError(
            f"{path} contains a model of the unknown method {name!r}: import the package that defines "
            "it, which should call register_method, and load the model again"
        )
    try:
        return _model(header, tensors)
    except Exception as error:  # a file can contain any settings, which can raise any error
        reason = str(error)[:_LONGEST_REASON] or type(error).__name__
        raise ValueError(f"{path} contains invalid settings or tensors ({reason}): {_REMEDY}") from error


def _model(header: dict[str, Any], tensors: dict[str, Tensor]) -> TrainedModel:
    """Build the model after checking that the contents of the file are consistent."""
    header = {"leaderboard": None, **header}  # which files of version 0.1 do not have
    check_header(header)
    family, double = METHODS[header["method"]], header["dtype"] == "float64"
    scores = tensors.pop(_SCORES, torch.empty(0, dtype=torch.float64))
    if scores.ndim != 1 or scores.dtype != torch.float64:
        raise ValueError(f"its {_SCORES} are {scores.dtype} of shape {list(scores.shape)}")
    shape = ModelShape(header["in_channels"], header["num_outputs"], header["facts"])
    check_sizes(header["settings"], shape, tensors)
    method = family.from_plain(header["settings"])
    check_tensors(method, shape, double, tensors)
    preparation = preparation_from_dict(header["preparation"])
    with torch.random.fork_rng(devices=[]):
        # The initial weights are replaced, so drawing them must not change the caller's random state.
        network = method.network(shape)
    if double:
        network.double()
    network.load_state_dict(tensors)
    center, scale = (
        None if header[key] is None else np.array(header[key]) for key in ("target_center", "target_scale")
    )
    return TrainedModel(
        method,
        shape,
        network.eval(),
        np.array(header["classes"]),
        family.from_plain(header["requested"]),
        preparation=preparation,
        task=header["task"],
        calibration=Calibration(header["temperature"], scores.numpy()),
        target_center=center,
        target_scale=scale,
        nothing_learned=header["nothing_learned"],
        filter_unmoved=header["filter_unmoved"],
        direction=header["direction"],
        leaderboard=None if header["leaderboard"] is None else Leaderboard.from_dict(header["leaderboard"]),
    )


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
        "num_outputs": model.shape.num_outputs,
        "facts": plain(dict(model.shape.facts)),
        "classes": model.classes.tolist(),
        "dtype": model.precision,
        "preparation": model.preparation.to_dict(),
        "task": model.task,
        "temperature": model.calibration.temperature,
        "target_center": None if model.target_center is None else model.target_center.tolist(),
        "target_scale": None if model.target_scale is None else model.target_scale.tolist(),
        "nothing_learned": model.nothing_learned,
        "filter_unmoved": model.filter_unmoved,
        "direction": model.direction,
        "leaderboard": None if model.leaderboard is None else model.leaderboard.to_dict(),
        "sha256": _NO_DIGEST,
    }


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Header and tensors, verified with the digest."""
    content = path.read_bytes()
    try:
        tensors = safetensors.torch.load(content)
        # safetensors gives no access to the metadata of bytes. The file starts with the length of its JSON header.
        metadata = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")]).get("__metadata__", {})
        header = json.loads(metadata.get(_KEY, "{}"))
    except (SafetensorError, ValueError, AttributeError, TypeError, RecursionError) as error:
        raise ValueError(f"{path} is not a complete model file ({error}): {_REMEDY}") from None
    if not isinstance(header, dict) or "sha256" not in header:
        raise ValueError(f"{path} contains tensors, but no UniFilter model: pass a file written by save()")
    unsigned = content.replace(str(header["sha256"]).encode(), _NO_DIGEST.encode(), 1)
    if header["sha256"] != hashlib.sha256(unsigned).hexdigest():
        raise ValueError(f"{path} has changed since it was saved, its digest is wrong: save the model again")
    if header.get("format") != _FORMAT:
        raise ValueError(
            f"{path} has format {header.get('format')}, but this version reads format {_FORMAT}: "
            + ("train and save the model again" if header.get("format") in range(_FORMAT) else "update unifilter")
        )
    return header, tensors
