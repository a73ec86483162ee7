"""
See what a filter learned
=========================

A filter is a function of the graph's frequencies. After training it can be drawn: which frequencies it keeps, which it
cancels, and where features and labels have their energy.
"""

import matplotlib.pyplot as plt
import numpy as np

from unifilter import UniFilterClassifier
from unifilter.datasets.synthetic import contextual_sbm
from unifilter.explanation import explain, explain_node, feature_importance

# %%
# Two graphs, one method
# ----------------------
# In the first graph most edges join nodes of one class; in the second most join different ones. Features are noisy, so
# that the neighbors matter.

graphs = {
    "homophilous": contextual_sbm(800, 2, homophily=0.85, num_features=12, signal=0.8),
    "heterophilous": contextual_sbm(800, 2, homophily=0.15, num_features=12, signal=0.8),
}
trained = {}
for name, data in graphs.items():
    split = data.split("stratified", 0)
    clf = UniFilterClassifier(hops=6, epochs=150, lr=0.01, filter_lr=0.05, dropout=0.3, batch_norm=False)
    clf.fit(data.graph, data.features, data.labels, train=split.train, val=split.val)
    trained[name] = clf
    score = clf.score(data.labels, split.test)
    print(f"{name}: test accuracy {score:.2f}, estimated homophily {clf.homophily_:.2f}")

# %%
# The filters
# -----------
# ``filter_response`` gives the learned filter of each feature column at Laplacian eigenvalues between 0 (smooth) and 2
# (alternating). Its sign does not matter, for the MLP behind it can turn it.

lam = np.linspace(0, 2, 101)
figure, panels = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
for axes, (name, clf) in zip(panels, trained.items(), strict=True):
    response = clf.filter_response(lam)
    axes.axhline(0, color="0.6", linewidth=0.8)
    axes.plot(lam, response, color="#0072B2", alpha=0.25, linewidth=1)
    axes.plot(lam, np.median(response, axis=1), color="#D55E00", linewidth=2, label="median over the features")
    low, high = np.quantile(response[10:-10], [0, 1])
    axes.set(xlabel="Laplacian eigenvalue λ", ylabel="response", title=name, ylim=(low - 0.3, high + 0.3))
    axes.legend(frameon=False)
plt.show()

# %%
# In words
# --------
# ``explain`` says where the labels live. ``to_html`` writes a page with sliders that needs neither server nor network.

for clf in trained.values():
    explanation = explain(clf)
    print(*explanation.verdict[:2], sep="\n", end="\n\n")
page = explanation.to_html()
print(f"the page has {len(page) / 1e6:.1f} MB")

# %%
# One node
# --------
# The filter is linear, so what hops, features and nodes contribute to one decision is known exactly.

view = explain_node(clf, 5)
print(view)
print("hops:", view.by_hop.round(2))
print("nodes that count most:", [(node, round(value, 2)) for node, value in view.top_nodes(4)])

# %%
# All nodes
# ---------
# Averaged over the graph: the features that matter to the model.

data = graphs["heterophilous"]
found = feature_importance(clf.model_, data.graph, data.features)
print([(name, round(value, 2)) for name, value in found.top_features(3)])
