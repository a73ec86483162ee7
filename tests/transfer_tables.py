"""A made-up bank: accounts and the transfers between them, in the tables that such data comes in.

A few accounts are mules. They pay each other, are newer than others, and move larger amounts; how clearly, is the
strength of the signal.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

_CITIES = ("Berlin", "Hamburg", "Köln", "Bonn", "Essen", "Ulm", "Trier", "Gera", "Celle", "Emden")
_NORMALS_PER_MULE = 30


@dataclass(frozen=True)
class TransferTables:
    """The two tables as data frames, with the types of Python rather than the text of a .csv.

    Attributes:
        nodes: One row per account: ``id``, numbers on different scales, a date, a category, true and false, ``label``.
        edges: Directed transfers: ``source``, ``target``, ``weight``, and a column that is not used.
    """

    nodes: pd.DataFrame
    edges: pd.DataFrame

    def write(self, folder: Path) -> Path:
        """``nodes.csv`` and ``edges.csv`` as a spreadsheet writes them: ``volume`` has thousands separators."""
        folder.mkdir(parents=True, exist_ok=True)
        volume = self.nodes["volume"].map(lambda amount: f"{amount:,.2f}")
        self.nodes.assign(volume=volume).to_csv(folder / "nodes.csv", index=False)
        self.edges.to_csv(folder / "edges.csv", index=False)
        return folder


def transfer_tables(num_nodes: int = 600, seed: int = 0, signal: float = 1.0) -> TransferTables:
    """Tables of accounts and transfers.

    Args:
        num_nodes: Accounts; one of 31 is a mule.
        seed: Starts the generator.
        signal: How clearly mules differ, in their columns and in whom they pay: 0 is not at all, 1 clearly.
    """
    rng = np.random.default_rng(seed)
    mule = np.zeros(num_nodes, dtype=bool)
    mule[rng.choice(num_nodes, max(3, round(num_nodes / (1 + _NORMALS_PER_MULE))), replace=False)] = True
    nodes = _accounts(rng, mule, signal)
    return TransferTables(nodes, _transfers(rng, nodes["id"].to_numpy(), mule, signal))


def _accounts(rng: np.random.Generator, mule: np.ndarray, signal: float) -> pd.DataFrame:
    count = len(mule)
    opened = rng.integers(0, 4000, count) + np.where(mule, signal * 1500, 0).astype(int)
    # A few frequent cities and many that come once or twice.
    share = 1 / np.arange(1, 41) ** 1.5
    cities = np.array([*_CITIES, *(f"Dorf {number}" for number in range(30))])
    nodes = pd.DataFrame(
        {
            "id": [f"acc-{number:06d}" for number in rng.permutation(count)],
            "age": np.round(rng.normal(45, 14, count) - np.where(mule, signal * 10, 0), 1).clip(18),
            "volume": np.round(np.exp(rng.normal(7, 1.8, count) + np.where(mule, signal * 1.2, 0)), 2),
            "balance_share": rng.beta(2, 5, count) * np.where(mule, 1 - 0.4 * min(signal, 1), 1) / 1000,
            "opened": pd.Timestamp("2012-01-01") + pd.to_timedelta(opened, unit="D"),
            "city": rng.choice(cities, count, p=share / share.sum()),
            "business": rng.random(count) < 0.2,
            "label": np.where(mule, "mule", "normal"),
        }
    )
    for name, gaps in (("age", 0.05), ("city", 0.03)):
        nodes.loc[rng.random(count) < gaps, name] = None
    return nodes


def _transfers(rng: np.random.Generator, ids: np.ndarray, mule: np.ndarray, signal: float) -> pd.DataFrame:
    count = len(mule)
    # Everybody pays at least once, and a few pay very often.
    source = np.repeat(np.arange(count), 1 + rng.zipf(2.5, count).clip(max=20))
    target = rng.integers(0, count, len(source))
    to_mule = mule[source] & (rng.random(len(source)) < 0.7 * min(signal, 1))
    target[to_mule] = rng.choice(np.flatnonzero(mule), int(to_mule.sum()))
    kept = source != target
    source, target = source[kept], target[kept]
    return pd.DataFrame(
        {
            "source": ids[source],
            "target": ids[target],
            "weight": np.round(rng.lognormal(4, 1, len(source)), 2),
            "channel": rng.choice(["app", "branch", "wire"], len(source)),
        }
    )
