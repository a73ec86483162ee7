"""Runs of one or several methods: run folders, comparison, tuning and plots."""

from unifilter.runs.comparison import Compared, compare, plot_responses
from unifilter.runs.plots import plot_histories, plot_weights
from unifilter.runs.record import peak_memory_mib, record_of
from unifilter.runs.run import Run
from unifilter.runs.run_folder import RunFolder
from unifilter.runs.typical_response import response_quartiles, typical_response

__all__ = [
    "Compared",
    "Run",
    "RunFolder",
    "compare",
    "peak_memory_mib",
    "plot_histories",
    "plot_responses",
    "plot_weights",
    "record_of",
    "response_quartiles",
    "typical_response",
]
