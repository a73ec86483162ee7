"""The rows that come with the package are those of today's code and settings."""

from __future__ import annotations

import json

import pytest
from real_graphs import needs_data

from unifilter.experiments import EXPERIMENTS, Options, Sources
from unifilter.experiments.engine.cells import key_of
from unifilter.experiments.engine.plan import Planner
from unifilter.experiments.engine.row_files import packaged_rows

ROWS = packaged_rows()


@needs_data
@pytest.mark.parametrize("name", sorted({row["experiment"] for row in ROWS}))
def test_every_row_is_a_cell_that_would_be_run_today(name: str) -> None:
    own = [row for row in ROWS if row["experiment"] == name]
    datasets = tuple(dict.fromkeys(row["dataset"] for row in own))
    wanted = set()
    for trials in {row["settings"].get("trials") for row in own}:
        planned = Planner(Sources(), Options(datasets=datasets, trials=trials)).plan(EXPERIMENTS[name], alone=True)
        wanted |= {(cell.key, json.dumps(cell.cell.at)) for cell in planned.cells}
    stale = [
        f"{row['dataset']} split {row['index']} {row['at']}"
        for row in own
        if (key_of(row), json.dumps(row["at"])) not in wanted
    ]
    assert stale == []
