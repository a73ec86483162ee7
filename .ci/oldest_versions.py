"""Prints constraints for the oldest versions that pyproject.toml allows: ``python .ci/oldest_versions.py``.

What the library and its extras need is set to its lower bound. What only tests need, and torch, keep the versions of
constraints.txt: the oldest torch from a package index comes with several gigabytes of CUDA libraries. The rest is
left to pip, since the pinned versions need not fit the old ones.
"""

from __future__ import annotations

import re
from pathlib import Path

import tomllib

REPOSITORY = Path(__file__).parent.parent
USER_EXTRAS = ("pyg", "tables", "tune", "explore", "onnx", "tensorboard", "mlflow", "scale")
TEST_EXTRAS = ("bench", "test")
NOT_OLDEST = ("torch",)


def main() -> None:
    """One line for each package."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    pinned = dict(re.findall(r"^([\w.-]+)==(\S+)$", (REPOSITORY / "constraints.txt").read_text(), re.MULTILINE))
    pinned = {plain(name): version for name, version in pinned.items()}
    for requirement in [*project["dependencies"], *(line for extra in USER_EXTRAS for line in extras[extra])]:
        found = re.match(r"([\w.-]+)>=([\w.]+)", requirement)
        if found is None:
            raise SystemExit(f"{requirement} in pyproject.toml has no lower bound: write it as name>=version")
        name, oldest = found.groups()
        print(f"{name}=={pinned[name] if name in NOT_OLDEST else oldest}")
    for requirement in (line for extra in TEST_EXTRAS for line in extras[extra]):
        name = re.split(r"[<>=\[; ]", requirement)[0]
        if name != project["name"]:
            print(f"{name}=={pinned[plain(name)]}")


def plain(name: str) -> str:
    """A name of a package as all its spellings have it."""
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    main()
