"""
Your first graph from CSV
=========================

Two tables are enough: one line per node, one line per edge. This example writes a small club of readers into two CSV
files, reads them back, trains a classifier and predicts the members whose favorite is unknown.
"""

# %%
# The two tables
# --------------
# ``nodes.csv`` needs an ``id``. A column ``label`` holds the class where it is known; every other column becomes
# features. ``edges.csv`` needs ``source`` and ``target``. Here friends mostly share a favorite.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
names = [f"reader-{number}" for number in range(300)]
favorite = rng.choice(["crime", "poetry", "science"], size=300)

nodes = pd.DataFrame({"id": names})
nodes["age"] = (25 + 12 * (favorite == "poetry") + rng.normal(0, 12, 300)).round()
nodes["books a year"] = rng.poisson(6 + 6 * (favorite == "crime"))
nodes["city"] = rng.choice(["Bonn", "Rome", "Oslo"], 300)
nodes["label"] = np.where(rng.random(300) < 0.7, favorite, None)

friends = []
while len(friends) < 900:
    one, other = rng.integers(300, size=2)
    if one != other and (favorite[one] == favorite[other] or rng.random() < 0.15):
        friends.append((names[one], names[other]))
edges = pd.DataFrame(friends, columns=["source", "target"])

folder = Path(tempfile.mkdtemp()) / "readers"
folder.mkdir()
nodes.to_csv(folder / "nodes.csv", index=False)
edges.to_csv(folder / "edges.csv", index=False)
print(nodes.head(3), edges.head(3), sep="\n\n")

# %%
# Read them
# ---------
# :func:`~unifilter.datasets.load_dataset` takes the folder. It counts edges that are listed twice, and complains about
# every mistake of the files at once.

from unifilter.datasets import load_dataset

readers = load_dataset(folder)
print(readers.graph)
print(f"{readers.num_classes} classes, {readers.num_features} columns")

# %%
# Train and judge
# ---------------
# A stratified split keeps the share of every class. ``evaluate`` sets each score beside what a constant answer would
# reach.

from unifilter import UniFilterClassifier

split = readers.split()
labels = nodes["label"]
clf = UniFilterClassifier(hops=4, epochs=100)
clf.fit(readers.graph, readers.table, labels, train=split.train, val=split.val)
print(clf.evaluate(labels, split.test))
print(f"estimated homophily: {clf.homophily_:.2f}")

# %%
# Predict the others
# ------------------
# The members without a label get a class and a probability.

unknown = np.flatnonzero(nodes["label"].isna())
predicted, probability = clf.predict(unknown), clf.predict_proba(unknown).max(axis=1)
print(
    pd.DataFrame({"id": nodes["id"].iloc[unknown], "favorite": predicted, "probability": probability.round(2)}).head()
)
print(f"right: {np.mean(predicted == favorite[unknown]):.0%}")

# %%
# The same from the shell: ``unifilter train readers`` and ``unifilter predict``.

graph = nx.from_pandas_edgelist(edges)
place = nx.spring_layout(graph, seed=1, iterations=30)
everyone = dict(zip(names, clf.predict(), strict=True))
palette = {"crime": "#0072B2", "poetry": "#D55E00", "science": "#009E73"}
figure, axes = plt.subplots(figsize=(7, 5))
nx.draw_networkx_edges(graph, place, ax=axes, alpha=0.15)
for name, color in palette.items():
    members = [node for node in graph if everyone[node] == name]
    nx.draw_networkx_nodes(graph, place, members, node_size=30, node_color=color, label=name, ax=axes)
axes.legend(frameon=False)
axes.set_title("Predicted favorites")
axes.axis("off")
plt.show()
