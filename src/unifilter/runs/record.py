"""The record of a result: scores of one method on one split, with everything needed to reproduce them."""

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

    If some class has no test node, or no validation node, ``untested_classes`` or ``unvalidated_classes`` lists the
    classes that the scores ignore.
    """
    method, history, facts = fitted.method, fitted.history, fitted.model.shape.facts
    if fitted.refit:
        # After refitting, the weights have seen the validation nodes.
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
        **{name: value for name, value in facts.items() if isinstance(value, (int, float))},
        "epochs": history.epochs,
        "best_epoch": history.best_epoch,
        "ended": history.ended,
        "seconds": round(history.seconds, 3),
        "peak_memory_mib": peak_memory_mib(),
    }


def peak_memory_mib() -> float | None:
    """Peak memory of this process so far, in MiB; ``None`` if the system does not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Linux counts in KiB, macOS in bytes.
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)
