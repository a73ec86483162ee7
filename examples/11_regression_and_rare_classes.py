"""
Regression and imbalanced classes
=================================

Two jobs beside plain classification: predicting numbers, with intervals that hold the truth, and finding a rare class,
where accuracy says nothing.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from unifilter import Graph, UniFilterClassifier, UniFilterRegressor
from unifilter.estimators import NothingLearnedWarning

# %%
# A network of accounts
# ---------------------
# One account in twelve is a fraud. Frauds send money to ordinary accounts, so the graph is heterophilous for them, and
# their volume is higher.

rng = np.random.default_rng(0)
size = 900
fraud = rng.random(size) < 1 / 12
volume = rng.normal(6 + 1.2 * fraud, 1)
x = np.column_stack([rng.normal(0.8 * fraud, 1), rng.normal(0, 1, size), rng.normal(volume, 1)])
pairs = rng.integers(size, size=(2, 9000))
keep = rng.random(9000) < np.where(
    fraud[pairs[0]] & fraud[pairs[1]], 0.02, 0.3 + 0.7 * (fraud[pairs[0]] ^ fraud[pairs[1]])
)
graph = Graph.from_edges(pairs[:, keep], num_nodes=size)
labels = np.where(fraud, "fraud", "fine")
order = rng.permutation(size)
train, val, test = order[:540], order[540:720], order[720:]

# %%
# A rare class
# ------------
# The plain model can be right nine times in ten by saying "fine". ``class_weight="balanced"`` lets both classes count
# alike in the loss, and ``metric`` chooses the epoch by a score that does the same.

settings = {"hops": 3, "epochs": 80, "lr": 0.01, "dropout": 0.2, "batch_norm": False, "features": "standard"}
warnings.simplefilter("ignore", NothingLearnedWarning)  # it is printed below
plain = UniFilterClassifier(**settings).fit(graph, x, labels, train=train, val=val)
balanced = UniFilterClassifier(**settings, class_weight="balanced", metric="balanced_accuracy")
balanced.fit(graph, x, labels, train=train, val=val)
for name, clf in (("plain", plain), ("balanced", balanced)):
    report = clf.evaluate(labels, test)
    found = np.mean(clf.predict(test)[fraud[test]] == "fraud")
    print(
        f"{name:9} accuracy {report.accuracy:.2f} (always fine: {report.majority_accuracy:.2f}), "
        f"balanced accuracy {report.balanced_accuracy:.2f}, frauds found {found:.0%}"
    )

print("plain:", plain.model_.nothing_learned or "it has learned something")

# %%
# Numbers
# -------
# A regressor predicts numbers. ``predict_interval`` gives an interval for each node that holds the true value for nine
# nodes of ten.

reg = UniFilterRegressor(hops=3, epochs=120).fit(graph, x, volume, train=train, val=val)
print(f"R² on the test nodes: {reg.score(volume, test):.2f}")
low, high = reg.predict_interval(alpha=0.1, nodes=test).T
print(f"inside the interval: {np.mean((low <= volume[test]) & (volume[test] <= high)):.0%}")

figure, axes = plt.subplots(figsize=(5.4, 4.6), layout="constrained")
middle = reg.predict(test)
axes.errorbar(
    volume[test], middle, [middle - low, high - middle], fmt="o", ms=3, alpha=0.4, elinewidth=0.6, color="#0072B2"
)
axes.plot([3, 10], [3, 10], color="0.4", linestyle="--")
axes.set(xlabel="true volume (log)", ylabel="predicted, with 90 % interval", title="Predictions of the regressor")
plt.show()
