from __future__ import annotations

import networkx as nx
import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestNeighbors

from unifilter.datasets import load_dataset


def test_karate_is_the_club_without_weights() -> None:
    data = load_dataset("karate")
    club = nx.karate_club_graph()
    assert data.graph.weights is None
    assert {tuple(edge) for edge in data.graph.edges()[0].T.tolist()} == {tuple(sorted(edge)) for edge in club.edges()}
    assert torch.equal(data.features.to_dense(), torch.eye(34))
    assert [data.class_names[label] for label in data.labels] == [club.nodes[node]["club"] for node in club]
    assert data.citation.startswith("Zachary")


def test_digits_are_joined_to_their_ten_nearest() -> None:
    data = load_dataset("digits")
    pixels, labels = load_digits(return_X_y=True)
    assert np.array_equal(data.features.numpy() * 16, pixels)
    assert np.array_equal(data.labels.numpy(), labels)
    assert data.graph.degree.min() >= 10
    # Whichever of equally near ones are chosen, the ten are as near as the exact ten nearest.
    distances = NearestNeighbors(n_neighbors=11, algorithm="brute").fit(pixels).kneighbors()[0][:, :10]
    adjacency = data.graph.adjacency().to_dense().numpy() > 0
    for node in range(0, 1797, 97):
        lengths = np.sort(np.linalg.norm(pixels[adjacency[node]] - pixels[node], axis=1))
        assert np.allclose(lengths[:10], distances[node])
