"""A run: one method on several splits of a data set, in a folder that says all about it."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from unifilter._internal.files import whole_text_file, write_csv
from unifilter.datasets import NodeDataset
from unifilter.methods import Fitted, Method, Problem, Workspace, delete_checkpoints, fit
from unifilter.methods.uni_filter import UniFilterMethod
from unifilter.estimators import StoredModel
from unifilter.runs.record import record_of

MODEL_FILE = "model.unifilter"
# A run can be resumed with more splits, and with the same data found elsewhere: all else must be as it was.
_MAY_CHANGE = ("source", "splits")


class Run:
    """A folder with the configuration, a record per split, the learned weights, the model and pictures.

    Args:
        folder: Where; it must not hold anything yet unless the run is resumed.
        method: The method with its hyper-parameters.
        dataset: The data set, with raw features.
        split: Name of the split rule.
        count: How many splits of it.
        resume: Go on with what the folder holds.
    """

    def __init__(
        self, folder: Path, method: Method, dataset: NodeDataset, split: str, count: int, resume: bool = False
    ) -> None:
        self.folder, self.method, self.dataset = folder, method, dataset
        self.splits = [dataset.split(split, index) for index in range(count)]
        self.config: dict[str, Any] = _jsonable(
            {
                "dataset": dataset.name,
                "source": dataset.source,
                "checksum": dataset.checksum,
                "split": self.splits[0].name,
                "splits": count,
                "method": method.name,
                "method_version": method.version,
                "settings": method.settings(),
            }
        )
        self._open(resume)
        self.records: list[dict[str, Any]] = self._read_records()

    @property
    def fingerprint(self) -> str:
        """What a checkpoint must be of."""
        lasting = {name: value for name, value in self.config.items() if name not in _MAY_CHANGE}
        return hashlib.sha256(json.dumps(lasting, sort_keys=True).encode()).hexdigest()

    def _open(self, resume: bool) -> None:
        config_file = self.folder / "config.json"
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"{self.folder} is a file: pass another --out")
        if self.folder.exists() and any(self.folder.iterdir()):
            if not resume:
                raise ValueError(
                    f"the folder {self.folder} exists: pass --resume to go on with the run in it, or another --out"
                )
            if not config_file.exists():
                raise ValueError(f"{self.folder} holds no run (it has no config.json): pass another --out")
            self._check_same(_flat(_read_json(config_file)))
        self.folder.mkdir(parents=True, exist_ok=True)
        _write_json(config_file, self.config)

    def _check_same(self, before: dict[str, Any]) -> None:
        for name, value in _flat(self.config).items():
            if name not in _MAY_CHANGE and before.get(name) != value:
                raise ValueError(
                    f"the run in {self.folder} has another {name} ({before.get(name)}, not {value}): "
                    "resume it with what it was started with, or pass another --out"
                )

    def _read_records(self) -> list[dict[str, Any]]:
        path = self.folder / "splits.json"
        records: list[dict[str, Any]] = _read_json(path) if path.exists() else []
        return [record for record in records if record["index"] < len(self.splits)]

    def train(self, verbose: bool = True) -> Iterator[dict[str, Any]]:
        """Train what is missing, split by split; each record is on disk before it is yielded."""
        workspace = Workspace(self.dataset)
        done = {record["index"] for record in self.records}
        for split in self.splits:
            if split.index in done:
                continue
            checkpoint = self.folder / "checkpoints" / f"split-{split.index}.pt"
            try:
                fitted = fit(
                    self.method,
                    Problem(workspace, split.train, split.val),
                    label=f"{self.dataset.name} {self.method.name} split {split.index}",
                    verbose=verbose,
                    checkpoint=checkpoint,
                    fingerprint=f"{self.fingerprint} {split.index}",
                )
            except ValueError:
                self._forget_if_empty()
                raise
            record = record_of(fitted, self.dataset, split)
            record["weights"] = _learned_weights(fitted)
            best = max((other[f"val_{self.method.metric}"] for other in self.records), default=-1.0)
            if record[f"val_{self.method.metric}"] > best:
                self._save_model(fitted, workspace)
            self.records.append(record)
            self._write_history(fitted, split.index)
            self._write_records()
            delete_checkpoints(self.method, checkpoint)
            yield record
        shutil.rmtree(self.folder / "checkpoints", ignore_errors=True)

    def _forget_if_empty(self) -> None:
        """A run that could not even start leaves no folder behind that would be in the way of the next try."""
        if [path.name for path in self.folder.iterdir()] == ["config.json"]:
            shutil.rmtree(self.folder)

    def summary(self) -> dict[str, Any]:
        """Mean and standard deviation over the splits."""
        scores = {}
        for name in ("test_accuracy", "test_macro_f1", "test_roc_auc", f"val_{self.method.metric}"):
            values = [record[name] for record in self.records if name in record]
            if values:
                scores[name] = {"mean": float(np.mean(values)), "std": float(np.std(values))}
        return {**self.config, "done": len(self.records), "scores": scores, "folder": str(self.folder)}

    def _write_records(self) -> None:
        # Not every record has every figure: roc_auc needs both classes, an estimate may be missing.
        names = [name for name in dict.fromkeys(chain(*self.records)) if name not in ("settings", "weights")]
        write_csv(self.folder / "splits.csv", names, [[r.get(name, "") for name in names] for r in self.records])
        rows = [[r["index"], *r["weights"]] for r in self.records if r["weights"]]
        if rows:
            write_csv(self.folder / "weights.csv", ["split", *(f"hop_{k}" for k in range(len(rows[0]) - 1))], rows)
        # Last, as this is the file a resumed run goes by.
        _write_json(self.folder / "splits.json", self.records)

    def _write_history(self, fitted: Fitted, index: int) -> None:
        history, folder = fitted.history, self.folder / "history"
        folder.mkdir(exist_ok=True)
        rows = zip(range(history.epochs), history.loss, history.val_loss, history.val_score, strict=True)
        write_csv(folder / f"split-{index}.csv", ["epoch", "loss", "val_loss", "val_score"], rows)

    def _save_model(self, fitted: Fitted, workspace: Workspace) -> None:
        """The model of the split with the best validation score, for methods that predict on other graphs."""
        method = fitted.method
        if not isinstance(method, UniFilterMethod):
            return
        fact = workspace.factorization(method.features, method.hops, method.self_loops)
        names = self.dataset.class_names or tuple(map(str, range(self.dataset.num_classes)))
        stored = StoredModel.from_fitted(fitted, fact.tridiagonal, np.array(names), method.settings())
        stored.save(self.folder / MODEL_FILE)


def _learned_weights(fitted: Fitted) -> list[float]:
    """One weight a hop, where that is what the model has."""
    weights = getattr(fitted.learner.model, "weights", None)
    if not isinstance(weights, Tensor) or weights.ndim != 1:
        return []
    return [round(value, 6) for value in weights.tolist()]


def _flat(config: dict[str, Any]) -> dict[str, Any]:
    """With the settings side by side with the rest, so that a difference can be named."""
    return {**config, **config.get("settings", {})} | {"settings": None}


def _jsonable(value: Any) -> Any:
    return json.loads(json.dumps(value, default=repr))


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is damaged ({error}): restore it, or start again in another --out") from None


def _write_json(path: Path, value: Any) -> None:
    with whole_text_file(path) as file:
        json.dump(value, file, indent=1)
