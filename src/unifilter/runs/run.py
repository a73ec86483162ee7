"""A run: one method on several splits of a data set, stored in a folder."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np

from unifilter._internal.checks import check_choice, check_device
from unifilter._internal.files import write_csv
from unifilter.data import NodeDataset, Split, balanced_weights
from unifilter.estimators import Fitted, check_storable, delete_checkpoints, fit
from unifilter.methods import Method, Problem, Storage, Workspace
from unifilter.runs.left_out import check_splits, left_out_of_any
from unifilter.runs.record import record_of
from unifilter.runs.run_folder import RunFolder
from unifilter.runs.split_report import split_report
from unifilter.runs.without_graph import NAME, mlp_like, score_without_graph
from unifilter.training import TrainingLog

# A run can be resumed with more splits, or with the same data from another source. Everything else must be the same.
_MAY_CHANGE = ("source", "splits")


class Run:
    """A run folder with configuration, records per split, learned weights, model and plots.

    Args:
        folder: The run folder. It must be empty or new unless the run is resumed.
        method: The method with its hyperparameters.
        dataset: The data set, with raw features.
        split: Name of the split rule. Default: the data set's ``default_split``.
        count: Number of splits. Default: 10, or all that come with the data.
        resume: Continue the run in the folder.
        device: Device to compute on.
        allow_missing_classes: Train although some class has no training, validation or test node in a split. The
            records then list the classes that the scores ignore.
        class_weight: ``"balanced"`` gives every class the same weight in the loss, however many nodes it has.
        storage: Where to store a factorization that does not fit in memory.
    """

    def __init__(
        self,
        folder: Path,
        method: Method,
        dataset: NodeDataset,
        split: str | None = None,
        count: int | None = None,
        resume: bool = False,
        device: str = "cpu",
        allow_missing_classes: bool = False,
        class_weight: Literal["balanced"] | None = None,
        storage: Storage | None = None,
    ) -> None:
        self.storage = storage
        # Checked now, before a folder is created, rather than after the first split.
        check_storable(method)
        check_device(device)
        if class_weight is not None:
            check_choice("class_weight", class_weight, ("balanced",))
            if dataset.targets is not None:
                raise ValueError(f"class_weight needs classes, but {dataset.name!r} has none to learn: leave it out")
        self.class_weight = class_weight
        self.folder, self.method, self.dataset, self.device = folder, method, dataset, device
        self._files = RunFolder(folder)
        count = dataset.num_splits(split) if count is None else count
        self.splits = [dataset.split(split, index) for index in range(count)]
        check_splits(dataset, self.splits, allow_missing_classes)
        self.config: dict[str, Any] = {
            "dataset": dataset.name,
            "source": dataset.source,
            "direction": dataset.graph.direction,
            "checksum": dataset.checksum,
            "split": self.splits[0].name,
            "splits": count,
            "method": method.name,
            "method_version": method.version,
            "settings": method.plain_settings(),
            "class_weight": class_weight,
        }
        self._open(resume)
        self.records = [record for record in self._files.records if record["index"] < count]

    @property
    def fingerprint(self) -> str:
        """Identifies the run in its checkpoints."""
        lasting = {name: value for name, value in self.config.items() if name not in _MAY_CHANGE}
        return hashlib.sha256(json.dumps(lasting, sort_keys=True).encode()).hexdigest()

    def _open(self, resume: bool) -> None:
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"{self.folder} is a file: pass another folder")
        if self.folder.exists() and any(self.folder.iterdir()):
            if not resume:
                raise ValueError(
                    f"the folder {self.folder} exists: pass resume=True to continue the run in it, or another folder"
                )
            if not RunFolder.is_run(self.folder):
                raise ValueError(f"{self.folder} contains no run (it has no config.json): pass another folder")
            self._check_same(_flat(self._files.config))
        self.folder.mkdir(parents=True, exist_ok=True)
        self._files.write_config(self.config)

    def _check_same(self, before: dict[str, Any]) -> None:
        for name, value in _flat(self.config).items():
            if name not in _MAY_CHANGE and before.get(name) != value:
                raise ValueError(
                    f"the run in {self.folder} has a different {name} ({before.get(name)}, not {value}): "
                    "resume it with its original arguments, or pass another folder"
                )

    def train(
        self, verbose: bool = True, log: Callable[[Split], TrainingLog] | None = None
    ) -> Iterator[dict[str, Any]]:
        """Train the remaining splits. Each record is written to disk before it is yielded.

        Args:
            verbose: Whether to show progress.
            log: Creates the log for the training on a split.
        """
        workspace = Workspace(self.dataset, self.device, self.storage)
        done = {record["index"] for record in self.records}
        for split in self.splits:
            if split.index in done:
                continue
            checkpoint = self.folder / "checkpoints" / f"split-{split.index}.pt"
            try:
                with nullcontext() if log is None else log(split) as on_epoch:
                    fitted = fit(
                        self.method,
                        Problem(workspace, split.train, split.val, self._weights(split)),
                        label=f"{self.dataset.name} {self.method.name} split {split.index}",
                        verbose=verbose,
                        checkpoint=checkpoint,
                        fingerprint=f"{self.fingerprint} {split.index}",
                        on_epoch=on_epoch,
                    )
            except ValueError:
                self._forget_if_empty()
                raise
            record = record_of(fitted, self.dataset, split)
            record["weights"] = _learned_weights(fitted)
            record["details"] = split_report(fitted, split)
            best = max((other[f"val_{self.method.metric}"] for other in self.records), default=-math.inf)
            if record[f"val_{self.method.metric}"] > best:
                fitted.model.save(self._files.model_path)
            self.records.append(record)
            self._write_history(fitted, split.index)
            self._write_records()
            delete_checkpoints(self.method, checkpoint)
            yield record
        shutil.rmtree(self.folder / "checkpoints", ignore_errors=True)

    def train_without_graph(self, verbose: bool = True) -> None:
        """Train an MLP without the graph on every finished split, unless the method is the MLP itself.

        Its test scores are added to the records, to show whether the graph helps.
        """
        if self.method.name == NAME:
            return
        workspace, mlp = Workspace(self.dataset, self.device), mlp_like(self.method, self.dataset.task)
        for record in self.records:
            if "without_graph" not in record["details"]:
                split = self.splits[record["index"]]
                record["details"]["without_graph"] = score_without_graph(
                    mlp, workspace, split, self._weights(split), verbose=verbose
                )
                self._files.write_records(self.records)

    def _weights(self, split: Split) -> np.ndarray | None:
        """Weight of each node in the loss."""
        if self.class_weight is None:
            return None
        labels = self.dataset.labels.numpy()
        per_class = balanced_weights(labels[split.train], self.dataset.num_classes)
        return np.where(labels >= 0, per_class[np.maximum(labels, 0)], 0.0)

    def _forget_if_empty(self) -> None:
        """Delete the folder of a run that could not start, so that it does not block the next attempt."""
        if self._files.holds_only_config():
            shutil.rmtree(self.folder)

    def summary(self) -> dict[str, Any]:
        """Mean and standard deviation over the splits."""
        scores = {}
        tested = [name for name in dict.fromkeys(chain(*self.records)) if name.startswith("test_")]
        for name in (*tested, f"val_{self.method.metric}"):
            values = [record[name] for record in self.records if name in record]
            if values:
                scores[name] = {"mean": float(np.mean(values)), "std": float(np.std(values))}
        details = [record["details"] for record in self.records]
        for name in ("without_graph", "constant"):
            values = [one[name] for one in details if one.get(name) is not None]
            if values:
                scores[name] = {"mean": float(np.mean(values)), "std": float(np.std(values))}
        return {
            **self.config,
            "done": len(self.records),
            "scores": scores,
            "nothing_learned": [record["index"] for record in self.records if record["details"]["nothing_learned"]],
            **left_out_of_any(self.records),
            "folder": str(self.folder),
        }

    def _write_records(self) -> None:
        # Not every record has every score: roc_auc needs two classes, and an estimate may be missing.
        names = [name for name in dict.fromkeys(chain(*self.records)) if name not in ("settings", "weights", "details")]
        write_csv(self.folder / "splits.csv", names, [[r.get(name, "") for name in names] for r in self.records])
        rows = [[r["index"], *r["weights"]] for r in self.records if r["weights"]]
        if rows:
            write_csv(self.folder / "weights.csv", ["split", *(f"hop_{k}" for k in range(len(rows[0]) - 1))], rows)
        # Written last, because a resumed run reads this file.
        self._files.write_records(self.records)

    def _write_history(self, fitted: Fitted, index: int) -> None:
        history, folder = fitted.history, self.folder / "history"
        folder.mkdir(exist_ok=True)
        rows = zip(range(history.epochs), history.loss, history.val_loss, history.val_score, strict=True)
        write_csv(folder / f"split-{index}.csv", ["epoch", "loss", "val_loss", "val_score"], rows)


def _learned_weights(fitted: Fitted) -> list[float]:
    """One weight per hop, if the model has such weights."""
    weights = fitted.model.weights
    return [] if weights is None or weights.ndim != 1 else [round(value, 6) for value in weights.tolist()]


def _flat(config: dict[str, Any]) -> dict[str, Any]:
    """The configuration with the settings at the top level, so that a difference can be named."""
    return {**config, **config.get("settings", {})} | {"settings": None}
