"""What every module promises: it is called as PyG's are, and forgets nothing that it should keep."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from planted import planted_problem
from strategies import connected_graph, signals
from torch import Tensor
from torch.nn.functional import cross_entropy

from unifilter import BasisRows, Graph, factorize
from unifilter._internal.checks import without_torch_notices
from unifilter.bases import Legendre, Uni
from unifilter.factorization import eigenpairs
from unifilter.nn import (
    ACMGCN,
    APPNP,
    ASGC,
    FAGCN,
    GAT,
    GCN,
    GCNII,
    GNNHF,
    GNNLF,
    GPRGNN,
    H2GCN,
    LINKX,
    MLP,
    SGC,
    SIGN,
    UFG,
    WRGAT,
    AdaptKry,
    BernNet,
    ChannelFilter,
    ChebNet,
    ChebNetII,
    DecoupledFilter,
    EvenNet,
    FavardGNN,
    GloGNN,
    GraphModule,
    GraphSAGE,
    HetFilter,
    HomFilter,
    JacobiConv,
    LabelSignals,
    LearnedUniBasis,
    Member,
    MixHop,
    Mixture,
    OptBasisGNN,
    OrderedGNN,
    OrtFilter,
    ResidualGCN,
    RestartFilter,
    SharedUniFilter,
    SparseRows,
    Specformer,
    UniFilter,
)

NODES, CHANNELS, CLASSES, HOPS = 60, 12, 3, 3

MODULES: dict[str, Callable[[], GraphModule]] = {
    "unifilter": lambda: UniFilter(CHANNELS, CLASSES, HOPS, basis=Uni(tau=0.5, homophily=0.3)),
    "unifilter-learned": lambda: UniFilter(CHANNELS, CLASSES, HOPS, learned_basis=LearnedUniBasis(0.4, 0.7)),
    "shared": lambda: SharedUniFilter(CHANNELS, CLASSES, HOPS, basis=Uni(tau=0.5, homophily=0.3), hidden_channels=8),
    "shared-learned": lambda: SharedUniFilter(CHANNELS, CLASSES, HOPS, learned_basis=LearnedUniBasis(0.4, 0.7)),
    "homfilter": lambda: HomFilter(CHANNELS, CLASSES, hops=HOPS, batch_norm=True),
    "hetfilter": lambda: HetFilter(CHANNELS, CLASSES, homophily=0.3, hops=HOPS, self_loops="add"),
    "ortfilter": lambda: OrtFilter(CHANNELS, CLASSES, hops=HOPS, weights="channel"),
    "decoupled": lambda: DecoupledFilter(
        CHANNELS, CLASSES, Legendre(), torch.tensor([1.0, 0.5, 0.2, 0.1]), HOPS, batch_norm=True
    ),
    "restart": lambda: RestartFilter(CHANNELS, CLASSES, [0.5, 0.3, 0.2], 0.8, 0.2, HOPS),
    "appnp": lambda: APPNP(CHANNELS, CLASSES, HOPS),
    "gnn-lf": lambda: GNNLF(CHANNELS, CLASSES, HOPS),
    "gnn-hf": lambda: GNNHF(CHANNELS, CLASSES, HOPS),
    "bernnet": lambda: BernNet(CHANNELS, CLASSES, HOPS),
    "gprgnn": lambda: GPRGNN(CHANNELS, CLASSES, HOPS),
    "evennet": lambda: EvenNet(CHANNELS, CLASSES, HOPS),
    "chebnetii": lambda: ChebNetII(CHANNELS, CLASSES, HOPS),
    "ufg": lambda: UFG(CHANNELS, CLASSES, HOPS),
    "jacobiconv": lambda: JacobiConv(CHANNELS, CLASSES, hops=HOPS),
    "chebnet": lambda: ChebNet(CHANNELS, 8, CLASSES, HOPS),
    "optbasis": lambda: OptBasisGNN(CHANNELS, 8, CLASSES, HOPS),
    "favard": lambda: FavardGNN(CHANNELS, 8, CLASSES, HOPS),
    "gcn": lambda: GCN(CHANNELS, 8, CLASSES),
    "gcn-res": lambda: ResidualGCN(CHANNELS, 8, CLASSES),
    "gcnii": lambda: GCNII(CHANNELS, 8, CLASSES, 5),
    "gat": lambda: GAT(CHANNELS, 4, CLASSES, heads=3, output_heads=2),
    "graphsage": lambda: GraphSAGE(CHANNELS, 8, CLASSES),
    "fagcn": lambda: FAGCN(CHANNELS, 8, CLASSES),
    "ordered-gnn": lambda: OrderedGNN(CHANNELS, 8, CLASSES, num_layers=3, num_input_layers=2),
    "wrgat": lambda: WRGAT(CHANNELS, 8, CLASSES, num_relations=3, original_edges=True),
    "adaptkry": lambda: AdaptKry(CHANNELS, CLASSES, HOPS, tau=(0.5, 0.8)),
    "adaptkry-beside": lambda: AdaptKry(CHANNELS, CLASSES, HOPS, combine="concatenate"),
    "mixhop": lambda: MixHop(CHANNELS, 8, CLASSES),
    "sign": lambda: SIGN(CHANNELS, 8, CLASSES, HOPS),
    "sign-paper": lambda: SIGN(CHANNELS, 8, CLASSES, HOPS, head="paper"),
    "sgc": lambda: SGC(CHANNELS, CLASSES, HOPS),
    "asgc": lambda: ASGC(CHANNELS, CLASSES, HOPS),
    "specformer": lambda: Specformer(CHANNELS, 8, CLASSES),
    "specformer-norm": lambda: Specformer(CHANNELS, 8, CLASSES, norm="layer"),
    "mlp": lambda: MLP(CHANNELS, 8, CLASSES, batch_norm=True),
    "acm-gcn": lambda: ACMGCN(CHANNELS, 8, CLASSES),
    "acmii-gcn": lambda: ACMGCN(CHANNELS, 8, CLASSES, filter_last=True, rectified=False),
    "acm-gcn++": lambda: ACMGCN(CHANNELS, 8, CLASSES, layer_norm=True, residual=True, num_nodes=NODES),
    "linkx": lambda: LINKX(NODES, CHANNELS, 8, CLASSES, 2, 2, 2),
    "glognn": lambda: GloGNN(CHANNELS, 8, CLASSES, beta=100.0, delta=1.0, scaled=False),
    "glognn++": lambda: GloGNN(CHANNELS, 8, CLASSES, NODES),
    "h2gcn": lambda: H2GCN(CHANNELS, 8, CLASSES),
}
# Layers with a ReLU between them, or none that is a function of the graph's frequencies.
WITHOUT_RESPONSE = (
    "chebnet", "gcn", "gcn-res", "gcnii", "gat", "graphsage", "fagcn", "ordered-gnn", "wrgat", "sign", "sign-paper",
    "mlp", "specformer-norm", "acm-gcn", "acmii-gcn", "acm-gcn++", "linkx", "glognn", "glognn++", "h2gcn", "adaptkry",
    "adaptkry-beside", "mixhop",
)  # fmt: skip

every_module = pytest.mark.parametrize("name", MODULES)
every_module_on_a_graph = pytest.mark.parametrize("name", [name for name in MODULES if name != "mlp"])


@pytest.fixture(autouse=True)
def cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNIFILTER_CACHE", str(tmp_path / "cache"))


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """On so few nodes threads only wait for each other, for seconds where the machine is busy."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def trained(name: str, seed: int = 0) -> GraphModule:
    """A module in evaluation whose weights are far from where they start, so that the graph matters."""
    torch.manual_seed(seed)
    model = MODULES[name]()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.5 * torch.randn_like(parameter))
    if isinstance(model, ASGC):
        model.filter_weights.normal_()
    if isinstance(model, DecoupledFilter):
        model.filter_weights.data.abs_()  # of some, weights below zero count as zero
    if isinstance(model, FavardGNN):
        model.scales.data.abs_().add_(0.5)  # what it divides by
    return model.eval()


def example() -> tuple[Tensor, Tensor]:
    """Features, and the edges of a connected graph in both directions."""
    graph = connected_graph(NODES)
    edges, _ = graph.edges()
    return signals(graph, CHANNELS, 0, torch.float32), torch.cat([edges, edges.flip(0)], dim=1)


def check_close(left: Tensor, right: Tensor) -> None:
    torch.testing.assert_close(left, right, rtol=1e-4, atol=1e-4 * float(right.detach().abs().max()))


def test_every_module_is_here() -> None:
    def below(kind: type) -> set[type]:
        return {kind}.union(*(below(one) for one in kind.__subclasses__()))

    ours = {kind for kind in below(GraphModule) if kind.__module__.startswith("unifilter.")}
    # A mixture consists of trained members, see test_mixture.py, and label signals of another model and its training
    # labels, see test_label_signals.py.
    not_on_their_own = {GraphModule, ChannelFilter, Mixture, Member, LabelSignals}
    assert {type(make()) for make in MODULES.values()} == ours - not_on_their_own


# Calls


@every_module
def test_an_edge_index_and_a_graph_are_the_same_input(name: str) -> None:
    model, (x, edge_index) = trained(name), example()
    logits = model(x, edge_index)
    assert logits.shape == (NODES, CLASSES)
    check_close(model(x, Graph.from_edges(edge_index, NODES)), logits)
    check_close(model(x, Graph.from_edges(edge_index, NODES, self_loops="add")), logits)
    # Edges in one direction, and loops that are listed, are the same graph.
    half = edge_index[:, edge_index[0] < edge_index[1]]
    loops = torch.arange(NODES).repeat(2, 1)
    check_close(model(x, torch.cat([half, loops], dim=1)), logits)


@every_module
def test_sparse_features_are_the_same_input(name: str) -> None:
    model, (x, edge_index) = trained(name), example()
    with without_torch_notices():
        sparse = x.to_sparse_csr()
    expected = model(x, edge_index)
    check_close(model(sparse, edge_index), expected)
    if not isinstance(model, UniFilter):  # which reads rows of a basis there
        check_close(model(SparseRows(sparse), edge_index), expected)


@every_module
def test_what_is_precomputed_gives_the_same(name: str) -> None:
    model, (x, edge_index) = trained(name), example()
    graph = Graph.from_edges(edge_index, NODES, self_loops=model.self_loops)
    logits, nodes = model(x, edge_index), torch.tensor([30, 2, 7])
    powers = [x]
    for _ in range(HOPS):
        powers.append(graph.propagate(powers[-1]))
    if isinstance(model, UniFilter):
        channels = "shared" if isinstance(model, SharedUniFilter) else "each"
        rows = model.rows_of(factorize(graph, x, HOPS, channels=channels))
        check_close(model(rows[nodes]), logits[nodes])
        check_close(model(rows.dense()[nodes]), logits[nodes])
    elif isinstance(model, SIGN):
        check_close(model.forward_powers(torch.stack(powers)[:, nodes]), logits[nodes])
    elif isinstance(model, SGC):
        check_close(model.forward_propagated(powers[-1][nodes]), logits[nodes])
    elif isinstance(model, ASGC):
        filtered = torch.einsum("knc,kc->nc", torch.stack(powers).double(), model.filter_weights).float()
        check_close(model.forward_filtered(filtered[nodes]), logits[nodes])
    elif isinstance(model, Specformer):
        pairs = eigenpairs(graph)
        check_close(model.forward_spectrum(x, pairs.values, pairs.vectors), logits)
    elif isinstance(model, MLP):
        check_close(model(x[nodes]), logits[nodes])


@every_module_on_a_graph
def test_edge_weights_are_respected(name: str) -> None:
    x, edge_index = example()
    half = edge_index[:, edge_index[0] < edge_index[1]]
    weight = torch.rand(half.shape[1], generator=torch.Generator().manual_seed(0)) * 5 + 0.1
    # A model that factors the first graph it sees is a new one each time.
    weighted = trained(name)(x, half, weight)
    check_close(trained(name)(x, Graph.from_edges(half, NODES, weight)), weighted)
    plain = trained(name)(x, half)
    assert (weighted - plain).abs().max() > 0.01 * plain.abs().max()
    # One model told of other weights looks again.
    model = trained(name)
    first, second = model(x, half), model(x, half, weight)
    assert (first - second).abs().max() > 0.01 * first.abs().max()
    assert torch.equal(model(x, half, weight), second)


@every_module_on_a_graph
def test_weights_that_want_a_gradient_are_refused(name: str) -> None:
    x, edge_index = example()
    weight = torch.ones(edge_index.shape[1], requires_grad=True)
    with pytest.raises(ValueError, match="edge_weight requires a gradient, and these models learn no edge weights"):
        trained(name)(x, edge_index, weight)


@every_module_on_a_graph
def test_a_graph_of_another_size_is_refused(name: str) -> None:
    x, edge_index = example()
    with pytest.raises(ValueError, match="the graph has 60 nodes but the features have 59 rows: pass one row per node"):
        trained(name)(x[:59], Graph.from_edges(edge_index, NODES))


@every_module_on_a_graph
def test_a_weight_for_every_node_is_for_those_nodes_alone(name: str) -> None:
    model, graph = trained(name), connected_graph(40)
    x = signals(graph, CHANNELS, 0, torch.float32)
    if model.num_nodes is None:
        assert model(x, graph).shape == (40, CLASSES)
        return
    kind = type(model).__name__
    with pytest.raises(ValueError, match=f"^{kind} has a weight for each of the 60 nodes .*, and this graph has 40: "):
        model(x, graph)


# What is kept from call to call


@every_module
def test_a_change_of_the_edges_in_place_is_noticed(name: str) -> None:
    model, (x, edge_index) = trained(name), example()
    before = model(x, edge_index)
    edge_index.copy_((edge_index * 7) % NODES)
    after = model(x, edge_index)
    check_close(after, copy.deepcopy(model)(x, edge_index.clone()))
    assert (name == "mlp") == torch.equal(after, before)


@every_module_on_a_graph
def test_the_graph_is_prepared_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, (x, edge_index) = trained(name), example()
    model(x, edge_index)
    monkeypatch.setattr(Graph, "from_edges", None)  # whoever prepares a graph again calls nothing
    first, second = model(x, edge_index), model(x, edge_index)
    assert torch.equal(first, second)


def test_features_that_change_in_place_are_factored_again() -> None:
    model, (x, edge_index) = trained("unifilter").train(), example()
    model(x, edge_index)
    before = model.tridiagonal
    model(x, edge_index)
    assert before is not None
    assert model.tridiagonal is not None
    assert model.tridiagonal.alpha is before.alpha
    x.copy_(x.flip(0))
    model(x, edge_index)
    expected = factorize(Graph.from_edges(edge_index, NODES), x, HOPS).tridiagonal
    assert torch.equal(model.tridiagonal.alpha, expected.alpha)


@every_module
def test_copies_forget_the_graph_and_keep_the_weights(name: str) -> None:
    model, (x, edge_index) = trained(name), example()
    model(x, edge_index)
    expected = model(x, edge_index)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        check_close(other(x, edge_index), expected)


# Weights


@every_module
def test_a_reset_draws_every_weight_anew(name: str) -> None:
    model = MODULES[name]()

    def reset(seed: int) -> dict[str, Tensor]:
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.fill_(7.0)
        torch.manual_seed(seed)
        model.reset_parameters()
        return {key: value.detach().clone() for key, value in model.named_parameters()}

    first, again, other = reset(0), reset(0), reset(1)
    fresh = dict(MODULES[name]().named_parameters())
    changed = False
    for key, value in first.items():
        assert not (value == 7).all(), key
        assert torch.equal(value, again[key]), key
        changed |= not torch.equal(value, other[key])
        # What starts at fixed numbers starts there again; what is drawn has the same spread.
        if torch.equal(value, other[key]):
            torch.testing.assert_close(value, fresh[key].detach())
        elif value.numel() > 50:
            assert float(value.std()) == pytest.approx(float(fresh[key].detach().std()), rel=0.5), key
    assert changed


@every_module
def test_a_state_holds_all_that_was_learned(name: str) -> None:
    model, (x, edge_index) = trained(name), example()
    model(x, edge_index)  # what a model keeps of the graph it was trained on
    if isinstance(model, OptBasisGNN):
        model.remember_basis(x, edge_index)
    other = trained(name, seed=1)
    other.load_state_dict(model.state_dict())
    again = copy.deepcopy(model)
    check_close(other(x, edge_index), again(x, edge_index))
    lam = torch.linspace(0, 2, 9)
    found, expected = other.response(lam), again.response(lam)
    assert (found is None) == (expected is None) == (name in WITHOUT_RESPONSE)
    if found is not None and expected is not None:
        assert torch.equal(found, expected)


@pytest.mark.parametrize("name", ["unifilter", "unifilter-learned", "homfilter", "hetfilter", "ortfilter"])
def test_the_state_of_unifilter_has_the_polynomials_of_its_features(name: str) -> None:
    model, (x, edge_index) = trained(name), example()
    buffers = {"alpha", "beta", "norm", "dimension"}
    assert not buffers & set(model.state_dict())
    model(x, edge_index)
    assert buffers <= set(model.state_dict())
    other = trained(name, seed=1)
    assert other.tridiagonal is None
    other.load_state_dict(model.state_dict())
    assert other.tridiagonal is not None
    assert model.tridiagonal is not None
    for part in buffers:
        assert torch.equal(getattr(other.tridiagonal, part), getattr(model.tridiagonal, part))
    # On another graph both apply the same polynomials; a model that has seen none would factor that graph.
    elsewhere, signal = connected_graph(40, seed=3), signals(connected_graph(40, seed=3), CHANNELS, 5, torch.float32)
    assert torch.equal(other(signal, elsewhere), model(signal, elsewhere))
    # A state from before any graph takes them away again.
    other.load_state_dict(trained(name, seed=2).state_dict())
    assert other.tridiagonal is None


def test_unifilter_without_a_basis_reads_rows_alone() -> None:
    x, edge_index = example()
    model = UniFilter(CHANNELS, CLASSES, HOPS)
    rows = BasisRows.from_factorization(factorize(Graph.from_edges(edge_index, NODES), x, HOPS), "homophily")
    assert model(rows).shape == (NODES, CLASSES)
    with pytest.raises(ValueError, match="this model has no basis, so it can only read rows of one: pass UniFilter"):
        model(x, edge_index)
    with pytest.raises(ValueError, match=r"has not seen a factorization yet: call model.attach\(fact.tridiagonal\)"):
        UniFilter(CHANNELS, CLASSES, HOPS, learned_basis=LearnedUniBasis())(
            BasisRows.from_factorization(factorize(Graph.from_edges(edge_index, NODES), x, HOPS), "orthonormal")
        )
    with pytest.raises(ValueError, match="x requires a gradient, and the basis has none for the features: detach it"):
        trained("unifilter")(x.clone().requires_grad_(), edge_index)
    with pytest.raises(ValueError, match="a model has a basis or learns one: pass basis or learned_basis"):
        UniFilter(CHANNELS, CLASSES, HOPS, basis=Uni(0.5, 0.5), learned_basis=LearnedUniBasis())


# Training


@every_module
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_ten_steps_of_a_plain_training_loop_lower_the_loss(name: str, dtype: torch.dtype) -> None:
    problem = planted_problem(MODULES[name]().num_nodes or 48)
    data = problem.dataset.to_data()
    x, nodes = data.x.to(dtype), torch.from_numpy(problem.train)
    torch.manual_seed(0)
    model = MODULES[name]().to(dtype)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)

    def loss() -> Tensor:
        return cross_entropy(model(x, data.edge_index)[nodes], data.y[nodes])

    model.eval()
    before = loss().item()
    model.train()
    for _ in range(10):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    model.eval()
    assert loss().item() < before
    assert model(x, data.edge_index).dtype == dtype
