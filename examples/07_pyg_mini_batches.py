"""
UniBasis in a PyG training loop
===============================

For PyG users: compute the basis once as a transform, then train on mini-batches of nodes. No neighbor sampling is
needed, because the rows of the basis are independent of each other.
"""

import matplotlib.pyplot as plt
import torch
from torch.utils.data import DataLoader, TensorDataset

from unifilter.datasets import load_dataset
from unifilter.nn import UniFilter
from unifilter.transforms import UniBasis

# %%
# A Data object with a basis
# --------------------------
# ``UniBasis`` estimates the homophily from the labels of ``train_mask`` and adds ``data.basis``, one block of
# ``hops + 1`` rows per node.

torch.manual_seed(0)
digits = load_dataset("digits")
split = digits.split("stratified", 0)
data = digits.to_data()
data.train_mask = torch.zeros(digits.num_nodes, dtype=torch.bool)
data.train_mask[torch.as_tensor(split.train)] = True
data = UniBasis(hops=5, tau=0.8)(data)
print(data)

# %%
# A training loop
# ---------------
# The model takes rows of the basis in place of features and edges. Everything else is ordinary PyTorch.

train, test = data.train_mask, torch.as_tensor(split.test)
loader = DataLoader(TensorDataset(data.basis[train], data.y[train]), batch_size=128, shuffle=True)
model = UniFilter(digits.num_features, digits.num_classes, hops=5, hidden_channels=64)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

losses, scores = [], []
for _ in range(12):
    model.train()
    for rows, labels in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(rows), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        scores.append((model(data.basis[test]).argmax(dim=1) == data.y[test]).float().mean().item())
print(f"test accuracy {scores[-1]:.2f} after {len(scores)} epochs of {len(loader)} batches")

# %%
# The weights of the hops show how far the filter looks.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
left.plot(losses, color="#0072B2")
left.set(xlabel="batch", ylabel="loss", title="Training")
right.bar(range(6), model.weights.detach(), color="#D55E00")
right.set(xlabel="hop k", ylabel="learned weight", title="The learned filter")
plt.show()
