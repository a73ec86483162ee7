"""
A basis of your own in one file
===============================

A polynomial family is one method: its recurrence. Once registered, it works for coefficients, frequencies, classifiers
and model files like the families that ship with the package.
"""

from collections.abc import Iterator

import matplotlib.pyplot as plt
import torch
from torch import Tensor

from unifilter import NodeClassifier, factorize, register_basis
from unifilter.bases.base import Multiply, PolynomialBasis
from unifilter.datasets import load_dataset

# %%
# The recurrence
# --------------
# Chebyshev polynomials of the second kind, :math:`U_{k+1} = 2 P U_k - U_{k-1}`. ``multiply`` is whatever plays the part
# of the matrix: the graph, the small tridiagonal, or a single eigenvalue.


class SecondKind(PolynomialBasis):
    """Chebyshev polynomials of the second kind."""

    def sequence(self, multiply: Multiply, start: Tensor, hops: int) -> Iterator[Tensor]:
        previous, current = start, 2 * multiply(start)
        yield previous
        yield current
        for _ in range(1, hops):
            previous, current = current, 2 * multiply(current) - previous
            yield current


register_basis("second_kind", SecondKind)

# %%
# Look at it
# ----------
# ``evaluate`` gives the polynomials over the Laplacian eigenvalues.

lam = torch.linspace(0, 2, 201)
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
for hop, values in enumerate(SecondKind().evaluate(lam, hops=5)):
    axes.plot(lam, values, label=f"k = {hop}")
axes.set(xlabel="Laplacian eigenvalue λ", ylabel="U_k(1 - λ)", title="Chebyshev polynomials of the second kind")
axes.legend(frameon=False, ncols=3)
plt.show()

# %%
# Use it
# ------
# From one factorization, without touching the graph again, and in a classifier.

digits = load_dataset("digits")
fact = factorize(digits.graph, digits.features, hops=5)
print("basis:", tuple(fact.basis("second_kind").shape))
print("mean frequency of each vector:", fact.frequencies("second_kind").nanmean(dim=1).numpy().round(2))

split = digits.split("stratified", 0)
settings = {"hops": 5, "epochs": 30, "lr": 0.01, "dropout": 0.3, "batch_norm": False}
for basis in ("second_kind", "chebyshev", "uni"):
    clf = NodeClassifier("unifilter", basis=basis, **settings)
    clf.fit(digits.graph, digits.features, digits.labels, train=split.train, val=split.val)
    print(f"{basis:12} validation accuracy {clf.score(digits.labels, split.val):.3f}")
