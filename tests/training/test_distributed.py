"""Several processes learn what one does, and a failure of one is a failure of all, told once."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from several_processes import NOISELESS, NOISY, fitted, odd_weights, problem, state
from typer.testing import CliRunner

from unifilter.cli import app
from unifilter.training import Peers

SCRIPT = Path(__file__).parent / "several_processes.py"
COMMAND = "from unifilter.cli import main; main()"
# The same with a checkpoint after every epoch; the second process is killed in its fifth.
KILLED = f"""
import os, signal
from unifilter.training import Peers, trainer
trainer._SECONDS_PER_CHECKPOINT = 0.0
whole, calls = Peers.one_epoch, []
def one_epoch(self, *arguments):
    calls.append(self.rank)
    if calls == [1] * 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return whole(self, *arguments)
Peers.one_epoch = one_epoch
{COMMAND}
"""
TRAIN = ["train", "karate", "--method", "mlp", "--splits", "1", "--split", "stratified", "--no-baseline"]


def start(arguments: list[str], count: int = 2) -> list[subprocess.Popen[str]]:
    """Processes as ``torchrun`` starts them; Gloo talks over the loopback device."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(count), "OMP_NUM_THREADS": "1"}
    # Plain torch: nothing is compiled or loaded in each of them.
    shared |= {"TORCHELASTIC_RUN_ID": "test", "GLOO_SOCKET_IFNAME": "lo", "UNIFILTER_KERNELS": "torch"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return [
        subprocess.Popen([sys.executable, *arguments], env={**os.environ, **shared, "RANK": str(rank)}, **pipes)  # type: ignore[call-overload]
        for rank in range(count)
    ]


def ended(processes: list[subprocess.Popen[str]]) -> list[tuple[int, str, str]]:
    """Exit code, stdout and stderr of each."""
    try:
        outputs = [process.communicate(timeout=300) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    return [(process.returncode, *output) for process, output in zip(processes, outputs, strict=True)]


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What two processes came to."""
    folder = tmp_path_factory.mktemp("together")
    (code, out, err), other = ended(start([str(SCRIPT), str(folder)]))
    assert (code, other[0]) == (0, 0), err + other[2]
    assert list(folder.iterdir()) == []  # no checkpoint is left
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.mark.parametrize(("name", "weights"), [("whole", None), ("weighted", odd_weights())])
def test_without_noise_two_processes_learn_what_one_does(
    name: str, weights: np.ndarray | None, together: dict[str, Any]
) -> None:
    alone = state(fitted(weights, **NOISELESS))
    for what, values in alone.items():
        np.testing.assert_allclose(together[name][what], values, rtol=1e-8, atol=1e-10)


def test_batches_are_shared_too(together: dict[str, Any]) -> None:
    alone = state(fitted(batch_size=30, **NOISELESS))
    # In another order, so not the same; both come to a good fit.
    assert together["batches"]["loss"][-1] < 0.5 * together["batches"]["loss"][0]
    assert together["batches"]["loss"][-1] == pytest.approx(alone["loss"][-1], abs=0.1)


def test_with_noise_the_accuracy_is_that_of_one(together: dict[str, Any]) -> None:
    data, _ = problem()
    assert together["score"] == pytest.approx(fitted(**NOISY, epochs=40).score(data.labels), abs=0.05)


def test_what_was_interrupted_ends_as_if_it_had_not_been(together: dict[str, Any]) -> None:
    assert together["resumed"] == together["noisy"]


def test_the_vectors_of_a_machine_are_in_memory_once(together: dict[str, Any]) -> None:
    first, second = (one["memory"] for one in together["each"])
    assert (first["calls"], second["calls"]) == (1, 0)
    assert first["mapped"]
    assert second["mapped"]


@pytest.mark.parametrize("name", ["vectors", "rows", "kept", "found"])
def test_a_store_is_written_by_the_first_process_and_read_by_all(name: str, together: dict[str, Any]) -> None:
    first, second = (one[name] for one in together["each"])
    assert (first["calls"] > 0) is (name != "found")
    assert (first["again"] > 0) is (name == "rows")
    assert second["calls"] == second["again"] == 0
    alone = fitted(**NOISELESS)
    for one in (first, second):
        np.testing.assert_allclose(one["logits"], alone._logits_, rtol=1e-6, atol=1e-8)
    assert np.shape(second["rows"]) == (3, 2, 10)


def test_no_file_is_left_behind(together: dict[str, Any]) -> None:
    assert [path for path in together["left"] if not path.startswith("kept/")] == []


def test_a_mistake_that_one_process_finds_is_one_of_all(together: dict[str, Any]) -> None:
    assert together["full"] == "the disk of process 0 is full"


def test_what_cannot_be_shared_is_refused(together: dict[str, Any]) -> None:
    assert together["gcn"].startswith("gcn computes all nodes to learn from any, so several processes have no work to")
    for unlike in ("other_nodes", "other_labels"):
        assert together[unlike].startswith(
            "process 1 trains a different problem than process 0: give all processes the same"
        )


def test_a_killed_process_ends_the_job_with_a_message_and_it_can_go_on(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    arguments = [*TRAIN, "--epochs", "60", "--out", str(folder)]
    (code, out, err), killed = ended(start(["-c", KILLED, *arguments]))
    assert (code, out) == (1, "")
    assert killed == (-signal.SIGKILL, "", "")
    assert err.startswith("unifilter: another process of this training has ended. Its own message says why")
    assert err.count("\n") == 1
    assert "--resume" in err
    saved = torch.load(io.BytesIO((folder / "checkpoints" / "split-0.pt").read_bytes().split(b"\n", 2)[2]))
    assert len(saved["history"]["loss"]) == 4

    done = CliRunner().invoke(app, [*arguments, "--resume"])  # by one process, which is as good
    assert done.exit_code == 0, done.output
    assert len((folder / "history" / "split-0.csv").read_text().splitlines()) == 1 + 60
    losses = np.loadtxt(folder / "history" / "split-0.csv", delimiter=",", skiprows=1)[:, 1]
    assert losses[:4].tolist() == pytest.approx(saved["history"]["loss"])


def test_a_mistake_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "notes.txt").write_text("mine")
    done = ended(start(["-c", COMMAND, *TRAIN, "--out", str(tmp_path / "run")]))
    told = "".join(err for _, _, err in done)
    assert told.count("unifilter: ") == 1
    assert "exists: pass --resume to continue the run in it, or another --out" in told
    assert sorted(code for code, _, _ in done) == [1, 2]
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["notes.txt"]


def test_other_commands_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    variables = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    for name, value in {**variables, "TORCHELASTIC_RUN_ID": "test", "GLOO_SOCKET_IFNAME": "lo"}.items():
        monkeypatch.setenv(name, value)
    done = CliRunner().invoke(app, ["results"])
    assert done.exit_code == 2
    assert "torchrun is for unifilter train: run unifilter results without it" in done.stderr


@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.parametrize("rows", [1, 2, 3, 7, 40])
def test_shares_are_all_rows_and_never_a_single_one(rows: int, count: int) -> None:
    nodes = torch.randperm(rows)
    shares = [Peers(rank, count).share(nodes) for rank in range(count)]
    assert torch.cat(shares).equal(nodes)
    assert all(len(share) != 1 for share in shares) or rows == 1


def test_a_group_that_cannot_pass_what_is_needed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_backend", lambda: "nccl")
    with pytest.raises(ValueError, match=r'this group has NCCL alone: call init_process_group\("gloo"\)'):
        Peers.current()


def test_a_single_process_asks_nobody() -> None:
    alone = Peers.current()
    assert (alone.first, alone.several, alone.from_first(3), alone.gathered(4)) == (True, False, 3, [4])
    assert alone.any(True, False) == (True, False)
