"""Many workers write the bytes of one, whatever happens to them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from unifilter import cli

# The client and its workers have processes and warnings of their own.
RUN = """
import os, signal, sys
from pathlib import Path
import numpy as np
from unifilter import Graph, factorize
from unifilter.factorization.stored import factorize_to_store
from unifilter.factorization.stored.cluster import local_workers, on_workers
from unifilter.factorization.stored.memory_plan import MemoryPlan

def main():
    MemoryPlan.width = lambda self, limit, channels: 16
    folder = Path(sys.argv[1])
    rng = np.random.default_rng(0)
    graph = Graph.from_edges(rng.integers(0, 500, (2, 2000)), 500)
    x = rng.standard_normal((500, 640)).astype(np.float32)
    nodes = np.arange(0, 500, 3)
    factorize(graph, x, 5, store=folder / "one", nodes=nodes)
    killed = []
    with local_workers(2) as client:
        workers = client.run(os.getpid)
        def told(done, count):
            if done == 3:
                os.kill(next(iter(workers.values())), signal.SIGKILL)
                killed.append(done)
        factorize_to_store(graph, x, 5, folder / "many", nodes=nodes, on_progress=told, run=on_workers(client))
    assert killed == [3]
    one, many = ({path.name: path.read_bytes() for path in (folder / name).iterdir()} for name in ("one", "many"))
    assert len(one) == 82
    assert one.keys() == many.keys(), sorted(one.keys() ^ many.keys())
    assert one == many, [name for name in one if one[name] != many[name]]

if __name__ == "__main__":
    main()
"""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli.app, ["factorize", *map(str, arguments)])


def test_a_killed_worker_changes_no_byte(tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_text(RUN)
    done = subprocess.run([sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def test_the_command_on_workers_and_alone(tmp_path: Path) -> None:
    one = run("karate", "--hops", 3, "--store", tmp_path / "one")
    command = [sys.executable, "-m", "unifilter", "factorize", "karate", "--hops", "3", "--workers", "1", "--store"]
    many = subprocess.run([*command, str(tmp_path / "many")], capture_output=True, text=True, check=True)
    assert re.search(r"Dask dashboard: http://127.0.0.1:\d+/status", many.stderr)
    for printed in (one.stdout, many.stdout):
        assert "StoredFactorization(hops=3, num_nodes=34, channels=34, storage=float32, rows=all)" in printed
    (first,), (second,) = (list((tmp_path / name).iterdir()) for name in ("one", "many"))
    assert first.name == second.name
    for path in first.iterdir():
        assert path.read_bytes() == (second / path.name).read_bytes()


def test_half_precision_and_labeled_nodes(tmp_path: Path) -> None:
    result = run("karate", "--hops", 2, "--store", tmp_path, "--labeled-only", "--storage", "float16")
    assert result.exit_code == 0, result.output
    assert re.search(r"storage=float16, rows=34\); vectors of length 1 lost \d.\de-0\d at most", result.stdout)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--workers", 2, "--scheduler", "tcp://x:1"), "pass --workers or --scheduler"),
        (("--features", "standard"), "pass --features raw, row or l2"),
        (("--memory-limit", "1MB"), "and --memory-limit is 1.0 MB: raise it"),
    ],
)
def test_what_cannot_be_done_is_told(tmp_path: Path, arguments: tuple[object, ...], message: str) -> None:
    result = run("karate", "--store", tmp_path / "s", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_scheduler_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError("timed out")

    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=refused, __spec__=object()))
    result = run("karate", "--store", tmp_path / "s", "--scheduler", "tcp://127.0.0.1:1")
    assert result.exit_code == 2
    assert "there is no Dask scheduler at tcp://127.0.0.1:1 (timed out): start one" in result.stderr


def test_workers_need_their_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    result = run("karate", "--store", tmp_path / "s", "--workers", 2)
    assert result.exit_code == 2
    assert "several workers needs dask and distributed: pip install 'unifilter[scale]'" in result.stderr
    assert os.listdir(tmp_path) == []


def test_training_takes_up_what_the_command_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from unifilter import UniFilterClassifier
    from unifilter.datasets import load_dataset
    from unifilter.methods import storage

    assert run("karate", "--hops", 3, "--store", tmp_path, "--labeled-only").exit_code == 0
    karate = load_dataset("karate")
    monkeypatch.setattr(storage, "in_memory_bytes", lambda *_: 10**15)
    clf = UniFilterClassifier(
        hops=3, epochs=2, lr=0.01, dropout=0.0, basis_dropout=0.0, batch_norm=False, weight_decay=0.0
    )
    clf.fit(
        karate.graph,
        karate.features,
        karate.labels,
        np.arange(20),
        np.arange(20, 30),
        memory_limit="4GB",
        store=tmp_path,
    )
    assert len(list(tmp_path.iterdir())) == 1
    assert np.isfinite(clf._logits_.numpy()).all()
