"""Factorize many hostile graphs and report every property that does not hold: ``python tests/fuzz.py --help``."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from hostile_cases import excess_dimensions, failures, make_case


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=10_000, help="how many (10,000)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (0); a graph is made from its seed alone")
    options = parser.parse_args()
    started, failed, kinds, excess = time.monotonic(), 0, Counter[str](), Counter[int]()
    for seed in range(options.seed, options.seed + options.graphs):
        case = make_case(seed)
        excess.update(excess_dimensions(case))
        found = failures(case) + [
            f"{one}, re-orthogonalized everywhere" for one in failures(case, reorthogonalize=True)
        ]
        if found:
            failed += 1
            kinds.update(one.partition(":")[0].partition(" by ")[0] for one in found)
            print(f"{case.name}: {'; '.join(found)}", flush=True)
    print(f"{options.graphs:,} graphs, {failed:,} failures, {time.monotonic() - started:.0f} s")
    for kind, count in kinds.most_common():
        print(f"{count:6,}  {kind}")
    print(f"dimensions of {excess.total():,} signals less those in float64 with all vectors re-orthogonalized:")
    print(", ".join(f"{more:+d}: {excess[more]:,}" for more in sorted(excess)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
