"""torch can compile and export the model that reads basis rows."""

from __future__ import annotations

import shutil

import pytest
import torch
from torch import Tensor

from unifilter.nn import UniFilter

pytestmark = pytest.mark.filterwarnings("ignore")


def model_and_rows(channels: int) -> tuple[UniFilter, Tensor]:
    torch.manual_seed(0)
    return UniFilter(channels, 3, hops=4, hidden_channels=40, dropout=0.5, basis_dropout=0.3), torch.randn(
        50, 5, channels
    )


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch compiles with g++")
@pytest.mark.parametrize("channels", [7, 70])
def test_a_compiled_model_gives_the_same_and_learns(channels: int) -> None:
    model, rows = model_and_rows(channels)
    compiled = torch.compile(model, fullgraph=True)
    model.eval()
    torch.testing.assert_close(compiled(rows), model(rows), atol=1e-5, rtol=1e-5)
    model.train()
    first, second = compiled(rows), compiled(rows)
    assert not torch.equal(first, second)  # a new mask at every call
    first.square().sum().backward()
    assert all(parameter.grad is not None and parameter.grad.any() for parameter in model.parameters())
    # Other random numbers, the same distribution.
    draws, eager = (torch.stack([one(rows).detach() for _ in range(500)]) for one in (compiled, model))
    error = ((draws.var(dim=0) + eager.var(dim=0)) / 500).sqrt()
    assert ((draws.mean(dim=0) - eager.mean(dim=0)).abs() < 5 * error).all()
    assert ((draws.std(dim=0) / eager.std(dim=0)).log().abs() < 0.25).all()


@pytest.mark.parametrize("channels", [7, 70])
def test_an_exported_model_gives_the_same(channels: int) -> None:
    model, rows = model_and_rows(channels)
    model.eval()
    exported = torch.export.export(model, (rows,))
    torch.testing.assert_close(exported.module()(rows), model(rows), atol=1e-5, rtol=1e-5)
