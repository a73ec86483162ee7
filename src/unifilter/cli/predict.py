"""``unifilter predict``: a trained model on a graph, into a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from unifilter._internal.files import write_csv
from unifilter.cli.options import AsJson, DataDir
from unifilter.cli.output import print_json, print_table
from unifilter.datasets import load_dataset
from unifilter.estimators import NodeClassifier
from unifilter.runs import RunFolder


def predict_command(
    model: Annotated[Path, typer.Argument(help="A .unifilter file, or the folder of a run.")],
    graph: Annotated[str, typer.Argument(help="A named data set, a file or a folder of tables.")],
    out: Annotated[Path, typer.Option(help="Where the predictions go.")] = Path("predictions.csv"),
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Predict the class of every node: a CSV with node, prediction and the probability of each class."""
    if out.is_dir():
        raise ValueError(f"{out} is a folder: pass the name of a file to --out")
    if out.exists() and not force:
        raise ValueError(f"{out} exists: pass --force to write over it, or another --out")
    clf = NodeClassifier.load(_model_file(model))
    dataset = load_dataset(graph, data_dir)
    probabilities = clf.predict_proba(graph=dataset.graph, x=dataset.features)
    predicted = clf.classes_[probabilities.argmax(axis=1)]
    write_csv(
        out,
        ["node", "prediction", *(f"probability_{name}" for name in clf.classes_)],
        (
            [node, name, *(f"{value:.6g}" for value in row)]
            for node, (name, row) in enumerate(zip(predicted, probabilities, strict=True))
        ),
    )
    counts = {str(name): int(np.sum(predicted == name)) for name in clf.classes_}
    if as_json:
        print_json(
            {"model": str(model), "graph": dataset.name, "nodes": len(predicted), "predicted": counts, "out": str(out)}
        )
    else:
        print_table([(name, str(count)) for name, count in counts.items()], header=("class", "nodes"))
        typer.echo(f"\n{out}")


def _model_file(model: Path) -> Path:
    if not model.is_dir():
        return model
    stored = RunFolder(model).model_path
    if not stored.exists():
        raise FileNotFoundError(
            f"there is no {stored.name} in {model}: pass the folder of a run that has finished a split, or a model file"
        )
    return stored
