"""A result carries what made it: one flat record for one method on one split."""

from __future__ import annotations

import sys
from typing import Any

import torch

from unifilter._internal.version import __version__
from unifilter.data import NodeDataset, Split
from unifilter.estimators import Fitted
from unifilter.runs.left_out import left_out_of


def record_of(fitted: Fitted, dataset: NodeDataset, split: Split) -> dict[str, Any]:
    """Scores on the split, and what they depend on: versions, data, split, seeds, settings, time and memory.

    Where the split has no test node, or no validation node, of some class, ``untested_classes`` or
    ``unvalidated_classes`` names those that the scores say nothing about.
    """
    method, history, facts = fitted.method, fitted.history, fitted.model.shape.facts
    if fitted.refit:
        # The weights have seen the validation nodes since they were scored.
        val_scores: dict[str, float] = {method.metric: history.best_score}
    else:
        val_scores = fitted.scores(torch.as_tensor(split.val))
    return {
        "dataset": dataset.name,
        "checksum": dataset.checksum,
        "method": method.name,
        "method_version": method.version,
        "unifilter": __version__,
        "torch": torch.__version__,
        "split": split.name,
        "index": split.index,
        "split_seed": split.seed,
        "settings": method.plain_settings(),
        **{f"test_{name}": value for name, value in fitted.scores(torch.as_tensor(split.test)).items()},
        **{f"val_{name}": value for name, value in val_scores.items()},
        **left_out_of(dataset, split),
        **{name: value for name, value in facts.items() if value is not None},
        "epochs": history.epochs,
        "best_epoch": history.best_epoch,
        "ended": history.ended,
        "seconds": round(history.seconds, 3),
        "peak_memory_mib": peak_memory_mib(),
    }


def peak_memory_mib() -> float | None:
    """The largest amount of memory this process has held until now; ``None`` where the system does not say."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Linux counts in KiB, macOS in bytes.
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)
