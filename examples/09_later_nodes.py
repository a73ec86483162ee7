"""
Predictions for nodes that came later
=====================================

A trained model is a filter and an MLP: it can be applied to a graph that has grown. The model file holds data only, is
never unpickled, and carries a digest of its content.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from unifilter import Graph, UniFilterClassifier
from unifilter.datasets import load_dataset

# %%
# Train on the first two thirds
# -----------------------------
# Pretend that the last third of the digits did not exist yet: neither the nodes nor their edges are known.

digits = load_dataset("digits")
edges = digits.to_data().edge_index
now = 1200


def first(size):
    """The graph of the first nodes."""
    return Graph.from_edges(edges[:, (edges < size).all(dim=0)], num_nodes=size)


early = first(now)
settings = {"hops": 4, "epochs": 60, "lr": 0.01, "dropout": 0.3, "batch_norm": False}
clf = UniFilterClassifier(**settings).fit(early, digits.features[:now], digits.labels[:now])
path = Path(tempfile.mkdtemp()) / "digits.unifilter"
clf.save(path)
print(f"{path.name}: {path.stat().st_size / 1024:.0f} KB")

# %%
# Predict on the grown graph
# --------------------------
# The file can be loaded in another process or on another machine. ``predict`` takes the graph as it is now.

model = UniFilterClassifier.load(path)
predicted = model.predict(graph=digits.graph, x=digits.features)
labels = digits.labels.numpy()
print(f"nodes that were there: {np.mean(predicted[:now] == labels[:now]):.1%}")
print(f"nodes that came later: {np.mean(predicted[now:] == labels[now:]):.1%}")

# %%
# How fast does it age?
# ---------------------
# The accuracy of the newcomers, as more and more of them arrive.

sizes = np.arange(1300, digits.num_nodes + 1, 100)
accuracy = []
for size in sizes:
    late = model.predict(graph=first(size), x=digits.features[:size])[now:]
    accuracy.append(np.mean(late == labels[now:size]))
figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
axes.plot(sizes, accuracy, marker="o", color="#0072B2")
axes.set(
    xlabel="nodes in the graph", ylabel="accuracy of the newcomers", ylim=(0, 1.02), title="Trained on 1,200 nodes"
)
plt.show()

# %%
# Methods with a weight for every node, such as LINKX, cannot do this and say so when they are asked.
