"""``unifilter methods``: the available methods, their cost and their requirements."""

from __future__ import annotations

from unifilter.cli.options import AsJson
from unifilter.cli.output import print_json, print_table
from unifilter.methods import METHODS


def methods_command(as_json: AsJson = False) -> None:
    """List the methods with their paper, cost and extra requirements."""
    rows = [
        {"name": method.name, "paper": method.paper, "cost": method.cost, "needs": method.needs}
        for method in METHODS.values()
    ]
    if as_json:
        print_json(rows)
    else:
        print_table([tuple(row.values()) for row in rows], header=("name", "paper", "cost", "needs"))
