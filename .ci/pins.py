"""Prints constraints.txt for the versions that are installed: ``python .ci/pins.py > constraints.txt``.

`make pins` runs it in a fresh environment with the newest versions that pyproject.toml allows.
"""

from __future__ import annotations

import sys
from importlib.metadata import distributions

# The package itself, and what every environment brings.
NOT_PINNED = ("unifilter", "pip", "setuptools", "wheel")
# Which of these torch needs, and its own label such as +cpu, differ from index to index.
OF_A_BUILD_OF_TORCH = ("nvidia-", "cuda-", "triton")


def main() -> None:
    """A comment, then one line for each package."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    print(
        f"# The exact versions the tests run with (Python {python}). Install with: pip install -c constraints.txt ..."
    )
    installed = {f"{found.name}=={found.version.split('+')[0]}" for found in distributions() if pinned(found.name)}
    print(*sorted(installed, key=str.lower), sep="\n")


def pinned(name: str) -> bool:
    """Whether a package has a line."""
    return name.lower() not in NOT_PINNED and not name.lower().startswith(OF_A_BUILD_OF_TORCH)


if __name__ == "__main__":
    main()
