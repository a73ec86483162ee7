"""Train the four filters on two graphs that want different bases, draw what they learned, and end with a portfolio.

On the first graph neighbors are alike. On the second they differ, and all features carry a strong smooth signal that
has nothing to do with the classes: there the homophily basis shows little else. Neither basis is good on both graphs;
UniFilter, which mixes them by the homophily it estimates, has what each of them needs.

python examples/demo.py --out demo
"""

from __future__ import annotations

import argparse
import dataclasses
from dataclasses import dataclass
from pathlib import Path

import torch
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from unifilter import Factorization, NodeClassifier, density_of, edge_homophily, factorize
from unifilter._internal.figures import new_figure
from unifilter.cli.output import print_table
from unifilter.data import NodeDataset
from unifilter.datasets.synthetic import contextual_sbm
from unifilter.estimators import fit
from unifilter.explanation import SpectralExplanation, explain
from unifilter.methods import Problem, Workspace, find_method

# What the basis of each method is called, and how it is drawn: Okabe and Ito's colors, which color-blind readers can
# tell apart.
# UniBasis is a ring around the others where they are the same.
METHODS = {
    "unifilter": ("UniBasis", {"color": "#009E73", "marker": "o", "markersize": 10, "fillstyle": "none"}),
    "homfilter": ("homophily basis", {"color": "#0072B2", "marker": "o", "markersize": 5}),
    "hetfilter": ("heterophily basis", {"color": "#D55E00", "marker": "s", "markersize": 5}),
    "ortfilter": ("orthonormal basis", {"color": "#CC79A7", "marker": "D", "markersize": 5}),
}


NODES = 800
# The same for all four, so that they differ in their basis alone.
SETTINGS = {
    "features": "raw", "hidden_channels": 32, "num_layers": 2, "batch_norm": False, "dropout": 0.2,
    "basis_dropout": 0.0, "lr": 0.05, "weight_decay": 5e-4,
}  # fmt: skip


@dataclass
class Learned:
    """What one method learned: its weights, and the frequency of the basis vector that each of them is on.

    UniFilter also has an explanation.
    """

    weights: torch.Tensor
    frequencies: torch.Tensor
    test_accuracy: float
    explanation: SpectralExplanation | None = None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for the pictures and pages")
    parser.add_argument("--epochs", type=int, default=60, help="maximum number of epochs for each method and graph")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)

    graphs = [homophilous_graph(), heterophilous_graph()]
    results = [train_all(dataset, arguments.epochs) for dataset in graphs]
    portfolios = [train_portfolio(dataset, arguments.epochs) for dataset in graphs]
    filters, spectrum = arguments.out / "filters.png", arguments.out / "spectrum.png"
    draw_filters(graphs, results, filters)
    draw_spectrum(graphs, results, spectrum)

    print("\nTest accuracy on one 60/20/20 split, %")
    print_table(
        [
            (
                dataset.name,
                f"{edge_homophily(dataset.graph, dataset.labels):.2f}",
                *(f"{100 * learned[name].test_accuracy:.1f}" for name in METHODS),
                f"{100 * whole.score(dataset.labels, dataset.split('60').test):.1f}",
            )
            for dataset, learned, whole in zip(graphs, results, portfolios, strict=True)
        ],
        header=("graph", "homophily", *METHODS, "auto"),
    )
    print(
        "\nauto is a portfolio of methods and the weighted mean of their probabilities. Here the four filters are its "
        "members;\nleft to itself it brings others too."
    )
    for dataset, whole in zip(graphs, portfolios, strict=True):
        print(f"\n{dataset.name}, by validation score\n{whole.leaderboard_}")
    print(f"\nlearned weights: {filters.resolve()}\nspectrum:        {spectrum.resolve()}")
    print("\nWhat UniFilter learned, as pages with sliders; they need no server, open them in a browser:")
    for dataset, learned in zip(graphs, results, strict=True):
        explanation = learned["unifilter"].explanation
        if explanation is not None:
            print(write_page(dataset, explanation, arguments.out).resolve().as_uri())
    print("\nOn a graph of your own, one command does what the last column did:\nunifilter train FOLDER")


def homophilous_graph() -> NodeDataset:
    """Nine in ten edges join nodes of one class."""
    dataset = contextual_sbm(num_nodes=NODES, num_classes=4, homophily=0.9, num_features=16)
    return dataclasses.replace(dataset, name="homophilous", features=unit_columns(dataset.features))


def heterophilous_graph() -> NodeDataset:
    """One edge in twenty does, and the features are six parts of smooth noise to one part of what they are else."""
    dataset = contextual_sbm(num_nodes=NODES, num_classes=4, homophily=0.05, num_features=16, average_degree=20)
    smooth = torch.randn(NODES, 16, generator=torch.Generator().manual_seed(0))
    for _ in range(6):
        smooth = dataset.graph.propagate(smooth)
    mixed = dataset.features + 6 * smooth / smooth.std()
    return dataclasses.replace(dataset, name="heterophilous", features=unit_columns(mixed))


def unit_columns(features: torch.Tensor) -> torch.Tensor:
    """Of length 1, as the vectors of the heterophily basis are: neither basis drowns the other."""
    return features / features.norm(dim=0)


def write_page(dataset: NodeDataset, explanation: SpectralExplanation, folder: Path) -> Path:
    """The explanation of what was learned, in one file."""
    path = folder / f"{dataset.name}.html"
    path.write_text(explanation.to_html(), encoding="utf-8")
    return path


def train_all(dataset: NodeDataset, epochs: int) -> dict[str, Learned]:
    """Every method with the same settings; they share one factorization."""
    workspace, split = Workspace(dataset), dataset.split("60")
    learned = {}
    for name in METHODS:
        method = find_method(name).with_settings({**SETTINGS, "epochs": epochs})
        print(f"{dataset.name}: training {name}", flush=True)
        fitted = fit(method, Problem(workspace, split.train, split.val), label=name, verbose=True)
        model = fitted.model
        frequencies = model.tridiagonal.frequencies(model.basis.coefficients(model.tridiagonal))
        learned[name] = Learned(
            model.weights,
            frequencies[:, model.tridiagonal.dimension > 0].mean(dim=1),
            fitted.scores(torch.as_tensor(split.test))["accuracy"],
            explain(model, dataset=dataset, name=f"{dataset.name}, {name}") if name == "unifilter" else None,
        )
    return learned


def train_portfolio(dataset: NodeDataset, epochs: int) -> NodeClassifier:
    """The four filters as the members of a portfolio: nobody has to know which of them the graph wants."""
    split = dataset.split("60")
    print(f"{dataset.name}: training auto", flush=True)
    portfolio = NodeClassifier("auto", members=[(name, SETTINGS) for name in METHODS], epochs=epochs, verbose=True)
    return portfolio.fit(dataset.graph, dataset.features, dataset.labels, train=split.train, val=split.val)


def draw_filters(graphs: list[NodeDataset], results: list[dict[str, Learned]], path: Path) -> None:
    """The learned weight of each basis vector over its frequency, a graph a panel."""
    figure = new_figure(figsize=(11, 4.6))
    panels = figure.subplots(1, len(graphs))
    for axes, dataset, learned in zip(panels, graphs, results, strict=True):
        axes.axhline(0, color="0.6", linewidth=0.8)
        for name, (label, style) in METHODS.items():
            one = learned[name]
            axes.plot(one.frequencies, one.weights, linestyle="none", alpha=0.8, label=f"{name} ({label})", **style)
        axes.set(xlabel="frequency of the basis vector (0 smooth, 1 alternating)", ylabel="learned weight", xlim=(0, 1))
        axes.set_title(title(dataset))
    figure.suptitle("Which frequencies the filters use")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(METHODS), frameon=False)
    figure.savefig(path, dpi=150)


def draw_spectrum(graphs: list[NodeDataset], results: list[dict[str, Learned]], path: Path) -> None:
    """On the left the frequency of each basis vector, on the right where features and labels have their energy."""
    figure = new_figure(figsize=(11, 4.2 * len(graphs)))
    rows = figure.subplots(len(graphs), 2)
    for (left, right), dataset, learned in zip(rows, graphs, results, strict=True):
        for name, (label, style) in METHODS.items():
            frequencies = learned[name].frequencies
            left.plot(range(len(frequencies)), frequencies, label=label, **style)
        left.set(xlabel="hop k", ylabel="frequency (0 smooth, 1 alternating)", ylim=(0, 1))
        left.set_title(f"{title(dataset)}: the bases")
        left.legend(frameon=False, ncols=2)
        draw_energy(right, factorize(dataset.graph, dataset.features), "features", "#0072B2", "-")
        known = dataset.labels.clamp(min=0)
        one_hot = torch.nn.functional.one_hot(known).float() * (dataset.labels >= 0)[:, None]
        draw_energy(right, factorize(dataset.graph, one_hot - one_hot.mean(dim=0)), "classes", "#D55E00", "--")
        right.set(
            xlabel="Laplacian eigenvalue λ", ylabel="share of the energy at or below λ", xlim=(0, 2), ylim=(0, 1.02)
        )
        right.yaxis.set_major_formatter(PercentFormatter(1))
        right.set_title(f"{title(dataset)}: the signals")
        right.legend(frameon=False, loc="lower right")
    figure.savefig(path, dpi=150)


def draw_energy(axes: Axes, fact: Factorization, label: str, color: str, style: str) -> None:
    density = density_of(fact.tridiagonal)
    lam, order = density.lam.flatten().sort()
    share = density.energy.flatten()[order].double().cumsum(0) / density.energy.double().sum()
    axes.step([0, *lam.tolist(), 2], [0, *share.tolist(), 1], where="post", color=color, linestyle=style, label=label)


def title(dataset: NodeDataset) -> str:
    return f"{dataset.name}, homophily {edge_homophily(dataset.graph, dataset.labels):.2f}"


if __name__ == "__main__":
    main()
