from __future__ import annotations

import pytest
import torch
from strategies import connected_graph, signals

from unifilter import Factorization, factorize
from unifilter.nn import LearnedUniBasis, UniFilter


def factorization(dtype: torch.dtype = torch.float64) -> Factorization:
    graph = connected_graph()
    x = signals(graph, 4, 0, dtype)
    x[:, 2] = 0
    return factorize(graph, x, hops=5)


@pytest.mark.parametrize("learned", [(True, True), (True, False), (False, True), (False, False)])
@pytest.mark.parametrize(("tau", "homophily"), [(0.5, 0.5), (0.1, 0.9), (0.9, 0.03)])
def test_it_is_the_fixed_basis_at_the_same_place(learned: tuple[bool, bool], tau: float, homophily: float) -> None:
    fact = factorization()
    basis = LearnedUniBasis(tau, homophily, *learned).double()
    assert float(basis.tau.detach()) == pytest.approx(tau)
    assert float(basis.homophily.detach()) == pytest.approx(homophily)
    torch.testing.assert_close(basis(fact.tridiagonal).detach(), fact.coefficients("uni", tau=tau, homophily=homophily))


def test_what_is_not_learned_may_be_at_the_end_of_its_range() -> None:
    fact = factorization()
    basis = LearnedUniBasis(1.0, 0.0, learn_tau=False, learn_theta=False)
    torch.testing.assert_close(basis(fact.tridiagonal), fact.coefficients("homophily"))
    assert not list(basis.parameters())


def test_what_is_learned_starts_where_it_can_move() -> None:
    basis = LearnedUniBasis(1.0, 0.0)
    assert float(basis.tau.detach()) == pytest.approx(0.98)
    assert float(basis.homophily.detach()) == pytest.approx(0.02)


def test_only_what_is_learned_is_a_parameter() -> None:
    names = {
        (tau, theta): [name for name, _ in LearnedUniBasis(0.3, 0.4, tau, theta).named_parameters()]
        for tau in (False, True)
        for theta in (False, True)
    }
    assert names == {
        (False, False): [],
        (True, False): ["raw.tau"],
        (False, True): ["raw.homophily"],
        (True, True): ["raw.tau", "raw.homophily"],
    }


@pytest.mark.parametrize(("tau", "homophily"), [(0.5, 0.5), (0.2, 0.95), (0.97, 0.04)])
def test_slopes_against_finite_differences(tau: float, homophily: float) -> None:
    tridiagonal, basis = factorization().tridiagonal, LearnedUniBasis(tau, homophily).double()
    parameters = dict(basis.named_parameters())

    def coefficients(*values: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(basis, dict(zip(parameters, values, strict=True)), (tridiagonal,))

    assert torch.autograd.gradcheck(coefficients, tuple(parameters.values()))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("far", [-100.0, -12.0, 9.0, 18.0, 100.0])
def test_slopes_stay_numbers_however_far_the_parameters_go(dtype: torch.dtype, far: float) -> None:
    basis = LearnedUniBasis().to(dtype)
    for parameter in basis.parameters():
        torch.nn.init.constant_(parameter, far)
    basis(factorization(dtype).tridiagonal).square().sum().backward()
    for parameter in basis.parameters():
        assert parameter.grad is not None
        assert torch.isfinite(parameter.grad)
    assert 0 < basis.tau < 1
    assert 0 < basis.homophily < 1


def test_a_zero_channel_stays_zero() -> None:
    assert not LearnedUniBasis()(factorization().tridiagonal)[:, :, 2].any()


def test_the_state_is_what_is_learned_and_where_the_rest_stays() -> None:
    tridiagonal = factorization().tridiagonal
    basis = LearnedUniBasis(0.3, 0.4, learn_theta=False)
    assert set(basis.state_dict()) == {"raw.tau", "fixed_homophily"}
    other = LearnedUniBasis(0.8, 0.9, learn_theta=False)
    other.load_state_dict(basis.state_dict())
    assert torch.equal(other(tridiagonal), basis(tridiagonal))


@pytest.mark.parametrize("setting", [{"tau": 1.5}, {"homophily": -0.5}])
def test_values_out_of_range_are_refused(setting: dict[str, float]) -> None:
    name, value = next(iter(setting.items()))
    with pytest.raises(ValueError, match=rf"{name} must lie in \[0, 1\], not {value}"):
        LearnedUniBasis(**setting)


def test_a_reset_goes_back_to_the_start_and_a_model_takes_a_basis_as_it_is() -> None:
    basis = LearnedUniBasis(0.3, 0.4)
    for parameter in basis.parameters():
        torch.nn.init.constant_(parameter, 2.0)
    learned = basis.tau.item(), basis.homophily.item()
    model = UniFilter(4, 3, hops=5, learned_basis=basis)
    assert (basis.tau.item(), basis.homophily.item()) == learned
    model.reset_parameters()
    assert (basis.tau.item(), basis.homophily.item()) == (pytest.approx(0.3), pytest.approx(0.4))
