"""Three reports: a good run, one that collapsed onto the frequent class, and a regression."""

from __future__ import annotations

from statistics import fmean, pstdev
from typing import Any

import numpy as np

Report = dict[str, Any]


def score(name: str, role: str, values: list[float]) -> dict[str, Any]:
    return {"name": name, "role": role, "mean": fmean(values), "std": pstdev(values), "values": values}


def class_rows(names: list[str], counts: list[list[int]]) -> list[dict[str, Any]]:
    """What a confusion matrix says about each class."""
    matrix = np.array(counts)
    rows = []
    for index, name in enumerate(names):
        right, support, predicted = (
            int(one) for one in (matrix[index, index], matrix[index].sum(), matrix[:, index].sum())
        )
        rows.append(
            {
                "name": name,
                "precision": right / predicted if predicted else None,
                "recall": right / support if support else None,
                "f1": 2 * right / (support + predicted) if support + predicted else 0.0,
                "support": support,
                "predicted": predicted,
            }
        )
    return rows


def good() -> Report:
    """Three classes, ten splits, the graph helps."""
    wobble = [0.004, -0.011, 0.007, 0.0, 0.013, -0.006, -0.009, 0.002, 0.01, -0.01]
    names = ["Case_Based", "Neural_Networks", "Theory"]
    counts = [[1040, 66, 94], [58, 1512, 110], [120, 132, 868]]
    hops = 10
    lam = np.linspace(0, 2, 81)
    response = 1.1 * np.exp(-2.2 * lam) + 0.12 + 4 * np.maximum(lam - 1.6, 0) ** 2
    return {
        "title": "citations, unifilter",
        "unifilter": "0.1.0",
        "created": "2025-06-01T12:30:00",
        "command": "unifilter train citations --split stratified",
        "dataset": {
            "name": "citations",
            "nodes": 2000,
            "edges": 5278,
            "columns": [{"name": "year", "kind": "number"}, {"name": "venue", "kind": "category"}],
            "features": 1433,
            "classes": 3,
            "labeled": 2000,
            "isolated": 12,
            "edge_homophily": 0.81,
            "adjusted_homophily": 0.771,
        },
        "task": "classification",
        "method": "unifilter",
        "metric": "accuracy",
        "split": {"name": "stratified-60-20-20", "count": 10, "train": 1200, "val": 400, "test": 400},
        "warnings": [],
        "nothing_learned": False,
        "scores": [
            score("unifilter", "model", [0.855 + one for one in wobble]),
            score("MLP without the graph", "mlp", [0.742 + 0.6 * one for one in reversed(wobble)]),
            score("most frequent class", "majority", [0.42] * 10),
        ],
        "metrics": {
            "accuracy": {"mean": 0.855, "std": 0.008},
            "balanced_accuracy": {"mean": 0.8472, "std": 0.0101},
            "macro_f1": {"mean": 0.849, "std": 0.01},
            "log_loss": {"mean": 0.412, "std": 0.021},
            "roc_auc": {"mean": None, "std": None},
        },
        "classes": class_rows(names, counts),
        "confusion": {"names": names, "counts": counts},
        "calibration": {
            "error": 0.021,
            "error_before": 0.064,
            "temperature": 1.31,
            "bins": [
                {"confidence": center, "accuracy": center + shift, "count": nodes}
                for center, shift, nodes in (
                    (0.37, 0.05, 60),
                    (0.45, 0.03, 212),
                    (0.55, -0.02, 321),
                    (0.65, 0.01, 398),
                    (0.75, -0.03, 514),
                    (0.85, -0.01, 805),
                    (0.96, 0.01, 1690),
                )
            ],
        },
        "sets": {"alpha": 0.1, "coverage": 0.9085, "mean_size": 1.24},
        "residuals": None,
        "spectrum": {
            "frequency": [0.48, 0.31, 0.24, 0.2, 0.17, 0.15, 0.14, 0.13, 0.12, 0.115, 0.11],
            "weight": [0.21, 0.34, 0.42, 0.38, 0.3, 0.22, 0.18, 0.12, 0.08, -0.05, -0.02],
            "weight_spread": [0.03, 0.02, 0.03, 0.04, 0.03, 0.03, 0.02, 0.02, 0.03, 0.04, 0.03],
            "lam": lam.tolist(),
            "response": response.tolist(),
            "response_low": (response - 0.08).tolist(),
            "response_high": (response + 0.1 + 0.05 * lam).tolist(),
            "span": [0.1, 1.45],
        },
        "importance": {
            "hops": [0.31, 0.44, 0.29, 0.18, 0.12, 0.07, 0.05, 0.03, 0.02, 0.01, 0.0],
            "features": [
                {"name": name, "value": value}
                for name, value in (
                    ("neural", 0.41),
                    ("bayesian", 0.33),
                    ("venue = ICML", 0.214),
                    ("case-based reasoning", 0.19),
                    ("year", 0.05),
                )
            ],
            "classes": [
                {
                    "name": name,
                    "features": [
                        {"name": "neural", "value": 0.4 - 0.5 * index},
                        {"name": "bayesian", "value": -0.2 + 0.3 * index},
                        {"name": "year", "value": 0.01},
                    ],
                }
                for index, name in enumerate(names)
            ],
        },
        "history": {
            "best_epochs": [61, 80, 75] * 3 + [66],
            "epochs": [161, 180, 175] * 3 + [166],
            "seconds": [2.1] * 10,
        },
        "settings": {"hops": hops, "tau": 0.5, "lr": 0.01, "epochs": 1000, "class_weight": None, "features": "row"},
    }


def collapsed() -> Report:
    """Two very unequal classes, one split, and every node is predicted to be of the frequent one."""
    names, counts = ["ok", "fraud <script>alert('x')</script>"], [[1900, 0], [100, 0]]
    return {
        **good(),
        "title": "payments, unifilter",
        "command": "unifilter train payments --splits 1",
        "dataset": {
            **good()["dataset"],
            "name": "payments",
            "nodes": 10_000,
            "edges": 71_204,
            "columns": [{"name": "amount", "kind": "number"}, {"name": "opened", "kind": "date"}],
            "features": 14,
            "classes": 2,
            "labeled": 10_000,
            "isolated": 2204,
            "edge_homophily": 0.904,
            "adjusted_homophily": 0.004,
        },
        "split": {"name": "stratified-60-20-20", "count": 1, "train": 6000, "val": 2000, "test": 2000},
        "warnings": ["It predicts 'ok' for every node: it has learned nothing."],
        "nothing_learned": True,
        "scores": [
            score("unifilter", "model", [0.95]),
            score("MLP without the graph", "mlp", [0.953]),
            score("most frequent class", "majority", [0.95]),
        ],
        "metrics": {
            "accuracy": {"mean": 0.95, "std": 0.0},
            "balanced_accuracy": {"mean": 0.5, "std": 0.0},
            "macro_f1": {"mean": 0.487, "std": 0.0},
            "roc_auc": {"mean": 0.512, "std": 0.0},
        },
        "classes": class_rows(names, counts),
        "confusion": {"names": names, "counts": counts},
        "calibration": {
            "error": 0.003,
            "error_before": 0.004,
            "temperature": 1.02,
            "bins": [{"confidence": 0.947, "accuracy": 0.95, "count": 2000}],
        },
        "sets": {"alpha": 0.1, "coverage": 0.95, "mean_size": 1.0},
        "spectrum": None,
        "importance": None,
        "history": {"best_epochs": [0], "epochs": [100], "seconds": [4.2]},
        "settings": {"hops": 10, "tau": None, "epochs": 1000, "class_weight": None},
    }


def regression() -> Report:
    """House prices: five splits, measured by RMSE, which is stored with a minus sign."""
    random = np.random.default_rng(0)
    true = random.gamma(5, 60_000, 400)
    predicted = true * random.normal(1, 0.12, 400) + random.normal(0, 15_000, 400)
    quantiles = np.quantile(true - predicted, [0.05, 0.25, 0.5, 0.75, 0.95])
    return {
        **good(),
        "title": "houses, unifilter",
        "command": None,
        "task": "regression",
        "metric": "neg_rmse",
        "dataset": {
            **good()["dataset"],
            "name": "houses",
            "columns": [],
            "features": 9,
            "classes": 0,
            "edge_homophily": None,
            "adjusted_homophily": None,
        },
        "split": {"name": "random-60-20-20", "count": 5, "train": 1200, "val": 400, "test": 400},
        "scores": [
            score("unifilter", "model", [-41_200.0, -43_900.0, -40_100.0, -42_500.0, -44_000.0]),
            score("MLP without the graph", "mlp", [-41_900.0, -43_100.0, -41_300.0, -42_000.0, -44_800.0]),
            score(
                "mean of the training nodes", "majority", [-131_000.0, -136_000.0, -129_500.0, -133_000.0, -135_500.0]
            ),
        ],
        "metrics": {
            "neg_rmse": {"mean": -42_340.0, "std": 1500.0},
            "neg_mae": {"mean": -30_120.0, "std": 980.0},
            "r2": {"mean": 0.894, "std": 0.008},
        },
        "classes": [],
        "confusion": None,
        "calibration": None,
        "sets": None,
        "residuals": {
            "quantiles": dict(zip(("5", "25", "50", "75", "95"), quantiles.tolist(), strict=True)),
            "points": np.stack([true, predicted], axis=1).round().tolist(),
        },
        "importance": {**good()["importance"], "classes": []},
        "history": {"best_epochs": [960, 991, 1000, 942, 999], "epochs": [1000] * 5, "seconds": [8.0] * 5},
    }


SAMPLES = {"good": good, "collapsed": collapsed, "regression": regression}
