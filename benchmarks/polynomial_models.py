"""An epoch of the models that filter logits, against the same models written over PyG's message passing.

An epoch is a training step and a validation pass at the published settings. The other side multiplies edge by edge and
reads dense features, as the authors' scripts do: BernNet with its 65 products. It may normalize its edges once, outside
the clock. Citeseer is there for its many features, of which ours reads those that are not zero.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn import MessagePassing
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import add_self_loops, get_laplacian

from benchmarks.report import Report, print_table, seconds
from benchmarks.timing import interleaved
from unifilter.bases.chebyshev_interpolation import interpolation_matrix
from unifilter.datasets import load_dataset
from unifilter.methods import Learner, Method, Problem, Workspace, find_method
from unifilter.training.trainer import _one_epoch, _validate

GRAPHS = ("squirrel", "pubmed", "citeseer")
# How many times faster an epoch should be.
_TARGETS = {"bernnet": 6.0, "chebnetii": 1.5, "gprgnn": 1.5, "jacobiconv": 1.5}
# Enough that starting and stopping the clock does not count.
_EPOCHS_PER_RUN = 3


def run_polynomial_models(repeats: int, report: Report) -> None:
    if not os.environ.get("UNIFILTER_DATA"):
        print("\nPolynomial models: skipped, set UNIFILTER_DATA to a folder with npz/ and planetoid/ to measure them")
        return
    for name in GRAPHS:
        dataset = load_dataset(name)
        split = dataset.split("60", 0)
        problem = Problem(Workspace(dataset), split.train, split.val)
        rows = []
        for method_name, target in _TARGETS.items():
            epochs = _contenders(find_method(method_name).preset(name), problem)
            times = interleaved({side: lambda run=run: _several(run) for side, run in epochs.items()}, repeats)
            ours, theirs = (times[side].best / _EPOCHS_PER_RUN for side in ("ours", "PyG"))
            check = report.at_least(f"{name}: {method_name} over PyG / ours, one epoch", theirs / ours, target)
            rows.append([method_name, seconds(ours), seconds(theirs), check])
            report.figures.setdefault("polynomial models", {}).setdefault(name, {})[method_name] = {
                "ours": ours,
                "PyG": theirs,
            }
        print_table(f"One epoch on {dataset!r}", ["model", "ours", "over PyG", "over PyG / ours"], rows)


def _several(epoch: Callable[[], object]) -> None:
    for _ in range(_EPOCHS_PER_RUN):
        epoch()


def _contenders(method: Method, problem: Problem) -> dict[str, Callable[[], object]]:
    torch.manual_seed(0)
    learner = method.build(problem)
    theirs = _over_pyg(method, problem)
    _check_same(learner, theirs, method, problem)
    # The same groups, with the parameters of the other side.
    named = dict(theirs.named_parameters())
    name_of = {id(parameter): name for name, parameter in learner.model.named_parameters()}
    groups = [
        {**group, "params": [named[name_of[id(parameter)]] for parameter in group["params"]]}
        for group in learner.parameter_groups
    ]
    return {
        "ours": epoch_of(learner.model, learner.forward, learner.parameter_groups, problem),
        "PyG": epoch_of(theirs, theirs, groups, problem),
    }


def epoch_of(
    model: nn.Module, forward: Callable[[Tensor], Tensor], groups: list[dict], problem: Problem
) -> Callable[[], object]:
    """A training step and a validation pass."""
    optimizer = torch.optim.Adam(groups)
    train, val = torch.as_tensor(problem.train), torch.as_tensor(problem.val)
    task = problem.task

    def run() -> object:
        _one_epoch(model, forward, task, train, optimizer, None)
        return _validate(model, forward, task, val, "accuracy")

    run()  # what is compiled or allocated on first use
    return run


def _check_same(learner: Learner, theirs: nn.Module, method: Method, problem: Problem) -> None:
    """With the same weights and nothing dropped, the two sides say the same of the nodes that are validated."""
    started = {name: value.clone() for name, value in learner.model.state_dict().items()}
    with torch.no_grad():
        for name, parameter in learner.model.named_parameters():
            if name in ("filter_weights", "eta", "beta"):  # not the identity, which is the same in every basis
                parameter.uniform_(0.2, 1)
    theirs.load_state_dict(learner.model.state_dict())
    nodes = torch.as_tensor(problem.val)
    learner.model.eval()
    theirs.eval()
    with torch.no_grad():
        expected, ours = theirs(nodes), learner.forward(nodes)
    error = torch.linalg.vector_norm(expected - ours) / torch.linalg.vector_norm(expected)
    if not error < 1e-4:
        raise RuntimeError(f"{method.name} over PyG and ours differ by {error:.1e}: there is nothing to compare")
    for model in (learner.model, theirs):
        model.load_state_dict(started)


def _over_pyg(method: Method, problem: Problem) -> nn.Module:
    graph, x = problem.workspace.graph(), problem.workspace.features(method.features)
    sources = torch.repeat_interleave(torch.arange(graph.num_nodes), graph.row_start.diff())
    edge_index = torch.stack([sources, graph.neighbors.long()])
    settings = method.settings()
    if method.name == "jacobiconv":
        return JacobiConvOverPyG(x, edge_index, problem.task.num_outputs, settings)
    kind = {"gprgnn": MonomialFilter, "chebnetii": InterpolationFilter, "bernnet": BernsteinFilter}[method.name]
    return DecoupledOverPyG(x, problem.task.num_outputs, settings, kind(edge_index, graph.num_nodes, settings["hops"]))


class EdgeProduct(MessagePassing):
    """Products with a sparse matrix, an edge at a time."""

    def __init__(self) -> None:
        super().__init__(aggr="add")

    def message(self, x_j: Tensor, norm: Tensor) -> Tensor:
        return norm.view(-1, 1) * x_j


class MonomialFilter(EdgeProduct):
    """GPR-GNN."""

    def __init__(self, edge_index: Tensor, num_nodes: int, hops: int) -> None:
        super().__init__()
        self.edges, self.norm = gcn_norm(edge_index, None, num_nodes, dtype=torch.float32)

    def forward(self, x: Tensor, weights: Tensor) -> Tensor:
        total = weights[0] * x
        for weight in weights[1:]:
            x = self.propagate(self.edges, x=x, norm=self.norm)
            total = total + weight * x
        return total


class InterpolationFilter(EdgeProduct):
    """ChebNetII."""

    def __init__(self, edge_index: Tensor, num_nodes: int, hops: int) -> None:
        super().__init__()
        self.edges, norm = get_laplacian(edge_index, None, "sym", torch.float32, num_nodes)
        loops = self.edges[0] == self.edges[1]
        self.edges, self.norm = self.edges[:, ~loops], norm[~loops]  # L - I
        self.matrix = interpolation_matrix(hops).float()

    def forward(self, x: Tensor, weights: Tensor) -> Tensor:
        coefficients = torch.relu(weights) @ self.matrix
        previous, current = x, self.propagate(self.edges, x=x, norm=self.norm)
        total = coefficients[0] * previous + coefficients[1] * current
        for coefficient in coefficients[2:]:
            previous, current = current, 2 * self.propagate(self.edges, x=current, norm=self.norm) - previous
            total = total + coefficient * current
        return total


class BernsteinFilter(EdgeProduct):
    """BernNet: all powers of 2I - L, then each of them times its power of L."""

    def __init__(self, edge_index: Tensor, num_nodes: int, hops: int) -> None:
        super().__init__()
        self.low = get_laplacian(edge_index, None, "sym", torch.float32, num_nodes)
        self.high = add_self_loops(self.low[0], -self.low[1], fill_value=2.0, num_nodes=num_nodes)
        self.hops = hops

    def forward(self, x: Tensor, weights: Tensor) -> Tensor:
        theta = torch.relu(weights)
        powers = [x]
        for _ in range(self.hops):
            powers.append(self.propagate(self.high[0], x=powers[-1], norm=self.high[1]))
        total = torch.zeros_like(x)
        for k in range(self.hops + 1):
            term = powers[self.hops - k]
            for _ in range(k):
                term = self.propagate(self.low[0], x=term, norm=self.low[1])
            total = total + math.comb(self.hops, k) / 2**self.hops * theta[k] * term
        return total


class DecoupledOverPyG(nn.Module):
    """Dropout, linear, ReLU, dropout, linear, dropout, filter."""

    def __init__(self, x: Tensor, num_classes: int, settings: dict, product: EdgeProduct) -> None:
        super().__init__()
        self.x, self.product = x, product
        self.rates = settings["dropout"], settings["filter_dropout"]
        hidden = settings["hidden_channels"]
        self.layers = nn.ModuleList([nn.Linear(x.shape[1], hidden), nn.Linear(hidden, num_classes)])
        self.filter_weights = nn.Parameter(torch.empty(settings["hops"] + 1))

    def forward(self, nodes: Tensor) -> Tensor:
        in_mlp, before_filter = self.rates
        x = functional.dropout(self.x, in_mlp, self.training)
        x = functional.dropout(torch.relu(self.layers[0](x)), in_mlp, self.training)
        x = functional.dropout(self.layers[1](x), before_filter, self.training)
        return self.product(x, self.filter_weights)[nodes]


class JacobiConvOverPyG(EdgeProduct):
    """JacobiConv, its factors inside the recurrence."""

    def __init__(self, x: Tensor, edge_index: Tensor, num_classes: int, settings: dict) -> None:
        super().__init__()
        self.x, self.settings = x, settings
        self.edges, self.norm = gcn_norm(edge_index, None, len(x), add_self_loops=False, dtype=x.dtype)
        self.linear = nn.Linear(x.shape[1], num_classes)
        self.eta = nn.Parameter(torch.empty(settings["hops"]))
        self.beta = nn.Parameter(torch.empty(settings["hops"] + 1, num_classes))

    def forward(self, nodes: Tensor) -> Tensor:
        a, b, bound = (self.settings[name] for name in ("a", "b", "alpha"))
        x = functional.dropout(self.x, self.settings["dropout"], self.training)
        x = functional.dropout(self.linear(x), self.settings["filter_dropout"], self.training)
        alpha = bound * torch.tanh(self.eta)
        terms = [x, alpha[0] * ((a - b) / 2 * x + (a + b + 2) / 2 * self._product(x))]
        for k in range(2, len(self.beta)):
            s = 2 * k + a + b
            denominator = 2 * k * (k + a + b) * (s - 2)
            slope, shift = (s - 1) * s * (s - 2) / denominator, (s - 1) * (a**2 - b**2) / denominator
            back = 2 * (k - 1 + a) * (k - 1 + b) * s / denominator
            grown = alpha[k - 1] * (slope * self._product(terms[-1]) + shift * terms[-1])
            terms.append(grown - alpha[k - 1] * alpha[k - 2] * back * terms[-2])
        return (torch.stack(terms, dim=1) * self.beta).sum(dim=1)[nodes]

    def _product(self, x: Tensor) -> Tensor:
        return self.propagate(self.edges, x=x, norm=self.norm)
