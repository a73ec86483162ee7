"""The one way to an explanation: of a factorisation, of a trained model, or of a run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unifilter._internal.checks import as_labels, check_count, check_fraction
from unifilter.datasets import NodeDataset, load_dataset
from unifilter.datasets.catalogue import CATALOGUE
from unifilter.estimators import StoredModel, UniFilterClassifier
from unifilter.explanation.label_report import LabelReport, report_labels
from unifilter.explanation.spectral_explanation import SpectralExplanation
from unifilter.explanation.trained import universal_parameters
from unifilter.factorization import Factorization
from unifilter.graph import Graph, edge_homophily, estimate_homophily
from unifilter.methods import Workspace

# Lanczos steps for the labels: they are few columns, so a finer quadrature than the features' costs little.
_LABEL_HOPS = 40


def explain(
    subject: Factorization | UniFilterClassifier | str | os.PathLike[str],
    *,
    graph: Graph | None = None,
    labels: Any = None,
    train: Any = None,
    tau: float | None = None,
    homophily: float | None = None,
    weights: Any = None,
    name: str | None = None,
    class_names: tuple[str, ...] = (),
    label_hops: int = _LABEL_HOPS,
    data_dir: str | Path | None = None,
) -> SpectralExplanation:
    """What a graph's signals, labels and filter look like in the spectral domain.

    A model or a run brings its own graph, labels, weights, tau and homophily, and what is given here goes before them.
    A factorisation brings its signals alone.

    Args:
        subject: A factorisation, a fitted :class:`unifilter.UniFilterClassifier`, or the folder of a run of
            ``unifilter train``, whose data set is loaded again by its name.
        graph: The graph of the factorisation; needed with labels.
        labels: Class indices ``[num_nodes]``, -1 where unknown.
        train: Training nodes, a mask or indices: the homophily is then estimated from their labels alone.
        tau: Share of the homophily basis; by default what was trained with, else a half.
        homophily: Of the heterophily basis; by default what was trained with, else estimated from ``train``, else the
            edge homophily of all labels.
        weights: Learned weights: ``[hops + 1]``, ``[splits, hops + 1]``, or ``[splits, hops + 1, channels]`` where
            every channel has its own.
        name: What to call it.
        class_names: What the classes are called, in the order of their indices.
        label_hops: Lanczos steps for the labels' spectral density.
        data_dir: Where the data set of a run is.
    """
    check_count("label_hops", label_hops, "leave it out for 40")
    given = {
        "graph": graph,
        "labels": labels,
        "train": train,
        "tau": tau,
        "homophily": homophily,
        "weights": weights,
        "name": name,
        "class_names": class_names or None,
    }
    found = _found_in(subject, data_dir)
    if homophily is not None:
        found.pop("homophily_from", None)
    merged = found | {key: value for key, value in given.items() if value is not None}
    return _assemble(**merged, label_hops=label_hops)


def _found_in(subject: Any, data_dir: str | Path | None) -> dict[str, Any]:
    if isinstance(subject, Factorization):
        return {"tridiagonal": subject.tridiagonal}
    if isinstance(subject, UniFilterClassifier):
        return _found_in_model(subject)
    if isinstance(subject, (str, os.PathLike)):
        return _found_in_run(Path(subject), data_dir)
    raise ValueError(
        f"explain takes a Factorization, a fitted UniFilterClassifier or a run folder, not {type(subject).__name__}: "
        "factorise the graph first, factorize(graph, x)"
    )


def _found_in_model(clf: UniFilterClassifier) -> dict[str, Any]:
    clf._check_fitted()
    stored = clf._stored
    tau, homophily = universal_parameters(stored.parameters, stored.tau, stored.homophily)
    found = {
        "tridiagonal": stored.tridiagonal,
        "tau": tau,
        "homophily": homophily,
        "homophily_from": "of the model",
        "weights": _of_one_split(stored.weights),
        "name": "model",
    }
    if clf._problem is not None:
        dataset, graph = clf._problem.dataset, clf._problem.workspace.graph(clf.self_loops)
        found |= {"graph": graph, "labels": dataset.labels, "class_names": dataset.class_names}
    return found


def _found_in_run(folder: Path, data_dir: str | Path | None) -> dict[str, Any]:
    config, records = (_read(folder, name) for name in ("config.json", "splits.json"))
    if not records:
        raise ValueError(f"the run in {folder} has no finished split yet: let it finish one, unifilter train --resume")
    settings = config["settings"]
    stored = folder / "model.unifilter"
    estimates = [record["homophily"] for record in records if "homophily" in record]
    homophily = float(np.mean(estimates)) if estimates else None
    tau: Any = settings.get("tau")
    # What was learned is not in the records: it is that of the stored model, the best split's.
    learned = StoredModel.load(stored) if stored.exists() and "learn" in (tau, settings.get("theta")) else None
    if learned is not None:
        tau, homophily = learned.tau, learned.homophily
    tau, homophily = universal_parameters(settings, tau, homophily)
    rows = [record["weights"] for record in records if record["weights"]]
    dataset = _dataset_of(config, data_dir)
    workspace = Workspace(dataset)
    fact = workspace.factorization(settings["features"], settings["hops"], settings["self_loops"])
    return {
        "tridiagonal": fact.tridiagonal,
        "tau": tau,
        "homophily": homophily,
        "homophily_from": "of the best split's model" if learned else f"mean of {len(records)} splits",
        # A weight per channel is too much for the records: the stored model has those of the best split.
        "weights": rows or _of_one_split(StoredModel.load(stored).weights),
        "graph": workspace.graph(settings["self_loops"]),
        "labels": dataset.labels,
        "class_names": dataset.class_names,
        "name": f"{dataset.name}, {config['method']}",
    }


def _read(folder: Path, name: str) -> Any:
    path = folder / name
    if not path.exists():
        raise FileNotFoundError(
            f"{folder} holds no finished run, it has no {name}: pass a folder that `unifilter train` wrote"
        )
    return json.loads(path.read_text(encoding="utf-8"))


def _dataset_of(config: dict[str, Any], data_dir: str | Path | None) -> NodeDataset:
    named = config["dataset"] in {entry.name for entry in CATALOGUE}
    dataset = load_dataset(config["dataset"] if named else Path(config["source"]), data_dir)
    if dataset.checksum != config["checksum"]:
        raise ValueError(
            f"the data set {dataset.name!r} is not what the run was trained on (its checksum differs): "
            "put the original back, or train again"
        )
    return dataset


def _assemble(
    tridiagonal: Any,
    label_hops: int,
    graph: Graph | None = None,
    labels: Any = None,
    train: Any = None,
    tau: float = 0.5,
    homophily: float | None = None,
    homophily_from: str = "given",
    weights: Any = None,
    name: str = "graph",
    class_names: tuple[str, ...] = (),
) -> SpectralExplanation:
    if labels is not None and graph is None:
        raise ValueError(
            "labels say something on their graph only: pass it too, explain(fact, graph=graph, labels=labels)"
        )
    report: LabelReport | None = None
    if graph is not None and labels is not None:
        indices = as_labels(labels, graph.num_nodes)
        report = report_labels(graph, indices, tuple(class_names), label_hops)
        if homophily is None and train is not None:
            homophily, homophily_from = (
                float(estimate_homophily(graph, indices, train)),
                "estimated from training labels",
            )
        elif homophily is None:
            homophily, homophily_from = edge_homophily(graph, indices), "edge homophily of all labels"
    if homophily is None:
        raise ValueError("there are no labels to take the homophily from: pass homophily=0.5, or graph and labels")
    return SpectralExplanation(
        name=name,
        nodes=None if graph is None else graph.num_nodes,
        edges=None if graph is None else graph.num_edges,
        tau=check_fraction("tau", tau),
        homophily=check_fraction("homophily", homophily),
        homophily_from=homophily_from,
        tridiagonal=tridiagonal,
        weights=None if weights is None else _as_weights(weights, tridiagonal.hops, tridiagonal.channels),
        labels=report,
    )


def _as_weights(weights: Any, hops: int, channels: int) -> Tensor:
    """As ``[splits, hops + 1, 1 or channels]``."""
    values = (
        weights.detach().cpu() if isinstance(weights, Tensor) else torch.from_numpy(np.asarray(weights, dtype=float))
    )
    if values.ndim == 1:
        values = values[None]
    if values.ndim == 2:
        values = values[:, :, None]
    if values.ndim != 3 or not len(values) or values.shape[1] != hops + 1 or values.shape[2] not in (1, channels):
        raise ValueError(
            f"weights must have shape [{hops + 1}], [splits, {hops + 1}] or [splits, {hops + 1}, {channels}], "
            f"not {list(np.shape(weights))}: pass one per hop"
        )
    return values


def _of_one_split(weights: Tensor) -> Tensor:
    """The weights of a model, per hop or per hop and channel."""
    return weights[None, :, None] if weights.ndim == 1 else weights[None]
