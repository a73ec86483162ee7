"""Graphs larger than memory: ``python -m benchmarks.scale STAGE``; every size can be given, so that it also runs small.

Each measurement is a process of its own, whose peak of memory is read from the system. What was measured is added to
``benchmarks/results/scale.json``; ``python -m benchmarks.scale docs`` writes it into ``docs/scale.md``. A stage deletes
its graphs and stores at its end.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import torch

from benchmarks.scale_table import write_docs
from unifilter import Graph, NodeClassifier, explain, factorize
from unifilter._internal.array_files import array_writer
from unifilter._internal.memory import check_limit
from unifilter.factorization import StoredFactorization
from unifilter.factorization.stored.memory_plan import MemoryPlan
from unifilter.graph import EdgeBlock, NodeOrder, convert_edges

RESULTS = Path(__file__).parent / "results" / "scale.json"
HOPS = 10
# Degrees fall with the power of the rank that gives a degree distribution of exponent 2.7, as in many networks.
_POWER = 2.5
_CLASSES = 5
# Nodes, edges, features, share of features that are not zero, classes; of generated graphs of these sizes.
_PAPER = {
    "penn94": (41_554, 1_362_229, 4_814, 5 / 4_814, 2),
    "genius": (421_961, 984_979, 12, 1.0, 2),
    "ogbn-arxiv": (169_343, 1_166_243, 128, 1.0, 40),
}
# The sizes of the store: a share of the given one.
_SHRINK = (9, 3, 1)
# How far away the neighbors of a node are at most on the ring of a local graph.
_NEAR = 200
# Widths of features for both forms of the filter.
_WIDTHS = (16, 64, 256, 1024, 4096)
# Bytes that are written to measure the disk.
_WRITTEN = 1 << 30
_WIDE = (34_493, 247_962, 8_415, 0.004, 5)


def edge_blocks(nodes: int, edges: int, seed: int = 0) -> Iterator[EdgeBlock]:
    """A power-law graph without isolated nodes; a few edges come twice. Nodes are in no particular order."""
    rng = np.random.default_rng(seed)
    name = rng.permutation(nodes).astype(np.int32)

    def popular(count: int) -> np.ndarray:
        return name[(nodes * rng.random(count) ** _POWER).astype(np.int64)]

    size = 1 << 20
    for start in range(0, nodes, size):
        some = np.arange(start, min(start + size, nodes), dtype=np.int32)
        yield EdgeBlock(some, popular(len(some)))
    for start in range(nodes, edges, size):
        count = min(size, edges - start)
        yield EdgeBlock(popular(count), popular(count))


def local_edge_blocks(nodes: int, edges: int, seed: int = 0) -> Iterator[EdgeBlock]:
    """A graph on a ring, in which nodes are tied to nodes close by, with ids in no particular order."""
    rng = np.random.default_rng(seed)
    name = rng.permutation(nodes).astype(np.int32)
    for start in range(0, edges, 1 << 20):
        place = np.arange(start, min(start + (1 << 20), edges)) % nodes
        yield EdgeBlock(name[place], name[(place + rng.integers(1, _NEAR, len(place))) % nodes])


def write_features(path: Path, nodes: int, channels: int, seed: int = 0) -> np.ndarray:
    """Normal features with a weak signal of the classes, in a ``.npy`` file; returns the classes."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, _CLASSES, nodes)
    centers = rng.standard_normal((_CLASSES, channels)).astype(np.float32) / 4
    matrix = np.lib.format.open_memmap(path, "w+", np.float32, (nodes, channels))
    for start in range(0, nodes, 1 << 17):
        part = slice(start, min(start + (1 << 17), nodes))
        matrix[part] = rng.standard_normal((part.stop - start, channels), dtype=np.float32) + centers[labels[part]]
    matrix.flush()
    return labels


class Watch:
    """Peak of the memory of this process: all that is resident, and of that what is not mapped from files."""

    def __enter__(self) -> Watch:
        self.before = self.anonymous = self._private()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        self._start = time.perf_counter()
        return self

    def _look(self) -> None:
        while not self._stop.wait(0.01):
            self.anonymous = max(self.anonymous, self._private())

    @staticmethod
    def _private() -> int:
        info = psutil.Process().memory_info()
        return int(info.rss - info.shared)

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._start
        self._stop.set()
        self._thread.join()

    @property
    def resident(self) -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) * 1024

    def figures(self) -> dict[str, Any]:
        memory = {"peak_resident": self.resident, "peak_anonymous": self.anonymous, "anonymous_before": self.before}
        return {"seconds": self.seconds, **memory}


def _warm_up() -> None:
    """Compile, or load what was compiled: not part of any measurement."""
    rng = np.random.default_rng(0)
    graph = Graph.from_edges(rng.integers(0, 300, (2, 900)), 300)
    for channels in (16, 64):  # few columns have a kernel of their own
        factorize(graph, rng.standard_normal((300, channels)).astype(np.float32), 3)
    graph.propagate(torch.randn(300, 16), check_finite=False)


def _graph_folder(work: str, nodes: int, edges: int, order: NodeOrder | None = None) -> Path:
    return Path(work) / f"graph-{nodes}-{edges}-{order}"


def _open(work: str, nodes: int, edges: int, order: NodeOrder | None = None) -> Graph:
    graph = Graph.open(_graph_folder(work, nodes, edges, order), verify=False)
    _warm_up()
    graph.stored_rows  # noqa: B018  # degrees are not part of any measurement
    return graph


def _size_of(folder: Path, pattern: str = "*") -> int:
    return sum(path.stat().st_size for path in folder.glob(pattern))


# Measurements: each runs in a process of its own and returns its figures.


def measure_convert(
    work: str,
    nodes: int,
    edges: int,
    channels: int,
    memory_limit: str,
    order: NodeOrder | None = None,
    local: bool = False,
) -> dict[str, Any]:
    """The graph in a folder, and features beside it."""
    blocks = (local_edge_blocks if local else edge_blocks)(nodes, edges)
    with Watch() as watch:
        folder = _graph_folder(work, nodes, edges, order)
        convert_edges(blocks, folder, num_nodes=nodes, order=order, memory_limit=memory_limit)
    figures = {"graph": _size_of(folder), **watch.figures()}
    write_features(Path(work) / "x.npy", nodes, channels)
    return figures


def measure_store(work: str, nodes: int, edges: int, channels: int, memory_limit: str) -> dict[str, Any]:
    """A store under a limit."""
    graph = _open(work, nodes, edges)
    with Watch() as watch:
        fact = factorize(graph, Path(work) / "x.npy", HOPS, store=Path(work) / "store", memory_limit=memory_limit)
    return {
        "nodes": nodes,
        "edges": graph.num_edges,
        "entries": graph.num_entries,
        "channels": channels,
        "blocks": [block["columns"] for block in fact.blocks],
        "stored": _size_of(fact.folder, "block*.npy"),
        "predicted_memory": _predicted_memory(graph, fact, check_limit(memory_limit)),
        **watch.figures(),
    }


def _predicted_memory(graph: Graph, fact: StoredFactorization, limit: int) -> int:
    """What the cost model says of the memory of the blocks, without that of the program."""
    plan = MemoryPlan(graph.num_nodes, graph.num_entries, HOPS, 4, dense=True, on_few_nodes=False, kept_rows=0)
    width = max(stop - start for start, stop in (block["columns"] for block in fact.blocks))
    written = len(fact.blocks) > 1 and plan.overlaps(limit, width)
    return plan.block_bytes(width) + written * plan.written_bytes(width)


def measure_products(work: str, nodes: int, edges: int, blocks: list[list[int]]) -> dict[str, Any]:
    """K products of dense blocks of these widths, and writing to the disk, nothing else."""
    graph = _open(work, nodes, edges)
    seconds = 0.0
    for start, stop in blocks:
        x = torch.randn(nodes, stop - start)
        begun = time.perf_counter()
        for _ in range(HOPS):
            x = graph.propagate(x, check_finite=False)
        seconds += time.perf_counter() - begun
    return {"seconds": seconds, **_disk(Path(work))}


def _disk(work: Path) -> dict[str, float]:
    """Bytes per second to the disk, as a store writes them."""
    part, begun = np.ones(_WRITTEN // 64, np.uint8), time.perf_counter()
    with array_writer(work / "written.npy", np.uint8) as writer:
        for _ in range(64):
            writer.write(part)
        writer.finish()
    seconds = time.perf_counter() - begun
    (work / "written.npy").unlink()
    return {"bytes_written_per_second": _WRITTEN / seconds}


def measure_growth(work: str, nodes: int, edges: int, channels: int, order: NodeOrder | None) -> dict[str, Any]:
    """The factorization in memory of one block."""
    graph, x = _open(work, nodes, edges, order), torch.randn(nodes, channels)
    with Watch() as watch:
        factorize(graph, x, HOPS)
    return {"order": order, "entries": graph.num_entries, **watch.figures()}


def measure_end_to_end(work: str, nodes: int, edges: int, channels: int, memory_limit: str) -> dict[str, Any]:
    """Convert, factorize, train five epochs, predict, explain."""
    base, steps = Path(work), {}
    labels = write_features(base / "x.npy", nodes, channels)
    with Watch() as watch:
        begun = time.perf_counter()
        graph = convert_edges(edge_blocks(nodes, edges), base / "graph", num_nodes=nodes, memory_limit=memory_limit)
        steps["convert"] = time.perf_counter() - begun
        x = np.load(base / "x.npy", mmap_mode="r")
        order = np.random.default_rng(1).permutation(nodes)
        train, val = order[: nodes // 10], order[nodes // 10 : nodes * 3 // 20]
        begun = time.perf_counter()
        clf = NodeClassifier(
            "unifilter", features="raw", epochs=5, batch_size=10_000, batch_norm=False, dropout=0.2, basis_dropout=0.0,
            lr=0.01, weight_decay=0.0,
        )  # fmt: skip
        clf.fit(graph, x, labels, train, val, memory_limit=memory_limit, store=base / "stores")
        steps["fit"] = time.perf_counter() - begun
        begun = time.perf_counter()
        predicted = clf.predict()
        steps["predict"] = time.perf_counter() - begun
        begun = time.perf_counter()
        explain(clf).to_json()
        steps["explain"] = time.perf_counter() - begun
    test = order[nodes * 3 // 20 :]
    return {
        **watch.figures(),
        "steps": steps,
        "from_store": any((base / "stores").glob("*/store.json")),
        "accuracy": float((predicted[test] == labels[test]).mean()),
    }


def measure_rival(work: str, nodes: int, edges: int, channels: int, name: str) -> dict[str, Any]:
    """PyG's SIGN transform, the published algorithm, or ours in memory."""
    graph, x = _open(work, nodes, edges), torch.randn(nodes, channels)
    if name == "ours":
        with Watch() as watch:
            stored = factorize(graph, x, HOPS).basis("uni", tau=0.5, homophily=0.5).numel()
    elif name == "sign":
        from torch_geometric.data import Data
        from torch_geometric.transforms import SIGN

        rows = torch.repeat_interleave(torch.arange(nodes), graph.row_start.diff())
        data = Data(x=x, edge_index=torch.stack([rows, graph.neighbors.long()]))
        with Watch() as watch:
            SIGN(HOPS)(data)
        stored = (HOPS + 1) * x.numel()
    else:
        from benchmarks.published import coo_propagation, plain_inner, published_basis

        propagation = coo_propagation(graph)
        with Watch() as watch:
            stored = published_basis(propagation, x, HOPS, 0.5, 0.5, plain_inner).numel()
    return {**watch.figures(), "stored": 4 * stored}


def measure_fit(size: list[float], memory_limit: str | None, name: str, epochs: int, batch_size: int) -> dict[str, Any]:
    """Train with the published settings, or the defaults, on generated data of some size."""
    import scipy.sparse as sp

    from unifilter.methods.uni_filter import UniFilterMethod

    nodes, edges, channels, density, classes = int(size[0]), int(size[1]), int(size[2]), size[3], int(size[4])
    rng = np.random.default_rng(0)
    labels = rng.integers(0, classes, nodes)
    if density < 1:
        x: Any = sp.random_array((nodes, channels), density=density, format="csr", dtype=np.float32, rng=rng)
    else:
        x = rng.standard_normal((nodes, channels), dtype=np.float32)
    order = rng.permutation(nodes)
    train, val = order[: nodes // 2], order[nodes // 2 : nodes * 3 // 4]
    known = UniFilterMethod.presets.get(name)
    left_open = {"batch_norm": False, "dropout": 0.4, "basis_dropout": 0.0, "lr": 0.01, "weight_decay": 5e-4}
    settings = {**(known or left_open), "epochs": epochs, "batch_size": batch_size, "metric": "accuracy"}
    with tempfile.TemporaryDirectory(dir=os.environ["UNIFILTER_STORE"]) as work, Watch() as watch:
        graph = convert_edges(edge_blocks(nodes, edges), Path(work) / "graph", num_nodes=nodes, memory_limit="4GB")
        clf = NodeClassifier("unifilter", **settings)
        clf.fit(graph, x, labels, train, val, memory_limit=memory_limit)
        clf.predict()
        explain(clf).to_json()
    return watch.figures()


def measure_channels(nodes: int, edges: int, width: int, channels: str, epochs: int) -> dict[str, Any]:
    """An epoch of either form of UniFilter on features of some width."""
    rng = np.random.default_rng(0)
    clf = NodeClassifier(
        "unifilter", channels=channels, features="raw", epochs=epochs, batch_norm=False, dropout=0.5,
        basis_dropout=0.0, lr=0.01, weight_decay=0.0, **({"precompute": False} if channels == "shared" else {}),
    )  # fmt: skip

    def fit(nodes: int, edges: int) -> None:
        ends = np.concatenate([np.stack([block.source, block.target]) for block in edge_blocks(nodes, edges)], axis=1)
        x = rng.standard_normal((nodes, width), dtype=np.float32)
        order, labels = rng.permutation(nodes), rng.integers(0, _CLASSES, nodes)
        clf.fit(Graph.from_edges(ends, nodes), x, labels, order[: nodes // 10], order[nodes // 10 : nodes * 3 // 20])

    fit(500, 2000)  # compiles
    with Watch() as watch:
        fit(nodes, edges)
    return {**watch.figures(), "width": width, "epoch": clf.history_.seconds / clf.history_.epochs}


_MEASUREMENTS = {
    "convert": measure_convert,
    "store": measure_store,
    "products": measure_products,
    "growth": measure_growth,
    "end_to_end": measure_end_to_end,
    "rival": measure_rival,
    "fit": measure_fit,
    "channels": measure_channels,
}


def measured(folder: str, what: str, /, **arguments: Any) -> dict[str, Any]:
    """Run a measurement in a new process."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.scale", "--run", what, json.dumps(arguments)]
    # Temporary stores are on the disk that has room for them.
    environment = {**os.environ, "UNIFILTER_STORE": folder}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"{what} failed:\n{done.stderr[-2000:]}")
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(f"{what} {arguments}: {figures}", flush=True)
    return figures


def run_stage(options: argparse.Namespace, work: str) -> dict[str, Any]:
    size = {"nodes": options.nodes, "edges": options.edges}
    common = {**size, "channels": options.channels, "memory_limit": options.memory_limit}
    run = partial(measured, work)
    if options.stage == "store":
        return {"sizes": [_store(run, work, options, shrink) for shrink in _SHRINK]}
    if options.stage == "growth":
        return _growth(run, work, options)
    if options.stage == "order":
        return {
            "sizes": _orders(
                run, work, {**size, "channels": options.channels}, options.memory_limit, options.orders, local=True
            )
        }
    if options.stage == "end-to-end":
        return run("end_to_end", work=work, **common)
    if options.stage == "rivals":
        run("convert", work=work, **common)
        case = {**size, "channels": options.channels}
        return {name: run("rival", work=work, **case, name=name) for name in ("ours", "sign", "published")}
    if options.stage == "channels":
        kinds = ("each", "shared")
        return {
            kind: [run("channels", **size, width=width, channels=kind, epochs=options.epochs) for width in _WIDTHS]
            for kind in kinds
        }
    fit = partial(run, "fit", memory_limit=options.memory_limit, epochs=options.epochs)
    if options.stage == "wide":
        wide = [_WIDE[0] // options.shrink, _WIDE[1] // options.shrink, *_WIDE[2:]]
        return fit(size=wide, name="wide", batch_size=options.batch_size or 2000)
    return {
        name: fit(
            size=[nodes // options.shrink, edges // options.shrink, *rest],
            name=name,
            batch_size=options.batch_size or 10_000,
        )
        for name, (nodes, edges, *rest) in _PAPER.items()
    }


def _store(run: Callable[..., dict[str, Any]], work: str, options: argparse.Namespace, shrink: int) -> dict[str, Any]:
    """A store and bare products of one size; its files are deleted before the next size."""
    own = str(Path(work) / f"of-{shrink}")
    Path(own).mkdir()
    size = {"nodes": options.nodes // shrink, "edges": options.edges // shrink}
    case = {"work": own, **size, "channels": options.channels, "memory_limit": options.memory_limit}
    converted, store = run("convert", **case), run("store", **case)
    products = run("products", work=own, **size, blocks=store["blocks"])
    shutil.rmtree(own)
    return {"convert": converted, "store": store, "products": products, "ratio": store["seconds"] / products["seconds"]}


def _orders(
    run: Callable[..., dict[str, Any]],
    work: str,
    size: dict[str, Any],
    memory_limit: str,
    orders: Sequence[str],
    local: bool = False,
) -> list[dict[str, Any]]:
    """A graph in the order of its nodes and in others."""
    found = []
    for order in (None, *orders):
        own = Path(work) / f"order-{order}"
        own.mkdir()
        one = {"work": str(own), **size, "order": order}
        converted = run("convert", **one, memory_limit=memory_limit, local=local)
        found.append({**run("growth", **one), "convert": converted})
        shutil.rmtree(own)
    return found


def _growth(run: Callable[..., dict[str, Any]], work: str, options: argparse.Namespace) -> dict[str, Any]:
    """Each size in the order of the nodes and in others, one after the other."""
    found, edges = [], options.smallest
    while edges <= options.edges:
        one = {"nodes": max(edges // 10, 100), "edges": edges, "channels": options.channels}
        found += _orders(run, work, one, options.memory_limit, options.orders)
        edges *= 10
    plain = [one for one in found if one["order"] is None]
    slope = np.polyfit(*(np.log([one[key] for one in plain]) for key in ("entries", "seconds")), 1)[0]
    return {"sizes": found, "exponent": float(slope)}


# Nodes, edges, features and limit of each stage.
_DEFAULTS = {
    "store": (10_000_000, 100_000_000, 32, "20GB"),
    "growth": (0, 100_000_000, 16, "20GB"),
    "order": (1_000_000, 10_000_000, 16, "20GB"),
    "end-to-end": (2_000_000, 20_000_000, 32, "4GB"),
    "channels": (50_000, 500_000, 0, "20GB"),
    "rivals": (1_000_000, 10_000_000, 32, "20GB"),
    "paper": (0, 0, 0, "20GB"),
    "wide": (0, 0, 0, "4GB"),
    "docs": (0, 0, 0, "4GB"),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("stage", choices=[*_DEFAULTS], nargs="?", help="what to measure, or docs to write it down")
    parser.add_argument("--work", type=Path, default=Path("scale-work"), help="folder for graphs and stores")
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--edges", type=int)
    parser.add_argument("--channels", type=int)
    parser.add_argument("--memory-limit")
    parser.add_argument("--smallest", type=int, default=1_000_000, help="edges of the smallest graph of growth")
    parser.add_argument("--shrink", type=int, default=1, help="divide the sizes of paper and wide by this")
    parser.add_argument(
        "--orders", nargs="*", default=["degree", "rcm"], help="of growth and order: orders of the rows to measure too"
    )
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, help="of paper and wide; by default 10,000 and 2,000")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--run", nargs=2, metavar=("WHAT", "ARGUMENTS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        print(json.dumps(_MEASUREMENTS[options.run[0]](**json.loads(options.run[1]))))
        return
    if options.stage is None:
        parser.error("name a stage")
    if options.stage == "docs":
        write_docs(options.out, Path("docs/scale.md"))
        return
    for name, value in zip(("nodes", "edges", "channels", "memory_limit"), _DEFAULTS[options.stage], strict=True):
        if getattr(options, name) is None:
            setattr(options, name, value)
    check_limit(options.memory_limit)
    options.work.mkdir(parents=True, exist_ok=True)
    conditions = _conditions(options)
    work = Path(tempfile.mkdtemp(dir=options.work, prefix=f"{options.stage}-")).absolute()
    try:
        found = {"figures": run_stage(options, str(work)), "limit": check_limit(options.memory_limit), **conditions}
    finally:
        shutil.rmtree(work)
    known = json.loads(options.out.read_text()) if options.out.exists() else {}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps({**known, options.stage: found}, indent=1) + "\n")
    print(f"added to {options.out}")


def _conditions(options: argparse.Namespace) -> dict[str, Any]:
    size = {name: getattr(options, name) for name in ("nodes", "edges", "channels", "shrink")}
    return {**size, "threads": torch.get_num_threads(), "load_before": psutil.getloadavg()[0]}


if __name__ == "__main__":
    main()
