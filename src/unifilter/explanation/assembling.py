"""Builds an explanation from a factorization, a trained model or a run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from unifilter._internal.checks import as_labels, check_count, check_fraction
from unifilter.data import NodeDataset
from unifilter.datasets import load_dataset
from unifilter.datasets.catalog import CATALOG
from unifilter.estimators import NodeEstimator, TrainedModel
from unifilter.explanation.curves import GRID
from unifilter.explanation.label_report import LabelReport, report_labels
from unifilter.explanation.mixtures import MemberFilter, member_filters, said_of_members, whole_response
from unifilter.explanation.spectral_explanation import SpectralExplanation
from unifilter.explanation.universal import universal_parameters
from unifilter.factorization import Factorization, StoredFactorization, factorize, tridiagonals
from unifilter.graph import Graph, edge_homophily, estimate_homophily
from unifilter.nn import LabelSignals, SharedUniFilter
from unifilter.nn.shared_uni_filter import sketch_for
from unifilter.runs import RunFolder, response_quartiles

# Lanczos steps for the labels. They have few columns, so a finer quadrature than for the features costs little.
_LABEL_HOPS = 40
# Lanczos steps for the features of a method without hops, as many as in the paper.
_FEATURE_HOPS = 10


def explain(
    subject: Factorization | StoredFactorization | NodeEstimator | TrainedModel | str | os.PathLike[str],
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
    dataset: NodeDataset | None = None,
    data_dir: str | Path | None = None,
) -> SpectralExplanation:
    """Explain a graph's signals, labels and filter in the spectral domain.

    A model or a run has its own graph, labels, weights, tau and homophily; arguments given here take precedence. A
    factorization has only its signals. A filter that is not on the universal basis, such as BernNet's, is represented
    by its response.

    Args:
        subject: A factorization, a fitted classifier or regressor, a :class:`unifilter.TrainedModel`, or the
            folder of a run, whose data set is loaded again by name.
        graph: The graph of the factorization; required with labels.
        labels: Class indices ``[num_nodes]``, -1 if unknown.
        train: Training nodes, a mask or indices. The homophily is then estimated from their labels only.
        tau: Share of the homophily basis. Default: the trained value, or 0.5.
        homophily: Homophily of the heterophily basis. Default: the trained value, or the estimate from ``train``, or
            the edge homophily of all labels.
        weights: Learned weights: ``[hops + 1]``, ``[splits, hops + 1]``, or ``[splits, hops + 1, channels]`` for
            separate weights per channel.
        name: Title of the explanation.
        class_names: Class names, in the order of the class indices.
        label_hops: Lanczos steps for the spectral density of the labels.
        dataset: The data set of a factorization, or the one that a :class:`unifilter.TrainedModel` was trained on,
            instead of graph and labels.
        data_dir: Data directory with the data set of a run.
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
    found = _found_in(subject, dataset, data_dir)
    if homophily is not None:
        found.pop("homophily_from", None)
    merged = found | {key: value for key, value in given.items() if value is not None}
    return _assemble(**merged, label_hops=label_hops)


def _found_in(subject: Any, dataset: NodeDataset | None, data_dir: str | Path | None) -> dict[str, Any]:
    if isinstance(subject, (Factorization, StoredFactorization)):
        known = {} if dataset is None else {"name": dataset.name, "graph": dataset.graph, **_answers_in(dataset)}
        return {"tridiagonal": subject.tridiagonal, **known}
    if isinstance(subject, NodeEstimator):
        check_is_fitted(subject)
        return _found_in_model(subject.model_, subject.data_) | {"name": "model"}
    if isinstance(subject, TrainedModel):
        return _found_in_model(subject, dataset) | {"name": "model"}
    if isinstance(subject, (str, os.PathLike)):
        return _found_in_run(RunFolder(Path(subject)), data_dir)
    raise ValueError(
        f"explain takes a Factorization, a fitted estimator, a TrainedModel or a run folder, not "
        f"{type(subject).__name__}: factorize the graph first, factorize(graph, x)"
    )


def _found_in_model(model: TrainedModel, dataset: NodeDataset | None) -> dict[str, Any]:
    """The parameters of a model, and its training data if available."""
    found: dict[str, Any] = {"tridiagonal": model.tridiagonal}
    if dataset is not None:
        graph = dataset.graph.with_self_loops(model.network.self_loops).to("cpu")
        found |= {"graph": graph, **_answers_in(dataset)}
        if model.tridiagonal is None:
            # The method does not use a factorization, but the spectrum of the features needs one.
            hops = getattr(model.method, "hops", None) or _FEATURE_HOPS
            found["tridiagonal"] = tridiagonals(graph, model.prepare(dataset.inputs, seen=True), hops)
    if found["tridiagonal"] is None:
        raise ValueError(
            f"a {model.method.name} model does not contain the spectrum of its features: explain the fitted "
            "estimator, or the folder of its run"
        )
    found["remarks"] = _remarks(model)
    if model.members:
        return found | _found_in_members(model)
    if isinstance(model.network, SharedUniFilter) and dataset is not None and model.homophily is not None:
        found["remarks"] += (_on_angles(model, dataset, found["graph"]),)
    parameters = universal_parameters(model)
    if parameters is not None and model.weights is not None:
        tau, homophily = parameters
        weights = model.weights
        return found | {
            "tau": tau,
            "homophily": homophily,
            "homophily_from": "of the model",
            # A single split, with weights per hop, or per hop and channel.
            "weights": weights[None, :, None] if weights.ndim == 1 else weights[None],
        }
    response = response_quartiles(model, GRID)
    if response is None:
        raise ValueError(
            f"{model.method.name} learns no filter that is a function of the eigenvalues, so it cannot be "
            "explained: explain the factorization of the data set instead, explain(factorize(graph, x))"
        )
    return found | {"response": response}


def _found_in_members(model: TrainedModel) -> dict[str, Any]:
    members = member_filters(model)
    response = whole_response(members)
    if response is None:
        raise ValueError(
            "no member of this portfolio learns a filter that is a function of the eigenvalues, so there is nothing to "
            "explain: explain the factorization of the data set instead, explain(factorize(graph, x))"
        )
    return {"response": response, "members": members, "remarks": (*_remarks(model), said_of_members(members))}


def _answers_in(dataset: NodeDataset) -> dict[str, Any]:
    """Labels and class names; for targets, which have no classes, their homophily."""
    if dataset.targets is None:
        known = {"labels": dataset.labels, "class_names": dataset.class_names}
        return known if dataset.answered.any() else {}
    homophily, kind = dataset.target_homophily, "label-set" if dataset.task == "multilabel" else "value"
    if homophily is None:
        return {"homophily": 0.5, "homophily_from": "0.5, because no edge joins known targets"}
    return {"homophily": homophily, "homophily_from": f"{kind} homophily of all targets"}


def _remarks(model: TrainedModel) -> tuple[str, ...]:
    """Warnings to show first: what is shown may not have been learned."""
    said = [model.nothing_learned] if model.nothing_learned else []
    if model.filter_unmoved:
        said.append("The weights of the filter did not change in training: the initial filter is shown.")
    if isinstance(model.network, LabelSignals):
        said.append("The filter shown is that of the features. The model also reads the training labels around a node.")
    return tuple(said)


def _on_angles(model: TrainedModel, dataset: NodeDataset, graph: Graph) -> str:
    """One recurrence for all columns: what their own angles are."""
    network, x = model.network, model.prepare(dataset.inputs, seen=True)
    tridiagonal = network.tridiagonal
    hops = _FEATURE_HOPS if tridiagonal is None else tridiagonal.hops
    found = factorize(graph, x, hops, channels="shared", sketch=sketch_for(x.shape[1])).diagnostics(
        model.homophily or 0.0
    )
    mean, spread = found.channel_angle.mean(), found.channel_angle.std(correction=0)
    return (
        "All columns share one recurrence: vectors of the heterophily basis meet at "
        f"{found.expected_angle:.0f} degrees in the mean, and at {mean:.0f} ± {spread:.0f} in single columns."
    )


def _found_in_run(files: RunFolder, data_dir: str | Path | None) -> dict[str, Any]:
    config, records = files.config, files.records
    if not records:
        raise ValueError(f"the run in {files.path} has no finished split yet: let it finish one")
    model, dataset = files.model(), _dataset_of(config, data_dir)
    found = _found_in_model(model, dataset) | {"name": f"{dataset.name}, {config['method']}"}
    if "weights" not in found:
        return found
    # Records have no weights per channel and no learned basis: those are taken from the best split.
    rows = [record["weights"] for record in records if record["weights"]]
    if rows:
        found["weights"] = rows
    estimates = [record["homophily"] for record in records if "homophily" in record]
    settings = config["settings"]
    if "learn" in (settings.get("tau"), settings.get("theta")):
        found["homophily_from"] = "of the best split's model"
    elif estimates and settings.get("basis") in ("uni", "heterophily"):
        mean = float(np.mean(estimates))
        found |= {"homophily": mean, "homophily_from": f"mean of {len(records)} splits"}
        if settings["basis"] == "uni" and settings["tau"] is None:
            found["tau"] = mean
    return found


def _dataset_of(config: dict[str, Any], data_dir: str | Path | None) -> NodeDataset:
    named = config["dataset"] in {entry.name for entry in CATALOG}
    where = config["dataset"] if named else Path(config["source"])
    dataset = load_dataset(where, data_dir, direction=config["direction"])
    if dataset.checksum != config["checksum"]:
        raise ValueError(
            f"the data set {dataset.name!r} differs from the one the run was trained on (its checksum differs): "
            "restore the original, or train again"
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
    response: np.ndarray | None = None,
    name: str = "graph",
    class_names: tuple[str, ...] = (),
    remarks: tuple[str, ...] = (),
    members: tuple[MemberFilter, ...] = (),
) -> SpectralExplanation:
    if labels is not None and graph is None:
        raise ValueError("labels need their graph: pass it too, explain(fact, graph=graph, labels=labels)")
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
        raise ValueError("there are no labels to estimate the homophily from: pass homophily=0.5, or graph and labels")
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
        response=response,
        remarks=remarks,
        members=members,
    )


def _as_weights(weights: Any, hops: int, channels: int) -> Tensor:
    """Weights as ``[splits, hops + 1, 1 or channels]``."""
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
