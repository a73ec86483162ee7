"""Commands that ``torchrun`` starts in several processes: the first one prints, and an error is reported once."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from datetime import timedelta
from types import FrameType
from typing import Any

import typer

from unifilter.cli.spelling import for_command_line

# Commands that share their work between processes. Other commands would repeat all work in each process.
SHARED = ("train",)

# A factorization by the first process, for which the others wait, can take hours. The end of a process is noticed at
# once, whatever the limit.
_LONGEST_WAIT = timedelta(days=1)


def started_by_torchrun() -> bool:
    """Whether ``torchrun`` started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def check_shared(command: str) -> None:
    """Refuse a command that several processes cannot share."""
    if started_by_torchrun() and command not in SHARED:
        raise ValueError(f"torchrun is for unifilter {' and '.join(SHARED)}: run unifilter {command} without it")


@contextmanager
def joined_processes() -> Iterator[None]:
    """Join the processes of ``torchrun`` in a process group; does nothing without ``torchrun``."""
    if not started_by_torchrun():
        yield
        return
    # Set before torch is imported: when one process ends, the others would print long C++ stack traces.
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    from torch import distributed

    rank, count = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    hosts = rank == 0 and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
    address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    server = distributed.TCPStore(address, port, count, hosts)  # type: ignore[attr-defined]
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    store = distributed.PrefixStore(f"unifilter/{attempt}", server)  # type: ignore[attr-defined]
    distributed.init_process_group("gloo", store=store, rank=rank, world_size=count, timeout=_LONGEST_WAIT)
    before = signal.signal(signal.SIGTERM, _terminated)
    try:
        with ExitStack() as stack:
            if rank > 0:
                stack.enter_context(redirect_stdout(stack.enter_context(open(os.devnull, "w", encoding="utf-8"))))
                stack.enter_context(warnings.catch_warnings())
                warnings.simplefilter("ignore")
            yield
        # The first process hosts the store, which the others may still need.
        distributed.barrier()
    except Exception as error:
        _tell_once(error, store)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)
        distributed.destroy_process_group()


def _tell_once(error: Exception, store: Any) -> None:
    """Exit silently if another process has already failed, because that process reports its error."""
    from unifilter.training import ProcessLostError

    try:
        told = store.add("failures", 1) > 1
    except RuntimeError:  # the process that hosts the store has ended
        told = int(os.environ["RANK"]) > 0
    if told:
        raise typer.Exit(1) from error
    if isinstance(error, ProcessLostError):
        typer.echo(f"unifilter: {for_command_line(str(error))}", err=True)
        raise typer.Exit(1) from error


def _terminated(number: int, frame: FrameType | None) -> None:
    from unifilter.training import ProcessLostError

    raise ProcessLostError(
        "this process was told to end (SIGTERM): another process of the training has ended, or the job was stopped. "
        "Start the same command with --resume to go on from what was saved"
    )
