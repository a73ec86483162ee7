"""UniFilter on a factorization on disk: rows are read in batches, under the memory limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from unifilter._internal.memory import said_bytes
from unifilter.factorization import StoredRows
from unifilter.factorization.stored.filtered import filtered_rows, in_parts
from unifilter.methods.method import Learner
from unifilter.methods.problem import Problem
from unifilter.nn import UniFilter
from unifilter.training import Peers

if TYPE_CHECKING:
    from unifilter.methods.uni_filter import UniFilterMethod

# Arrays that a layer keeps for each row: input, mask, output, and their gradients.
_COPIES = 4
# Larger batches bring no speedup.
_MOST_ROWS = 1 << 16


def stored_learner(method: UniFilterMethod, problem: Problem, model: UniFilter, rows: StoredRows) -> Learner:
    """The learner of :class:`unifilter.methods.UniFilterMethod` on stored vectors."""
    workspace, fact = problem.workspace, rows.fact
    storage = workspace.storage
    assert storage is not None
    rows.keep(storage.rows(fact, np.union1d(problem.train, problem.val)))
    of_network = _COPIES * (fact.channels + method.hidden_channels * method.num_layers) * fact.dtype.itemsize
    # The next batch is read during training on the current batch.
    of_row = of_network + (0 if rows.kept_in_memory else 2 * fact.row_bytes)
    room = min(Peers.current().gathered(storage.memory_left))
    size = min(method.batch_size or len(problem.train), len(problem.train))
    if size * of_row > room:
        most = room // of_row
        remedy = f"pass batch_size={_rounded(most)}" if most >= 1 else "raise memory_limit"
        raise ValueError(
            f"training on {size:,} rows at once needs {said_bytes(size * of_row)} of memory, and memory_limit leaves "
            f"{said_bytes(room)}: {remedy}"
        )
    at_once = int(min(max(room // (2 * (of_network + 2 * fact.row_bytes)), 1), _MOST_ROWS))

    def forward(nodes: Tensor) -> Tensor:
        if torch.is_grad_enabled():
            return model(rows[nodes])  # type: ignore[no-any-return]
        return in_parts(lambda part: model(rows[part]), nodes, at_once)

    def outputs() -> Tensor:
        features, graph = workspace.prepared_features(method.features), workspace.graph(method.self_loops)
        parts = filtered_rows(fact, graph, features, model.lanczos_weights())
        return torch.cat([in_parts(model.mlp, part, at_once) for part in parts])

    def everywhere() -> Tensor:
        return Peers.current().once(outputs)

    return Learner(
        model,
        method.shape(problem),
        forward,
        method.parameter_groups(model),
        method.stop_rule(),
        row_wise=True,
        everywhere=None if fact.nodes is None else everywhere,
        announce=rows.announce,
    )


def _rounded(count: int) -> int:
    """The count rounded down to a number that is easy to type."""
    unit = 10 ** (len(str(count)) - 1)
    return int(count // unit * unit)
