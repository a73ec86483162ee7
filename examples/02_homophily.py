"""
Is my graph homophilous?
========================

Four measures answer the question, and they can disagree. This example shows on generated graphs what each of them
hides: unequal classes make edge homophily high by chance.
"""

import matplotlib.pyplot as plt
import numpy as np

from unifilter import Graph, adjusted_homophily, class_homophily, edge_homophily, estimate_homophily, node_homophily
from unifilter.datasets import load_dataset
from unifilter.datasets.synthetic import contextual_sbm

MEASURES = {
    "edge": edge_homophily,
    "node": node_homophily,
    "class": class_homophily,
    "adjusted": adjusted_homophily,
}


def measure(graph, labels):
    return {name: float(one(graph, labels)) for name, one in MEASURES.items()}


# %%
# A graph whose edges mean nothing
# --------------------------------
# Edges are drawn at random, independently of the labels. In the first graph both classes are equally frequent, in the
# second nine nodes of ten are in one class.

rng = np.random.default_rng(0)
random_graph = Graph.from_edges(rng.integers(1000, size=(2, 5000)), num_nodes=1000)
equal = rng.integers(2, size=1000)
unequal = (rng.random(1000) < 0.1).astype(int)

rows = {
    "random edges, equal classes": measure(random_graph, equal),
    "random edges, 90 % in one class": measure(random_graph, unequal),
}
for homophily in (0.9, 0.1):
    made = contextual_sbm(1000, num_classes=4, homophily=homophily)
    rows[f"generated, {homophily:.0%} of the edges inside a class"] = measure(made.graph, made.labels)
for name in ("karate", "digits"):
    data = load_dataset(name)
    rows[name] = measure(data.graph, data.labels)

print(f"{'':45}" + "".join(f"{name:>10}" for name in MEASURES))
for name, values in rows.items():
    print(f"{name:45}" + "".join(f"{value:10.2f}" for value in values.values()))

# %%
# Read the second line: edge homophily says 0.8 although the edges carry no information. *Adjusted* homophily is 0
# there, and so is class homophily. Use edge homophily to set the angle of the basis, for that is its definition, and
# adjusted homophily to judge the graph.

figure, axes = plt.subplots(figsize=(8, 3.8), layout="constrained")
places = np.arange(len(rows))
for number, (name, color) in enumerate(zip(MEASURES, ("#0072B2", "#56B4E9", "#009E73", "#D55E00"), strict=True)):
    axes.barh(places + 0.2 * (number - 1.5), [values[name] for values in rows.values()], 0.2, label=name, color=color)
axes.axvline(0, color="0.4", linewidth=0.8)
axes.set_yticks(places, rows)
axes.invert_yaxis()
axes.set(xlabel="homophily", title="Four measures on six graphs")
axes.legend(frameon=False, loc="lower right")
plt.show()

# %%
# From training labels only
# -------------------------
# The homophily of the whole graph uses the test labels. An estimate from the training nodes comes with a standard
# error, which tells how far to trust it.

digits = load_dataset("digits")
for share in (0.02, 0.1, 0.5):
    train = rng.permutation(digits.num_nodes)[: int(share * digits.num_nodes)]
    estimate = estimate_homophily(digits.graph, digits.labels, train)
    print(f"{share:4.0%} of the labels: {float(estimate):.3f} ± {estimate.standard_error:.3f}")
print(f"all labels: {edge_homophily(digits.graph, digits.labels):.3f}")
