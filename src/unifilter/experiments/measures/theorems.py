"""Measurements of the theorems' claims about bases and frequencies on a graph."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unifilter.bases.heterophily import cosine_of_angle
from unifilter.experiments.engine.cells import Cell
from unifilter.experiments.measures.energy import unit_columns
from unifilter.factorization import Factorization, factorize
from unifilter.graph import edge_homophily, signal_frequency
from unifilter.kernels.combine import combine
from unifilter.methods import Workspace

# Smaller angles count as zero: 100 times the float64 angle whose cosine is one ulp below 1.
_ZERO_DEGREES = 1e-4


# At 0 the published code agrees with the paper, and at 1 it uses no angles.
_PUBLISHED_TAU = 0.5


def measure_basis(workspace: Workspace, cell: Cell) -> dict[str, Any]:
    """Measure Theorems 3.1, 4.1 and 4.3 and Proposition 2.3 on a graph.

    These are angles of the homophily basis over many hops (Theorem 4.1), angles of the heterophily basis (Theorem 4.3)
    in both formulations, frequencies (Proposition 2.3), and the frequency of the labels (Theorem 3.1).
    """
    dataset, settings = workspace.dataset, cell.settings
    homophily = edge_homophily(dataset.graph, dataset.labels)
    columns = unit_columns(workspace, settings)
    deep = factorize(workspace.graph(), columns, settings["hops"])
    angles = _successive_angles(deep)
    shallow = factorize(workspace.graph(), columns, settings["basis_hops"])
    whole = shallow.dimension > settings["basis_hops"]
    frequencies = shallow.frequencies("uni", tau=0.5, homophily=homophily)
    return {
        "homophily": homophily,
        "channels": columns.shape[1],
        "angle_last": float(angles[-1].mean()),
        "angle_first": float(angles[0].mean()),
        "converged_share": float((angles[-1] < 1.0).double().mean()),
        "monotone_share": float(_falls_at_last(angles).double().mean()),
        "exhausted_share": float((~whole).double().mean()),
        "angle_error": _angle_error(shallow, homophily, None, whole),
        "angle_error_exhausted": _angle_error(shallow, homophily, None, ~whole),
        "angle_error_released": _angle_error(shallow, homophily, _PUBLISHED_TAU, whole),
        "frequency_low": float(frequencies.min()),
        "frequency_high": float(frequencies.max()),
        **_label_frequencies(workspace, homophily),
    }


def measure_pivot(workspace: Workspace, cell: Cell) -> dict[str, Any]:
    r"""Theorem 4.2: the frequency of signals at a given angle from the constant signal, on a random regular graph.

    The mean over random graphs is :math:`n (1 - \cos^2\theta) / (2 (n - 1))`.
    """
    graph, nodes = workspace.graph(), workspace.graph().num_nodes
    constant = torch.full((nodes, 1), 1 / math.sqrt(nodes), dtype=torch.float64)
    noise = torch.from_numpy(np.random.RandomState(1).standard_normal((nodes, cell.settings["signals"])))
    noise = noise - constant * (constant * noise).sum(dim=0)
    noise = noise / torch.linalg.vector_norm(noise, dim=0)
    radians = [math.radians(angle) for angle in cell.settings["degrees"]]
    measured = [
        float(signal_frequency(graph, math.cos(angle) * constant + math.sin(angle) * noise).mean()) for angle in radians
    ]
    return {
        "measured": measured,
        "expected": [nodes * math.sin(angle) ** 2 / (2 * (nodes - 1)) for angle in radians],
        "printed": [(nodes + 1 - 2 * math.cos(angle) ** 2) / (4 * (nodes - 1)) for angle in radians],
    }


def _successive_angles(fact: Factorization) -> Tensor:
    """Angles between ``P^k x`` and ``P^(k+1) x`` in degrees, ``[hops, channels]``, exact on the Lanczos vectors."""
    powers = fact.coefficients("homophily").double()
    length = torch.linalg.vector_norm(powers, dim=1, keepdim=True)
    powers = powers / torch.where(length > 0, length, 1.0)
    # From the distance of unit vectors, because the cosine loses small angles to rounding.
    chord = torch.linalg.vector_norm(powers[1:] - powers[:-1], dim=1)
    return torch.rad2deg(2 * torch.asin((chord / 2).clamp(max=1)))


def _falls_at_last(angles: Tensor) -> Tensor:
    """Whether the angle never grows in the second half of the hops, or has vanished; bool ``[channels]``."""
    late = angles[len(angles) // 2 :]
    return (((late[1:] - late[:-1]) <= 1e-9) | (late[1:] < _ZERO_DEGREES)).all(dim=0)


def _angle_error(fact: Factorization, homophily: float, tau: float | None, channels: Tensor) -> float | None:
    """Maximum deviation of an inner product from Theorem 4.3 over some channels; ``None`` if there are none.

    Args:
        fact: The factorization, of unit columns.
        homophily: Determines the angle.
        tau: ``None`` for the paper's algorithm, or the tau of the published code, which mixes with ``tau P^k x``.
        channels: Mask of the channels.
    """
    if not channels.any():
        return None
    if tau is None:
        rows = fact.coefficients("heterophily", homophily=homophily)
    else:
        mixed = fact.coefficients("uni", tau=tau, homophily=homophily, formulation="released")
        rows = (mixed - tau * fact.coefficients("homophily")) / (1 - tau)
    # Measured on the vectors, because on their coordinates the theorem holds by construction.
    vectors = combine(fact.vectors, rows)[:, :, channels].permute(2, 0, 1)
    gram = vectors @ vectors.transpose(1, 2)
    claimed = torch.full(gram.shape[1:], cosine_of_angle(homophily), dtype=gram.dtype).fill_diagonal_(1.0)
    return float((gram - claimed).abs().max())


def _label_frequencies(workspace: Workspace, homophily: float) -> dict[str, float]:
    r"""Frequencies of the indicators of the classes.

    With the scaling of the proof, :math:`\mathbf{D}^{1/2} y`, the frequency of all classes together is exactly
    :math:`(1-h)/2`. This is not true for each class separately, nor for unscaled indicators.
    """
    dataset, graph = workspace.dataset, workspace.graph()
    known = dataset.labels >= 0
    labels = torch.where(known, dataset.labels, 0)
    indicators = torch.nn.functional.one_hot(labels, dataset.num_classes).double() * known[:, None]
    scaled = indicators * graph.degree.double().sqrt()[:, None]
    energy = scaled.square().sum(dim=0)
    per_class = signal_frequency(graph, scaled).double()[energy > 0]
    plain = signal_frequency(graph, indicators).double()[energy > 0]
    return {
        "label_frequency": float((per_class * energy[energy > 0]).sum() / energy.sum()),
        "label_frequency_expected": (1 - homophily) / 2,
        "class_frequency_low": float(per_class.min()),
        "class_frequency_high": float(per_class.max()),
        "plain_label_frequency": float(plain.mean()),
    }
