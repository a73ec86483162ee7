"""`make audit` never takes a package that was not looked up for one without vulnerabilities."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

outcome = runpy.run_path(str(Path(__file__).parent.parent / ".ci" / "audit.py"))["outcome"]

CLEAN = {"name": "numpy", "version": "2.4.6", "vulns": []}
UNKNOWN = {"name": "torch", "skip_reason": "not found on PyPI"}
HOLED = {
    "name": "requests",
    "version": "2.30.0",
    "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.31.0"]}, {"id": "PYSEC-2", "fix_versions": []}],
}


def audited(*packages: dict[str, Any]) -> tuple[list[str], int]:
    return outcome(json.dumps({"dependencies": packages, "fixes": []}), "")


def test_known_vulnerabilities_fail_and_name_the_remedy() -> None:
    assert audited(CLEAN, HOLED) == (
        [
            "requests 2.30.0: PYSEC-1, fixed in 2.31.0",
            "requests 2.30.0: PYSEC-2, fixed in no version yet",
            "2 of 2 pinned packages audited: 2 known vulnerabilities",
        ],
        1,
    )


def test_none_known_is_said_of_what_was_looked_up_only() -> None:
    assert audited(CLEAN, UNKNOWN) == (
        [
            "not looked up: torch (not found on PyPI)",
            "1 of 2 pinned packages audited: 0 known vulnerabilities",
        ],
        0,
    )


def test_where_nothing_could_be_looked_up_nothing_is_said_of_the_packages() -> None:
    lines, code = audited(UNKNOWN, UNKNOWN)
    assert lines == [
        "NOT AUDITED: none of 2 packages could be looked up (not found on PyPI). "
        "Run `make audit` where https://pypi.org/pypi can be reached."
    ]
    assert code == 0


@pytest.mark.parametrize("report", ["", "{}", "Traceback"])
def test_a_failure_of_pip_audit_is_no_clean_bill(report: str) -> None:
    lines, code = outcome(report, "trying\nERROR: Could not connect to the service\n")
    assert lines[0].startswith("NOT AUDITED: ERROR: Could not connect to the service.")
    assert code == 0
    assert outcome(report, "")[0][0].startswith("NOT AUDITED: pip-audit wrote no report.")
