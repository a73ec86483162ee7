from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unifilter
from unifilter.kernels.compiled.compiling import compile_kernel

SCRIPT = """
import torch
from unifilter.kernels.compiled import dropout
from unifilter.kernels.dropout import drop_rows
print(len(drop_rows(torch.ones(50, 40), 0.5, 1).unique(dim=0)))
print(sum(dropout._drop_rows.stats.cache_hits.values()))
print(dropout._drop_rows.stats.cache_path)
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package, without machine code."""
    source = Path(unifilter.__file__).parent
    ignored = shutil.ignore_patterns("__pycache__", "results", "page", "built")
    return Path(shutil.copytree(source, tmp_path / "src" / "unifilter", ignore=ignored))


def run(package: Path) -> list[str]:
    """How many different rows a mask has, how often machine code was found, and where it is kept."""
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment |= {
        "PYTHONPATH": str(package.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        "XDG_CACHE_HOME": str(package.parents[1] / "cache"),
        "HOME": str(package.parents[1]),
    }
    command = [sys.executable, "-c", SCRIPT]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


@pytest.mark.slow
def test_a_change_in_an_imported_inline_function_is_compiled(package: Path) -> None:
    assert run(package)[:2] == ["50", "0"]
    assert run(package)[:2] == ["50", "1"]  # kept, and found again
    imported = package / "kernels" / "compiled" / "random_bits.py"
    source = imported.read_text(encoding="utf-8")
    # The key of a row no longer depends on the row.
    changed = source.replace("return mixed ^ (mixed >> _SHIFT_3)", "return mixed & np.uint64(0)")
    assert changed != source
    imported.write_text(changed, encoding="utf-8")
    assert run(package)[:2] == ["1", "0"]
    assert run(package)[:2] == ["1", "1"]


@pytest.mark.slow
def test_where_nothing_can_be_written_beside_the_source_the_user_s_folder_is_taken(package: Path) -> None:
    # A file in the place of the folder: permissions would not stop an administrator.
    (package / "kernels" / "compiled" / "__pycache__").write_text("", encoding="utf-8")
    assert run(package)[:2] == ["50", "0"]
    rows, hits, place = run(package)
    assert (rows, hits) == ("50", "1")
    assert not Path(place).is_relative_to(package)


def test_two_processes_that_compile_at_once_do_not_mix_up_their_machine_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "width.py"
    source.write_text("def width(x):\n    return x.itemsize\n", encoding="utf-8")
    width = runpy.run_path(str(source))["width"]
    # A dispatcher is what a process has. Both find an empty index, and one writes while the other does.
    one, other, later = (compile_kernel(width) for _ in range(3))
    for process in (one, other):
        monkeypatch.setattr(process._cache._cache_file, "_load_index", dict)
    written = one._cache._cache_file._save_data

    def meanwhile(*arguments: Any) -> None:
        assert other(np.ones(3, np.float64)) == 8
        written(*arguments)

    monkeypatch.setattr(one._cache._cache_file, "_save_data", meanwhile)
    assert one(np.ones(3, np.float32)) == 4
    assert later(np.ones(3, np.float64)) == 8
    assert later(np.ones(3, np.float32)) == 4
