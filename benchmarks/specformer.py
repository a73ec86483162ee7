"""An epoch of Specformer, against the same model on torch's attention and matrix products."""

from __future__ import annotations

from unittest import mock

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from benchmarks.report import Report, print_table, seconds
from benchmarks.timing import interleaved
from unifilter.nn import specformer
from unifilter.nn.specformer import Specformer

# As many nodes, features and classes as Actor, and its published settings.
_NODES, _FEATURES, _CLASSES = 7_600, 932, 5
_TARGET = 2.0


def run_specformer(repeats: int, report: Report) -> None:
    torch.manual_seed(0)
    x, values = torch.rand(_NODES, _FEATURES), torch.linspace(0, 2, _NODES)
    # Any matrix of this size takes as long as one of eigenvectors.
    vectors = torch.randn(_NODES, _NODES) / _NODES**0.5
    model = Specformer(_FEATURES, 32, _CLASSES, heads=1, attention_dropout=0.5, dropout=0.8, filter_dropout=0.5)

    def epoch() -> None:
        model.train()
        model.forward_spectrum(x, values, vectors).square().mean().backward()
        model.eval()
        with torch.no_grad():
            model.forward_spectrum(x, values, vectors)

    def epoch_over_torch() -> None:
        with mock.patch.multiple(
            specformer, attention=_torch_attention, _ToSpectrum=_ToSpectrum, _FromSpectrum=_FromSpectrum
        ):
            epoch()

    times = interleaved({"ours": epoch, "torch": epoch_over_torch}, repeats)
    ratio = times["torch"].best / times["ours"].best
    check = report.at_least("Specformer at the size of Actor: over torch / ours, one epoch", ratio, _TARGET)
    report.figures["specformer"] = {name: timing.best for name, timing in times.items()}
    print_table(
        f"One epoch of Specformer, {_NODES:,} nodes",
        ["ours", "over torch", "over torch / ours"],
        [[*(seconds(timing.best) for timing in times.values()), check]],
    )


def _torch_attention(queries: Tensor, keys: Tensor, values: Tensor, p: float) -> Tensor:
    return scaled_dot_product_attention(queries[None], keys[None], values[None], dropout_p=p)[0]


class _ToSpectrum:
    @staticmethod
    def apply(x: Tensor, vectors: Tensor) -> Tensor:
        return x.T @ vectors


class _FromSpectrum:
    @staticmethod
    def apply(spectral: Tensor, vectors: Tensor) -> Tensor:
        return vectors @ spectral.T
