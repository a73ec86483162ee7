"""A trained model as data: what prediction needs, in a file without code."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from unifilter._internal.files import whole_file
from unifilter._internal.version import __version__
from unifilter.bases import Tridiagonal
from unifilter.data import pack_features, scale_rows
from unifilter.factorization import apply_recurrence
from unifilter.graph import Graph
from unifilter.methods import Fitted
from unifilter.methods.uni_filter import UniFilterMethod
from unifilter.nn import MLP, UniFilter

_FORMAT = 1
_TRIDIAGONAL = ("alpha", "beta", "norm", "dimension")
# The digest is of the whole file, with this in its own place.
_NO_DIGEST = "0" * 64


@dataclass(frozen=True, eq=False)
class StoredModel:
    """A filter as weights on recurrence coefficients, and the perceptron behind it.

    Whatever basis was trained on, its filter is a sum of the factorisation's polynomials: prediction on any graph needs
    nothing else.

    Attributes:
        parameters: The estimator's settings.
        classes: What is predicted.
        tridiagonal: Recurrence coefficients of the features.
        filter: Weight of each polynomial and channel, ``[hops + 1, channels]``.
        weights: The learned weights as the model has them, for reading.
        perceptron: State of the :class:`unifilter.nn.MLP`.
        shape: How it is built.
        tau, homophily: What the basis was made with, where it has them.
    """

    parameters: dict[str, Any]
    classes: np.ndarray
    tridiagonal: Tridiagonal
    filter: Tensor
    weights: Tensor
    perceptron: dict[str, Tensor]
    shape: dict[str, Any]
    tau: float | None
    homophily: float | None

    @classmethod
    def from_fitted(
        cls, fitted: Fitted, tridiagonal: Tridiagonal, classes: np.ndarray, parameters: dict[str, Any]
    ) -> StoredModel:
        """What is worth keeping of a trained :class:`unifilter.nn.UniFilter`."""
        method, model, filter_of = fitted.method, fitted.learner.model, fitted.learner.lanczos_weights
        if not isinstance(method, UniFilterMethod) or not isinstance(model, UniFilter) or filter_of is None:
            raise ValueError(f"only UniFilter and its variants can be stored for prediction, not {method.name}")
        learned, facts = model.learned_basis, fitted.learner.facts
        return cls(
            parameters={name: _plain(value) for name, value in parameters.items()},
            classes=classes,
            tridiagonal=tridiagonal,
            filter=filter_of().cpu(),
            weights=model.weights.detach().cpu(),
            perceptron={name: value.detach().cpu() for name, value in model.mlp.state_dict().items()},
            shape={
                "hidden_channels": int(method.hidden_channels),
                "num_layers": int(method.num_layers),
                "batch_norm": bool(method.batch_norm),
            },
            tau=_number(facts.get("tau") if learned is None else learned.tau),
            homophily=_number(facts.get("homophily") if learned is None else learned.homophily),
        )

    @torch.no_grad()
    def logits(self, graph: Graph, x: Any) -> Tensor:
        """Logits of every node of a graph, whose self-loops and raw features ``x`` are treated as in training."""
        scaling, graph = self.parameters["features"], graph.with_self_loops(self.parameters["self_loops"])
        features = pack_features(x)
        features = features if scaling == "raw" else scale_rows(features, scaling)
        mlp = MLP(self.tridiagonal.channels, out_channels=len(self.classes), **self.shape).to(self.filter)
        mlp.load_state_dict(self.perceptron)
        mlp.eval()
        logits: Tensor = mlp(apply_recurrence(graph, features, self.tridiagonal, self.filter))
        return logits

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all of it to a file, which is whole or not there."""
        tensors = {f"perceptron.{name}": value for name, value in self.perceptron.items()}
        tensors |= {name: getattr(self.tridiagonal, name).detach().cpu() for name in _TRIDIAGONAL}
        tensors |= {"filter": self.filter, "weights": self.weights}
        header = {
            "format": _FORMAT,
            "unifilter": __version__,
            "parameters": self.parameters,
            "classes": self.classes.tolist(),
            "shape": self.shape,
            "tau": self.tau,
            "homophily": self.homophily,
            "sha256": _NO_DIGEST,
        }
        content = safetensors.torch.save(
            {name: value.contiguous() for name, value in tensors.items()},
            {"unifilter": json.dumps(header, sort_keys=True)},
        )
        with whole_file(path) as file:
            file.write(_with_digest(content, _NO_DIGEST, _digest(content)))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> StoredModel:
        """Read what :meth:`save` wrote; a file that differs from it in a single byte is refused."""
        if not Path(path).is_file():
            raise FileNotFoundError(f"there is no model file {path}: pass the path of a file that save() wrote")
        content = Path(path).read_bytes()
        try:
            tensors = safetensors.torch.load(content)
            metadata = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")]).get("__metadata__", {})
            header = json.loads(metadata.get("unifilter", "{}"))
        except (SafetensorError, ValueError) as error:
            raise ValueError(
                f"{path} is not a model file, or not a whole one ({error}): pass a file that save() wrote, or copy it "
                "again"
            ) from None
        if "sha256" not in header:
            raise ValueError(f"{path} holds tensors, but no UniFilter model: pass a file that save() wrote")
        if header["sha256"] != _digest(_with_digest(content, header["sha256"], _NO_DIGEST)):
            raise ValueError(f"{path} was changed after it was saved, its digest is wrong: save the model again")
        if header["format"] > _FORMAT:
            raise ValueError(
                f"{path} has format {header['format']}, and this version reads up to {_FORMAT}: update unifilter"
            )
        return cls(
            parameters=header["parameters"],
            classes=np.array(header["classes"]),
            tridiagonal=Tridiagonal(*(tensors[name] for name in _TRIDIAGONAL)),
            filter=tensors["filter"],
            weights=tensors["weights"],
            perceptron={
                name.removeprefix("perceptron."): value
                for name, value in tensors.items()
                if name.startswith("perceptron.")
            },
            shape=header["shape"],
            tau=header["tau"],
            homophily=header["homophily"],
        )


def _plain(value: Any) -> Any:
    """What JSON can hold; a basis that was passed as an object is named by how it is written."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)


def _number(value: Any) -> float | None:
    return None if value is None else float(value.detach() if isinstance(value, Tensor) else value)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _with_digest(content: bytes, old: str, new: str) -> bytes:
    """The digest is in JSON that is itself a string in JSON, hence the backslashes."""
    before, after = (f'\\"sha256\\": \\"{digest}\\"'.encode() for digest in (old, new))
    return content.replace(before, after, 1)
