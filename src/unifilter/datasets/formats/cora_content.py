"""Reader for Cora as ``cora.content`` and ``cora.cites`` (Sen et al. 2008), with class names and its own node order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from unifilter.data import NodeDataset, pack_features
from unifilter.graph import Graph


def read(content: Path, cites: Path) -> NodeDataset:
    """Read a citation graph from two text files. Nodes are in the order of ``content``, which is not Planetoid's.

    Args:
        content: One paper per line: its identifier, its features, its class name.
        cites: One citation per line: the identifiers of two papers.
    """
    papers: dict[str, int] = {}
    rows, names = [], []
    for number, line in enumerate(content.read_text().splitlines(), start=1):
        fields = line.split()
        try:
            paper, name = fields[0], fields[-1]
            rows.append(np.array(fields[1:-1], dtype=np.float32))
        except (IndexError, ValueError):
            raise ValueError(
                f"line {number} of {content} must be an identifier, numbers and a class name: download it again"
            ) from None
        if len(rows[-1]) != len(rows[0]):
            raise ValueError(
                f"line {number} of {content} has {len(rows[-1])} features, the first one {len(rows[0])}: "
                "download it again"
            )
        if paper in papers:
            raise ValueError(f"line {number} of {content} lists paper {paper} a second time: download it again")
        papers[paper] = number - 1
        names.append(name)
    if not rows:
        raise ValueError(f"{content} is empty: download it again")
    class_names, labels = np.unique(names, return_inverse=True)
    return NodeDataset(
        name=content.stem,
        graph=Graph.from_edges(_edges(cites, papers), num_nodes=len(papers)),
        features=pack_features(np.stack(rows)),
        labels=torch.from_numpy(labels),
        class_names=tuple(str(name) for name in class_names),
        source=f"{content} (nodes in the order of this file, which is not Planetoid's)",
    )


def _edges(cites: Path, papers: dict[str, int]) -> np.ndarray:
    pairs = []
    for number, line in enumerate(cites.read_text().splitlines(), start=1):
        ends = line.split()
        missing = [paper for paper in ends if paper not in papers]
        if len(ends) != 2 or missing:
            what = f"contains paper {missing[0]}, which has no features" if missing else "must contain two papers"
            raise ValueError(f"line {number} of {cites} {what}: download both files again")
        pairs.append([papers[paper] for paper in ends])
    return np.array(pairs, dtype=np.int64).reshape(-1, 2).T
