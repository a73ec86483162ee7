from __future__ import annotations

import json

from typer.testing import CliRunner

from unifilter import cli
from unifilter.methods import METHODS


def test_every_method_is_listed_with_its_paper_cost_and_needs() -> None:
    result = CliRunner().invoke(cli.app, ["methods"])
    assert result.exit_code == 0
    header, *lines = result.stdout.splitlines()
    assert header.split() == ["name", "paper", "cost", "needs"]
    assert [line.split()[0] for line in lines] == list(METHODS)
    for line, method in zip(lines, METHODS.values(), strict=True):
        assert method.paper in line
        assert method.cost in line
        assert line.endswith(method.needs)


def test_the_list_as_json() -> None:
    listed = json.loads(CliRunner().invoke(cli.app, ["methods", "--json"]).stdout)
    assert [row["name"] for row in listed] == list(METHODS)
    assert listed[-1].keys() == {"name", "paper", "cost", "needs"}
    assert {row["name"]: row["needs"] for row in listed}["gcn"] == "nothing"
