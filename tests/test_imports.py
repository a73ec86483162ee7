from __future__ import annotations

import subprocess
import sys

# Not pandas: scikit-learn imports it where it is installed.
OPTIONAL = ("torch_geometric", "optuna", "starlette", "uvicorn")


def test_nothing_optional_is_imported_before_it_is_used() -> None:
    program = f"import sys, unifilter, unifilter.cli; print([name for name in {OPTIONAL} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"
