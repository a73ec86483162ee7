"""``unifilter explain``: an interactive page, a plot or JSON for a data set or a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unifilter._internal.files import whole_file
from unifilter.cli.options import AsJson, DataDir
from unifilter.data import FeatureScaling
from unifilter.datasets import load_dataset
from unifilter.explanation import SpectralExplanation, explain
from unifilter.factorization import factorize
from unifilter.runs import RunFolder


def explain_command(
    dataset_or_run: Annotated[
        str, typer.Argument(help="Name of a data set, path of a file or a folder of tables, or a run folder.")
    ],
    out: Annotated[
        Path, typer.Option(help="Output file: a page (.html), a plot (.png, .pdf, .svg) or numbers (.json).")
    ] = Path("explain.html"),
    hops: Annotated[int, typer.Option(help="Number of hops. Ignored for a run, which has its own.")] = 10,
    features: Annotated[
        FeatureScaling, typer.Option(help="Feature scaling. Ignored for a run, which has its own.")
    ] = "raw",
    tau: Annotated[float | None, typer.Option(help="Initial share of the homophily basis on the page.")] = None,
    homophily: Annotated[float | None, typer.Option(help="Initial homophily on the page.")] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Explain a graph: one page with sliders for tau and homophily that needs no server and no network."""
    if out.suffix not in _WRITERS:
        raise ValueError(
            f"--out cannot be a {out.suffix or 'file without an extension'}: use one of {', '.join(_WRITERS)}"
        )
    if RunFolder.is_run(Path(dataset_or_run)):
        explanation = explain(dataset_or_run, tau=tau, homophily=homophily, data_dir=data_dir)
    else:
        dataset = load_dataset(dataset_or_run, data_dir, features)
        factorization = factorize(dataset.graph, dataset.features, hops)
        explanation = explain(factorization, dataset=dataset, tau=tau, homophily=homophily)
    _WRITERS[out.suffix](explanation, out)
    typer.echo(explanation.to_json() if as_json else f"{explanation}\n\n{out}")


def _write_page(explanation: SpectralExplanation, path: Path) -> None:
    _write(path, explanation.to_html())


def _write_numbers(explanation: SpectralExplanation, path: Path) -> None:
    _write(path, explanation.to_json() + "\n")


def _write_picture(explanation: SpectralExplanation, path: Path) -> None:
    figure = explanation.plot()
    with whole_file(path) as file:
        figure.savefig(file, format=path.suffix[1:], dpi=150)


def _write(path: Path, text: str) -> None:
    with whole_file(path) as file:
        file.write(text.encode())


_WRITERS = {
    ".html": _write_page,
    ".json": _write_numbers,
    **dict.fromkeys((".png", ".pdf", ".svg"), _write_picture),
}
