"""The names of the scores."""

from __future__ import annotations

from typing import Literal

Metric = Literal["accuracy", "macro_f1", "roc_auc"]
METRICS = ("accuracy", "macro_f1", "roc_auc")
