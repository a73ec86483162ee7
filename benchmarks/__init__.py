"""Measurements against the published algorithm, PyG and the machine's own limits: ``python -m benchmarks``."""
