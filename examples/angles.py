"""Draw the angles of single columns around the exact mean of a shared recurrence.

python examples/angles.py --data chameleon --out docs
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from unifilter import edge_homophily, factorize
from unifilter.datasets import load_dataset

# Okabe and Ito's colors can be told apart by the color-blind.
BLUE, ORANGE = "#0072B2", "#D55E00"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="digits", help="a data set; digits comes with the package")
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for the picture")
    parser.add_argument("--hops", type=int, default=10)
    arguments = parser.parse_args()

    dataset = load_dataset(arguments.data)
    homophily = edge_homophily(dataset.graph, dataset.labels)
    shared = factorize(dataset.graph, dataset.features, arguments.hops, channels="shared")
    found = shared.diagnostics(homophily)
    print(shared)
    print(found)

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    angle = found.channel_angle
    left.hist(angle, bins=60, color=BLUE, alpha=0.85)
    left.axvline(found.expected_angle, color=ORANGE, label=f"Theorem 4.3, {found.expected_angle:.1f}°")
    left.set(xlabel="mean angle between a column's vectors, degrees", ylabel="columns", title="Single columns")
    left.legend(frameon=False)
    hops = range(1, arguments.hops + 1)
    beside = found.angles[range(arguments.hops), hops]  # vector k - 1 with vector k
    low, middle, high = beside.quantile(beside.new_tensor([0.1, 0.5, 0.9]), dim=1)
    right.fill_between(hops, low, high, color=BLUE, alpha=0.2, linewidth=0, label="8 in 10 columns")
    right.plot(hops, middle, "o-", color=BLUE, label="median")
    right.axhline(found.expected_angle, color=ORANGE, label="Theorem 4.3, exact for all columns together")
    right.set(xlabel="hop k", ylabel="angle of $u_{k-1}$ and $u_k$, degrees", title="Neighboring vectors")
    right.set_ylim(0, 110)
    right.legend(frameon=False, loc="lower right")
    columns = f"{int((shared.norm > 0).sum()):,} columns"
    figure.suptitle(f"{dataset.name}: one recurrence for {columns}, h = {homophily:.2f}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / "shared.png"
    figure.savefig(path, dpi=110)
    print(f"picture: {path.resolve()}")


if __name__ == "__main__":
    main()
