"""``unifilter predict``: apply a trained model to a graph and write a CSV file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from unifilter._internal.files import write_csv
from unifilter.cli.options import AsJson, DataDir, MemoryLimit
from unifilter.cli.output import print_json, print_table
from unifilter.data import NodeDataset
from unifilter.datasets import load_dataset
from unifilter.estimators import TrainedModel
from unifilter.evaluation import interval_halfwidth
from unifilter.runs import RunFolder

# Intervals of predicted numbers cover 90 %.
_ALPHA = 0.1


def predict_command(
    model: Annotated[Path, typer.Argument(help="A .unifilter file, or a run folder.")],
    graph: Annotated[str, typer.Argument(help="Name of a data set, or path of a file or a folder of tables.")],
    out: Annotated[Path, typer.Option(help="Output CSV file.")] = Path("predictions.csv"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    memory_limit: MemoryLimit = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Predict every node: a CSV with the node's id, the prediction, and the probability of each class."""
    if out.is_dir():
        raise ValueError(f"{out} is a folder: pass a file name to --out")
    if out.exists() and not force:
        raise ValueError(f"{out} exists: pass --force to overwrite it, or another --out")
    trained = TrainedModel.load(_model_file(model))
    # A file does not say whether its edges are directed: it is read as the training graph was.
    dataset = load_dataset(graph, data_dir, direction=trained.direction)
    logits = trained.logits(dataset.graph, dataset.inputs, memory_limit=memory_limit)
    predicted = trained.answers(logits)
    header, rows = _table(trained, predicted, logits)
    id_name, ids = _ids(dataset)
    write_csv(out, [id_name, *header], ([one, *row] for one, row in zip(ids, rows, strict=True)))
    remarks = [trained.nothing_learned] if trained.nothing_learned else _remarks(trained, predicted)
    summary = _summary(trained, predicted)
    if as_json:
        print_json(
            {
                "model": str(model),
                "graph": dataset.name,
                "nodes": len(predicted),
                "predicted": summary,
                "remarks": remarks,
                "out": str(out),
            }
        )
        return
    title = "value" if trained.task == "regression" else "nodes"
    shown = [(name, f"{value:g}" if isinstance(value, float) else str(value)) for name, value in summary.items()]
    print_table(shown, header=("predicted", title))
    for remark in remarks:
        typer.echo(f"unifilter: warning: {remark}", err=True)
    typer.echo(f"\n{out}")


def _ids(dataset: NodeDataset) -> tuple[str, Iterable[Any]]:
    """The user's node ids, or indices if the nodes have no ids."""
    if dataset.table is None or dataset.node_ids is None:
        return "node", range(dataset.num_nodes)
    return dataset.table.id_name, dataset.node_ids


def _table(model: TrainedModel, predicted: np.ndarray, logits: Any) -> tuple[list[str], Iterable[list[Any]]]:
    """Column names after the id, and the rows."""
    names = [str(name) for name in model.classes]
    if model.task == "regression":
        values = predicted.reshape(len(predicted), -1)
        if len(names) > 1:
            return [f"prediction_{name}" for name in names], ([f"{one:.8g}" for one in row] for row in values)
        width = interval_halfwidth(model.calibration.scores, _ALPHA) if len(model.calibration.scores) else np.inf
        rows = ([f"{one:.8g}", f"{one - width:.8g}", f"{one + width:.8g}"] for one in values[:, 0])
        return ["prediction", "lower_90", "upper_90"], rows
    probabilities = model.probabilities(logits)
    chances = [f"probability_{name}" for name in names]
    if model.task == "multilabel":
        return [*names, *chances], (
            [*(int(one) for one in row), *(f"{value:.6g}" for value in chance)]
            for row, chance in zip(predicted, probabilities, strict=True)
        )
    return ["prediction", *chances], (
        [name, *(f"{value:.6g}" for value in row)] for name, row in zip(predicted, probabilities, strict=True)
    )


def _summary(model: TrainedModel, predicted: np.ndarray) -> dict[str, Any]:
    """How often each class or label is predicted, or the range of predicted numbers."""
    if model.task == "regression":
        values = predicted.reshape(len(predicted), -1)[:, 0]
        return {"smallest": float(values.min()), "mean": float(values.mean()), "largest": float(values.max())}
    if model.task == "multilabel":
        return {str(name): int(count) for name, count in zip(model.classes, predicted.sum(axis=0), strict=True)}
    return {str(name): int(np.sum(predicted == name)) for name in model.classes}


def _remarks(model: TrainedModel, predicted: np.ndarray) -> list[str]:
    if model.task == "classification" and len(predicted) > 1 and len(np.unique(predicted)) == 1:
        return [f"every node is predicted to be {str(predicted[0])!r}, although there are {len(model.classes)} classes"]
    return []


def _model_file(model: Path) -> Path:
    if not model.is_dir():
        return model
    stored = RunFolder(model).model_path
    if not stored.exists():
        raise FileNotFoundError(
            f"there is no {stored.name} in {model}: pass a run folder in which a split has finished, or a model file"
        )
    return stored
