"""Training on several processes: each computes its share of the training rows of a step, and gradients are summed.

If ``torch.distributed`` is initialized, for instance by ``torchrun``, :func:`unifilter.training.train` shares the work
automatically. All processes keep the same weights. The first process validates, decides when to stop, and writes files.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed, nn

from unifilter.training.task import Task

T = TypeVar("T")

# Batch normalization needs two rows in every process with rows.
_FEWEST_ROWS = 2


class ProcessLostError(RuntimeError):
    """Another process of the training ended before the training was complete."""


@dataclass(frozen=True)
class Peers:
    """The processes that train one model together. A single process does not communicate.

    Attributes:
        rank: Number of this process, 0 for the first.
        count: Number of processes.
    """

    rank: int = 0
    count: int = 1

    @classmethod
    def current(cls) -> Peers:
        """The processes of the default process group, or this process alone."""
        if not (distributed.is_available() and distributed.is_initialized()):
            return cls()
        if distributed.get_backend() == "nccl":
            raise ValueError(
                "several processes share a training through Gloo, and this group has NCCL alone: call "
                'init_process_group("gloo")'
            )
        return cls(distributed.get_rank(), distributed.get_world_size())

    @property
    def several(self) -> bool:
        return self.count > 1

    @property
    def first(self) -> bool:
        """Whether this is the first process, which writes files and decides when to stop."""
        return self.rank == 0

    def from_first(self, value: Any) -> Any:
        """The value of the first process, broadcast to all processes."""
        if not self.several:
            return value
        holder = [value]
        with _lost():
            distributed.broadcast_object_list(holder, src=0)
        return holder[0]

    def gathered(self, value: Any) -> list[Any]:
        """The values of all processes, sorted by rank."""
        if not self.several:
            return [value]
        found: list[Any] = [None] * self.count
        with _lost():
            distributed.all_gather_object(found, value)
        return found

    def once(self, work: Callable[[], T], *, on_each_machine: bool = False) -> T:
        """The result of some work that the first process does for all, or the first one of each machine.

        A ``ValueError`` of one process is raised in all of them, so that none waits for the others.
        """
        if not self.several:
            return work()
        machines = self.gathered(platform.node() if on_each_machine else "")
        worker = machines.index(machines[self.rank])
        result: T | None = None
        error: ValueError | None = None
        if self.rank == worker:
            try:
                result = work()
            except ValueError as raised:
                error = raised
        outcomes = self.gathered((result, error))
        for _, wrong in outcomes:
            if wrong is not None:
                raise wrong
        return outcomes[worker][0]  # type: ignore[no-any-return]

    def summed(self, values: Tensor) -> Tensor:
        """The sum of values over the processes."""
        with _lost():
            distributed.all_reduce(values)
        return values

    def any(self, *flags: bool) -> tuple[bool, ...]:
        """Whether each flag is true in any process."""
        if not self.several:
            return flags
        return tuple(self.summed(torch.tensor(flags, dtype=torch.float64)).bool().tolist())

    def check_same(self, how: object, *tensors: Tensor | None) -> None:
        """Refuse to train one model with settings, nodes or labels that differ between processes."""
        if not self.several:
            return
        digest = hashlib.sha256(repr(how).encode())
        for some in tensors:
            digest.update(b"none" if some is None else some.cpu().numpy().tobytes())
        first, *others = self.gathered(digest.hexdigest())
        for rank, other in enumerate(others, start=1):
            if other != first:
                raise ValueError(
                    f"process {rank} trains a different problem than process 0: give all processes the same data, "
                    "settings and seeds, and all of the data to each"
                )

    def share(self, nodes: Tensor) -> Tensor:
        """The rows of a step for this process. With too few rows, the last processes get none."""
        parts = max(1, min(self.count, len(nodes) // _FEWEST_ROWS))
        return torch.tensor_split(nodes, parts)[self.rank] if self.rank < parts else nodes[:0]

    def same_weights(self, model: nn.Module) -> None:
        """Copy the weights and buffers of the first process to all processes."""
        if self.several:
            with torch.no_grad(), _lost():
                for value in model.state_dict().values():
                    distributed.broadcast(value, src=0)

    def mean_buffers(self, model: nn.Module) -> None:
        """Average the statistics of normalization layers, which each process computes on its own rows."""
        for buffer in model.buffers():
            if buffer.is_floating_point():
                buffer.copy_(self.summed(buffer.clone()) / self.count)

    def sum_gradients(self, parameters: Sequence[nn.Parameter], loss: float) -> float:
        """Sum the gradients in place, and the loss. A parameter without a gradient in every process keeps none."""
        parts = [torch.zeros_like(one) if one.grad is None else one.grad for one in parameters]
        numbers = parts[0].new_tensor([loss, *(one.grad is not None for one in parameters)])
        # One message for all gradients and the loss.
        total = self.summed(torch.cat([*(part.flatten() for part in parts), numbers]))
        *sums, (whole, *known) = torch.split(total, [*(part.numel() for part in parts), len(numbers)])
        for parameter, gradient, count in zip(parameters, sums, known, strict=True):
            parameter.grad = gradient.view_as(parameter) if count > 0 else None
        return float(whole)

    def outputs(self, forward: Callable[[Tensor], Tensor], nodes: Tensor) -> Tensor:
        """Outputs for some nodes. Each process computes a part."""
        parts = torch.tensor_split(nodes, self.count)
        return torch.cat(self.gathered(forward(parts[self.rank]))) if self.several else forward(nodes)

    def one_epoch(
        self,
        model: nn.Module,
        forward: Callable[[Tensor], Tensor],
        task: Task,
        nodes: Tensor,
        optimizer: torch.optim.Optimizer,
        batch_size: int | None,
        announce: Callable[[Sequence[Tensor]], None] | None,
        seed: int,
    ) -> float:
        """Train on all training rows once, and return the mean loss.

        The gradient of a step is the gradient of the mean loss over all rows of the step, for any division into shares:
        each process counts by the weight of its rows.

        Args:
            model: The module.
            forward: Outputs for some nodes.
            task: The known answers and the loss.
            nodes: Training nodes of all processes.
            optimizer: Optimizer of this process, with all weights.
            batch_size: Rows per step, over all processes.
            announce: Called before the first step with the rows of this process for every step.
            seed: Random seed for the order of the rows; the same in all processes.
        """
        model.train()
        batches = [nodes]
        if batch_size is not None and batch_size < len(nodes):
            order = torch.randperm(len(nodes), generator=torch.Generator().manual_seed(seed)).to(nodes.device)
            batches = list(torch.split(nodes[order], batch_size))
            if len(batches[-1]) == 1:
                batches[-2:] = [torch.cat(batches[-2:])]
        parameters = [one for group in optimizer.param_groups for one in group["params"]]
        total, weight = 0.0, task.total_weight(nodes)
        batches = [batch for batch in batches if task.total_weight(batch) > 0]
        own_batches = [(own, task.total_weight(own) if len(own) else 0.0) for own in map(self.share, batches)]
        if announce is not None:
            announce([own for own, of_own in own_batches if of_own > 0])
        for batch, (own, of_own) in zip(batches, own_batches, strict=True):
            of_batch = task.total_weight(batch)
            share, loss = of_own / of_batch, 0.0
            optimizer.zero_grad()
            if share > 0:
                part = task.loss(forward(own), own) * share
                part.backward()  # type: ignore[no-untyped-call]
                loss = float(part.detach())
            total += self.sum_gradients(parameters, loss) * of_batch / weight
            optimizer.step()
        self.mean_buffers(model)
        return total


@contextmanager
def _lost() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise ProcessLostError(
            "another process of this training has ended. Its own message says why; one without a message was killed, "
            "for instance for lack of memory. Start all of them again, with resume=True to go on from what was saved"
        ) from error
