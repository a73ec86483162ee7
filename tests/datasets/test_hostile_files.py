from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import hostile_files as hostile
import pytest


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What the command line says to every file, in a process with little memory; a crash costs one file's answer."""
    waiting = hostile.write_all(tmp_path_factory.mktemp("hostile"))
    found: dict[str, dict[str, Any]] = {}
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    while waiting:
        ended = subprocess.run(
            [sys.executable, hostile.__file__, *map(str, waiting)],
            env=environment,
            capture_output=True,
            text=True,
        )
        lines = [json.loads(line) for line in ended.stdout.splitlines()]
        found.update({line["name"]: line for line in lines if "name" in line})
        started = [line["start"] for line in lines if "start" in line]
        assert started, ended.stderr
        if started[-1] not in found:
            found[started[-1]] = {"code": ended.returncode, "stderr": f"crashed: {ended.stderr}"}
        waiting = [path for path in waiting if path.name not in found]
    return found


@pytest.mark.parametrize("name", hostile.MAKERS)
def test_a_hostile_file_is_refused_with_a_message(name: str, answers: dict[str, dict[str, Any]]) -> None:
    answer = answers[name]
    assert answer["code"] == 2, answer["stderr"]
    assert hostile.MESSAGES[name] in answer["stderr"]
    assert len(answer["stderr"]) < 1000
