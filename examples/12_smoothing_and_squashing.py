"""
Over-smoothing and over-squashing, measured
===========================================

Two diseases of deep graph networks. *Over-smoothing*: after many hops all neighbors look alike. *Over-squashing*: the
signal of distant nodes hardly arrives. Both can be measured without training anything.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

from unifilter import dirichlet_energy, edge_homophily, factorize
from unifilter.datasets import load_dataset
from unifilter.datasets.synthetic import binary_tree

# %%
# Over-smoothing
# --------------
# The Dirichlet energy is the sum of squared differences along the edges. For the homophily basis (tau = 1) it falls
# towards what a constant signal leaves; any smaller tau keeps some.

karate = load_dataset("karate")
hops = 60
fact = factorize(karate.graph, torch.eye(34, dtype=torch.float64), hops=hops)
homophily = edge_homophily(karate.graph, karate.labels)
figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
for tau, color in ((0.2, "#0072B2"), (0.4, "#56B4E9"), (0.8, "#009E73"), (1.0, "#D55E00")):
    basis = fact.basis("uni", tau=tau, homophily=homophily)
    energy = [float(dirichlet_energy(karate.graph, vectors)) for vectors in basis]
    axes.semilogy(energy, color=color, label=f"tau = {tau}")
    print(f"tau {tau}: energy {energy[0]:.3f} at hop 0, {energy[-1]:.4f} at hop {hops}")
axes.set(xlabel="hop k", ylabel="Dirichlet energy", title="Over-smoothing on the karate club")
axes.legend(frameon=False, ncols=2)
plt.show()

# %%
# The paper's Theorem 5.2 says that the energy tends to ``(1 - tau) E(X)``. It stays above zero, but the limit is
# another one: see the table of claims on the page of results.
#
# Over-squashing
# --------------
# How much does the signal of a node at distance k move the result at hop k? On a binary tree the derivative of
# :math:`P^k x` is an entry of :math:`P^k`, and it falls exponentially.

tree = binary_tree(depth=7)
propagation = tree.graph.propagation_matrix(torch.float64).to_dense()
distance = torch.full_like(propagation, -1)
reached = torch.eye(tree.num_nodes, dtype=torch.float64)
for k in range(11):
    distance[(reached > 0) & (distance < 0)] = k
    reached = reached @ (propagation > 0).double() + reached
smooth = [float(torch.linalg.matrix_power(propagation, k)[distance == k].mean()) for k in range(1, 11)]

# %%
# The heterophily vector :math:`u_k` depends on the signal in two ways, through the graph and through its own direction.
# Automatic differentiation sees both.


def heterophily_vector(x, hop, cosine):
    """The last vector of the heterophily basis, in plain torch, so that derivatives go through."""
    vectors, total = [x / x.norm()], x / x.norm()
    for k in range(1, hop + 1):
        following = propagation @ vectors[-1]
        for earlier in vectors[:-3:-1]:
            following = following - (following @ earlier) * earlier
        vectors.append(following / following.norm())
        spread = 1 + (k - 1) * cosine
        last = cosine / spread * total + (1 - k * cosine**2 / spread) ** 0.5 * vectors[-1]
        total = total + last
    return last


torch.manual_seed(0)
cosine = float(np.cos((1 - edge_homophily(tree.graph, tree.labels)) * np.pi / 2))
x = torch.randn(tree.num_nodes, dtype=torch.float64)
x = x / x.norm()
rotated = []
for k in range(1, 11):
    jacobian = torch.autograd.functional.jacobian(lambda s, k=k: heterophily_vector(s, k, cosine), x, vectorize=True)
    rotated.append(float(jacobian[distance == k].abs().mean()))

figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
axes.semilogy(range(1, 11), smooth, marker="o", color="#D55E00", label="homophily basis, $P^k x$")
axes.semilogy(range(1, 11), rotated, marker="s", color="#0072B2", label="heterophily basis, $u_k$")
axes.set(xlabel="distance k", ylabel="mean derivative", title="Over-squashing on a binary tree")
axes.legend(frameon=False)
plt.show()
falls = smooth[0] / smooth[-1], rotated[0] / rotated[-1]
print(f"from k = 1 to 10: homophily basis 1/{falls[0]:,.0f}, heterophily basis 1/{falls[1]:.0f}")

# %%
# The heterophily basis weakens the decay by orders of magnitude. It does not remove it, as Theorem 5.3 has it.
