"""Factor a built-in graph and draw its spectrum: what its signals are made of, and what each basis offers.

python examples/spectrum.py --out demo
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import networkx as nx
import torch

from unifilter import (
    Factorization,
    Graph,
    adjusted_homophily,
    density_of,
    edge_homophily,
    estimate_homophily,
    factorize,
)

# Okabe and Ito's colors can be told apart by the color-blind.
COLORS = {"homophily": "#0072B2", "heterophily": "#D55E00", "uni": "#009E73"}
MARKERS = {"homophily": "o", "heterophily": "s", "uni": "^"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for the picture")
    parser.add_argument("--hops", type=int, default=10)
    parser.add_argument("--tau", type=float, default=0.5)
    arguments = parser.parse_args()

    club = nx.karate_club_graph()
    graph = Graph.from_networkx(club, weight=None)
    labels = torch.tensor([int(club.nodes[node]["club"] == "Officer") for node in club])
    train = torch.arange(0, graph.num_nodes, 2)

    estimate = estimate_homophily(graph, labels, train)
    fact = factorize(graph, torch.eye(graph.num_nodes), arguments.hops)
    print(graph)
    print(f"edge homophily       {edge_homophily(graph, labels):.3f}")
    print(f"adjusted homophily   {adjusted_homophily(graph, labels):.3f}")
    print(f"estimated from half  {float(estimate):.3f} ± {estimate.standard_error:.3f}")
    print(fact)
    print(fact.diagnostics(float(estimate)))

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    draw_frequencies(left, fact, arguments.tau, float(estimate))
    draw_density(right, fact, factorize(graph, labels - labels.float().mean(), arguments.hops))
    figure.suptitle("Zachary's karate club: one factorization, every basis")
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / "spectrum.png"
    figure.savefig(path, dpi=150)
    print(f"picture: {path.resolve()}")


def draw_frequencies(axes: plt.Axes, fact: Factorization, tau: float, homophily: float) -> None:
    """Frequency of each basis vector: mean over the channels, band between the quartiles."""
    bases = {
        "homophily": ("homophily $P^k x$", {}),
        "heterophily": (f"heterophily $u_k$, h = {homophily:.2f}", {"homophily": homophily}),
        "uni": (f"UniBasis, τ = {tau:g}", {"tau": tau, "homophily": homophily}),
    }
    hops = range(fact.hops + 1)
    for name, (label, parameters) in bases.items():
        frequencies = fact.frequencies(name, **parameters)
        low, high = torch.quantile(frequencies, torch.tensor([0.25, 0.75]), dim=1)
        axes.fill_between(hops, low, high, color=COLORS[name], alpha=0.15, linewidth=0)
        axes.plot(hops, frequencies.mean(dim=1), color=COLORS[name], marker=MARKERS[name], markersize=5, label=label)
    axes.set(xlabel="hop k", ylabel="signal frequency f (0 smooth, 1 alternating)", ylim=(0, 1), title="Basis spectrum")
    axes.legend(frameon=False)


def draw_density(axes: plt.Axes, features: Factorization, labels: Factorization) -> None:
    """Share of a signal's energy below each Laplacian eigenvalue."""
    for name, fact, color, style in (
        ("node indicators (mean of all)", features, "#0072B2", "-"),
        ("labels", labels, "#D55E00", "--"),
    ):
        density = density_of(fact.tridiagonal)
        lam, order = density.lam.flatten().sort()
        share = density.energy.flatten()[order].cumsum(0) / density.energy.sum()
        edge = torch.tensor([0.0]), torch.tensor([2.0])
        axes.step(
            torch.cat([edge[0], lam, edge[1]]),
            torch.cat([torch.zeros(1), share, torch.ones(1)]),
            where="post",
            color=color,
            linestyle=style,
            label=name,
        )
    axes.set(
        xlabel="Laplacian eigenvalue λ",
        ylabel="share of energy at or below λ",
        xlim=(0, 2),
        ylim=(0, 1.02),
        title="Where the signals live",
    )
    axes.legend(frameon=False, loc="lower right")


if __name__ == "__main__":
    main()
