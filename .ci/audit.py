"""Looks up known vulnerabilities of the versions in constraints.txt: ``python .ci/audit.py``.

pip-audit runs in an environment of its own, which is deleted afterwards. The exit code is 1 where a vulnerability is
known, and 0 where none is. It is 0 too where the network does not let pip-audit ask, since that says nothing about the
versions; the last line then reads NOT AUDITED.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

CONSTRAINTS = Path(__file__).parent.parent / "constraints.txt"
# Only what is written in the file, asked for by name and version: nothing of it is installed or resolved.
ARGUMENTS = ("--no-deps", "--disable-pip", "--progress-spinner", "off", "--format", "json", "--requirement")


def main() -> int:
    """Install pip-audit, run it, and say what it found."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        install = [python, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "pip-audit"]
        if subprocess.run(install, check=False).returncode != 0:
            lines, code = not_audited("pip-audit cannot be installed from here")
        else:
            command = [python, "-m", "pip_audit", *ARGUMENTS, CONSTRAINTS]
            run = subprocess.run(command, capture_output=True, text=True, check=False)
            lines, code = outcome(run.stdout, run.stderr)
    print(*lines, sep="\n")
    return code


def outcome(report: str, complaints: str) -> tuple[list[str], int]:
    """What to print, and the exit code.

    Args:
        report: The JSON that pip-audit wrote; empty where it failed.
        complaints: What it wrote to stderr.
    """
    try:
        packages: list[dict[str, Any]] = json.loads(report)["dependencies"]
    except (json.JSONDecodeError, KeyError):
        last = complaints.strip().splitlines()[-1:] or ["pip-audit wrote no report"]
        return not_audited(last[0])
    # pip-audit itself counts a package that it could not look up as one without vulnerabilities.
    skipped = [package for package in packages if "skip_reason" in package]
    if skipped and len(skipped) == len(packages):
        return not_audited(f"none of {len(packages)} packages could be looked up ({skipped[0]['skip_reason']})")
    lines = [f"not looked up: {package['name']} ({package['skip_reason']})" for package in skipped]
    found = [(package, known) for package in packages for known in package.get("vulns", [])]
    for package, known in found:
        fixed = ", ".join(known["fix_versions"]) or "no version yet"
        lines.append(f"{package['name']} {package['version']}: {known['id']}, fixed in {fixed}")
    audited = len(packages) - len(skipped)
    lines.append(f"{audited} of {len(packages)} pinned packages audited: {len(found)} known vulnerabilities")
    return lines, 1 if found else 0


def not_audited(why: str) -> tuple[list[str], int]:
    """No failure of the versions, and no clean bill for them."""
    return [f"NOT AUDITED: {why}. Run `make audit` where https://pypi.org/pypi can be reached."], 0


if __name__ == "__main__":
    sys.exit(main())
