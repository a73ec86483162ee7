"""
A graph that does not fit in memory
===================================

The vectors of a factorization have nodes x columns x (hops + 1) entries, which can be more than a machine holds. Then
they are written to a folder, some columns at a time, and read back row by row. The graph itself is mapped from the
disk.

The graph here is small, so that the example runs in seconds; the calls are those for a large one.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from unifilter import Graph, NodeClassifier, factorize
from unifilter.datasets.synthetic import contextual_sbm

folder = Path(tempfile.mkdtemp())
data = contextual_sbm(3000, num_classes=3, homophily=0.2, average_degree=10, num_features=96, signal=1.5, seed=0)

# %%
# A graph on the disk
# -------------------
# ``Graph.save`` writes arrays that ``Graph.open`` maps: parts come into memory when they are used. An edge list that is
# itself too large is sorted on the disk by ``unifilter data convert``.

data.graph.save(folder / "graph")
graph = Graph.open(folder / "graph")
np.save(folder / "features.npy", data.features.numpy())
print(graph)

# %%
# Vectors on the disk
# -------------------
# The features are read from their file block by block. ``memory_limit`` is what this process may take; an interrupted
# call goes on where it stopped.

hops = 8
fact = factorize(graph, folder / "features.npy", hops, store=folder / "store", memory_limit="4GB")
size = sum(path.stat().st_size for path in (folder / "store").rglob("*") if path.is_file())
print(fact)
print(f"{size / 2**20:.0f} MiB on the disk")

# %%
# Frequencies come from the tridiagonals, which are small, so no vector is read for this picture.

figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
for tau, color in ((0.0, "#D55E00"), (0.5, "#009E73"), (1.0, "#0072B2")):
    mean = fact.frequencies("uni", tau=tau, homophily=0.2).nanmean(dim=1)
    axes.plot(mean, marker="o", color=color, label=f"tau = {tau}")
axes.set(xlabel="hop k", ylabel="mean frequency", title="From the tridiagonals alone")
axes.legend(frameon=False)
plt.show()

# %%
# Rows of some nodes
# ------------------
# Training reads the rows of the training nodes only.

rows = fact.vectors_of([0, 1, 2])
print(tuple(rows.shape), "vectors, nodes, columns")

# %%
# A classifier from the disk
# --------------------------
# ``memory_limit`` of ``fit`` does all of this: what exceeds it is trained on from the disk.

split = data.split("stratified", 0)
settings = {"hops": 4, "epochs": 10, "lr": 0.01, "dropout": 0.3, "batch_norm": False, "tau": 0.5}
clf = NodeClassifier("unifilter", **settings)
clf.fit(data.graph, data.features, data.labels, train=split.train, val=split.val, memory_limit="4GB")
print(f"test accuracy {clf.score(data.labels, split.test):.2f}")
