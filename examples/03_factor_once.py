"""
Factor once: a tau sweep without sparse products
================================================

The published algorithm multiplies by the graph again for each value of ``tau``. Here the graph is multiplied once per
hop, and every basis after that is a product of small matrices.
"""

import matplotlib.pyplot as plt
import numpy as np

from unifilter import UniFilterClassifier, factorize
from unifilter.datasets import load_dataset

digits = load_dataset("digits")

# %%
# One factorization
# -----------------
# ``factorize`` is the only step that sees the edges. What it returns is the Lanczos vectors and one small tridiagonal
# matrix per feature column.

fact = factorize(digits.graph, digits.features, hops=10)
print(fact)

# %%
# Many bases
# ----------
# The frequency of every basis vector for 21 values of tau and three homophilies: 63 bases.

taus = np.linspace(0, 1, 21)
frequencies = {
    h: np.array([fact.frequencies("uni", tau=tau, homophily=h).nanmean(dim=1).numpy() for tau in taus])
    for h in (0.1, 0.5, 0.9)
}

figure, panels = plt.subplots(1, 3, figsize=(10, 3.4), sharey=True, layout="constrained")
for axes, (h, values) in zip(panels, frequencies.items(), strict=True):
    picture = axes.imshow(values.T, origin="lower", aspect="auto", extent=(0, 1, -0.5, 10.5), vmin=0, vmax=0.6)
    axes.set(xlabel="tau", title=f"homophily {h}")
panels[0].set_ylabel("hop k")
figure.colorbar(picture, ax=panels, label="frequency (0 smooth, 1 alternating)")
plt.show()

# %%
# With tau = 1 all homophilies give the same basis, the smooth one. With tau = 0 the basis keeps higher frequencies at
# every hop, more of them where homophily is low.
#
# A sweep of a classifier
# -----------------------
# ``sweep`` fits every value on the data of the last ``fit`` and shares its factorization. Scores are those of the
# validation nodes: choose by them, never by test nodes.

split = digits.split("stratified", 0)
settings = {"hops": 10, "epochs": 30, "lr": 0.01, "dropout": 0.3, "batch_norm": False}
clf = UniFilterClassifier(tau=0.5, **settings)
clf.fit(digits.graph, digits.features, digits.labels, train=split.train, val=split.val)
rows = clf.sweep(tau=[0.0, 0.25, 0.5, 0.75, 1.0])
for row in rows:
    print(f"tau {row.settings['tau']:.2f}: {row.val_score:.3f} on the validation nodes")
