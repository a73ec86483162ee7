from __future__ import annotations

import re
from itertools import chain
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from real_graphs import needs_data, real_graph

from unifilter.data.splits import (
    SEEDS,
    Split,
    check_classes,
    check_split,
    linkx_split,
    masks_to_splits,
    missing_classes,
    random_split,
    stratified_split,
)

NINE = np.arange(9) % 3


def literal_random_split(labels: np.ndarray, seed: int) -> tuple[list[int], list[int], list[int]]:
    """The published rule word for word, with lists."""
    generator = np.random.RandomState(seed)
    num_classes = int(labels.max()) + 1
    wanted = round(0.6 * len(labels) / num_classes)
    train: list[int] = []
    for label in range(num_classes):
        members = [node for node in range(len(labels)) if labels[node] == label]
        train += members if len(members) < wanted else generator.choice(members, wanted, replace=False).tolist()
    rest = [node for node in range(len(labels)) if node not in train]
    val = generator.choice(rest, round(0.2 * len(labels)), replace=False).tolist()
    return sorted(train), sorted(val), [node for node in rest if node not in val]


def parts(split: Split) -> tuple[list[int], list[int], list[int]]:
    return split.train.tolist(), split.val.tolist(), split.test.tolist()


@pytest.mark.parametrize("sizes", [(50, 50), (90, 7, 30), (24, 24, 16), (40, 40, 40, 3)])
def test_random_split_is_the_published_one_node_for_node(sizes: tuple[int, ...]) -> None:
    labels = np.random.RandomState(1).permutation(np.repeat(np.arange(len(sizes)), sizes))
    for index, seed in enumerate(SEEDS):
        assert parts(random_split(labels, index=index)) == literal_random_split(labels, seed)
        assert parts(random_split(labels, 0.6, 0.2, seed)) == literal_random_split(labels, seed)


def test_the_ten_seeds() -> None:
    assert len(set(SEEDS)) == 10
    bernnet = (1941488137, 4198936517, 983997847, 4023022221, 4019585660)
    bernnet += (2108550661, 1648766618, 629014539, 3212139042, 2424918363)
    differing = [index for index, seed in enumerate(SEEDS) if seed != bernnet[index]]
    assert differing == [1, 3, 7]
    assert [SEEDS[index] for index in differing] == [25190, 12591, 329014539]


def test_a_class_of_exactly_the_wanted_size_still_moves_the_generator() -> None:
    labels = np.repeat([0, 1], [12, 28])  # 12 wanted of each: all of class 0, by a draw
    assert parts(random_split(labels)) == literal_random_split(labels, SEEDS[0])


@needs_data
@pytest.mark.parametrize(
    ("name", "sizes", "only_trained"),
    [
        ("cora", (1557, 542, 609), [180, 217]),
        ("citeseer", (1929, 665, 733), [264]),
        ("pubmed", (11829, 3943, 3945), []),
        ("chameleon", (1365, 455, 457), []),
        ("squirrel", (3120, 1040, 1041), []),
        ("actor", (4501, 1520, 1579), [853]),
    ],
)
def test_published_sizes(name: str, sizes: tuple[int, int, int], only_trained: list[int]) -> None:
    labels = real_graph(name)[2]
    for index in (0, 9):
        split = random_split(labels, index=index)
        assert (len(split.train), len(split.val), len(split.test)) == sizes
        assert (split.name, split.index, split.seed) == ("random-60-20-20", index, SEEDS[index])
        absent = set(labels) - set(labels[split.val]) - set(labels[split.test])
        assert sorted(int((labels == label).sum()) for label in absent) == only_trained


@given(
    st.lists(st.integers(3, 20), min_size=1, max_size=5),
    st.integers(0, 9),
    st.sampled_from([0.05, 0.3, 0.6]),
    st.data(),
)
def test_stratified_parts_are_disjoint_cover_the_labeled_and_hold_every_class(
    sizes: list[int], seed: int, train: float, data: st.DataObject
) -> None:
    val = data.draw(st.sampled_from([0.05, 0.2, 0.35]))
    labels = np.concatenate([np.repeat(np.arange(len(sizes)), sizes), [-1, -1]])
    split = stratified_split(labels, train, val, seed)
    assert sorted(chain(*parts(split))) == np.flatnonzero(labels >= 0).tolist()
    for nodes, share in ((split.train, train), (split.val, val), (split.test, 1 - train - val)):
        assert nodes.tolist() == sorted(nodes)
        for label, size in enumerate(sizes):
            count = int((labels[nodes] == label).sum())
            assert count >= 1
            assert abs(count - share * size) <= 2  # rounding, and the node that every part is owed
    assert parts(stratified_split(torch.from_numpy(labels), train, val, seed)) == parts(split)


def test_stratified_split_depends_on_the_seed() -> None:
    labels = np.arange(60) % 3
    assert parts(stratified_split(labels, seed=0)) != parts(stratified_split(labels, seed=1))
    assert stratified_split(labels, seed=4).index == stratified_split(labels, seed=4).seed == 4


def test_linkx_split_is_half_a_quarter_and_the_rest_of_the_labeled() -> None:
    labels = np.where(np.arange(47) % 9 == 0, -1, np.arange(47) % 2)  # 41 labeled
    split = linkx_split(labels, seed=3)
    assert repr(split) == "Split('linkx-50-25-25', index=3, train=20, val=10, test=11, seed=3)"
    assert sorted(chain(*parts(split))) == np.flatnonzero(labels >= 0).tolist()
    order = np.flatnonzero(labels >= 0)[np.random.RandomState(3).permutation(41)]
    assert set(split.train) == set(order[:20])
    assert set(split.val) == set(order[20:30])


def test_unknown_labels_are_never_drawn_and_do_not_count() -> None:
    labels = np.arange(100) % 4
    shifted = np.full(150, -1)
    shifted[50:] = labels
    for index in range(3):
        expected = tuple([node + 50 for node in part] for part in parts(random_split(labels, index=index)))
        assert parts(random_split(shifted, index=index)) == expected


def test_masks_become_splits_one_a_column() -> None:
    rng = np.random.default_rng(0)
    part = rng.integers(3, size=(12, 4))
    part[:3] = [[0], [1], [2]]  # none is empty
    for masks in ([part == i for i in range(3)], [torch.from_numpy(part == i) for i in range(3)]):
        splits = masks_to_splits("mine", *masks)
        assert [split.index for split in splits] == [0, 1, 2, 3]
        for split in splits:
            assert parts(split) == tuple(np.flatnonzero(part[:, split.index] == i).tolist() for i in range(3))
            assert (split.name, split.seed) == ("mine", None)
    single = masks_to_splits("mine", *(part[:, 0] == i for i in range(3)))
    assert [parts(split) for split in single] == [parts(splits[0])]


def test_one_test_mask_serves_every_split() -> None:
    train = np.array([[1, 0], [0, 1], [0, 0], [0, 0]], dtype=bool)
    val = np.array([[0, 1], [1, 0], [0, 0], [0, 0]], dtype=bool)
    splits = masks_to_splits("wiki", train, val, np.array([False, False, True, True]))
    assert [parts(split) for split in splits] == [([0], [1], [2, 3]), ([1], [0], [2, 3])]


def test_bad_masks_are_refused() -> None:
    mask = np.eye(3, dtype=bool)
    with pytest.raises(ValueError, match=r"the val mask must be bool.*not int64 of shape \[3\].*\.bool\(\)"):
        masks_to_splits("m", mask[0], mask[1].astype(np.int64), mask[2])
    with pytest.raises(ValueError, match=r"the train mask has 10 columns and 3 rows.*transpose it with \.T"):
        masks_to_splits("m", np.zeros((3, 10), dtype=bool), mask[1], mask[2])
    with pytest.raises(ValueError, match="the test mask of 'm' has 4 rows, the train mask 3: pass one per node"):
        masks_to_splits("m", mask[0], mask[1], np.ones(4, dtype=bool))
    with pytest.raises(ValueError, match="the val mask of 'm' has 2 columns but another has 3: pass the same number"):
        masks_to_splits("m", mask, mask[:, :2], mask)
    with pytest.raises(ValueError, match="node 1 is listed more than once in split 0 of 'm', in train and val"):
        masks_to_splits("m", mask[1], mask[1], mask[2])


@pytest.mark.parametrize(
    ("train", "val", "test", "message"),
    [
        (
            [0, 1, 2],
            [2, 3],
            [4],
            r"node 2 is listed more than once in split 5 of 'x', in train and val: .*\(1 such node ",
        ),
        ([0], [1], [4, 4], "node 4 is listed more than once in split 5 of 'x', in test and test"),
        ([0], [1, 8], [4, 8], "node 8 is listed more than once.*in val and test"),
        ([], [1], [2], "the train set of split 5 of 'x' is empty: it needs at least one node"),
        ([0], [1], [2, 9], "the test set of split 5 of 'x' contains node 9, which does not exist: nodes are 0 to 8"),
        ([0], [-1], [2], "the val set of split 5 of 'x' contains node -1, which does not exist"),
        (
            [0],
            [7],
            [2, 3],
            r"node 3 in the test set of split 5 of 'x' has no label: leave it out.*\(1 such node ",
        ),
        (
            [0.0],
            [7],
            [2],
            "the train set of split 5 of 'x' must be a list of node indices, not float64.*masks_to",
        ),
    ],
)
def test_bad_splits_are_refused(train: list[float], val: list[int], test: list[int], message: str) -> None:
    def as_array(nodes: list[Any]) -> np.ndarray:
        return np.array(nodes) if nodes else np.empty(0, dtype=np.int64)

    labels = np.where(np.arange(9) == 3, -1, NINE)
    with pytest.raises(ValueError, match=message):
        check_split(Split("x", 5, as_array(train), as_array(val), as_array(test)), labels)


def test_impossible_wishes_are_refused() -> None:
    with pytest.raises(ValueError, match="train=0.8 and val=0.2 must be positive and leave a share for testing"):
        stratified_split(NINE, 0.8, 0.2)
    with pytest.raises(ValueError, match="train=0 and val=0.2 must be positive"):
        random_split(NINE, 0, 0.2)
    with pytest.raises(ValueError, match="there are 10 published seeds, 0 to 9, not 10: pass a seed"):
        random_split(NINE, index=10)
    with pytest.raises(ValueError, match="class 2 has 1 labeled node, too few.*label more of it, merge it"):
        stratified_split(np.array([0, 0, 0, 1, 1, 1, 2, -1]))
    with pytest.raises(ValueError, match="the val set of split 0 of 'random-60-20-20' is empty"):
        random_split(np.array([0, 1]))
    with pytest.raises(ValueError, match="the train set of split 0 of 'linkx-50-25-25' is empty"):
        linkx_split(np.full(5, -1), seed=0)


@given(st.lists(st.integers(-1, 3), min_size=6, max_size=40), st.integers(0, 2**32 - 1))
def test_missing_classes_by_looking_at_every_node(labels: list[int], seed: int) -> None:
    part = np.random.default_rng(seed).integers(3, size=len(labels))
    nodes = [np.array([node for node, label in enumerate(labels) if label >= 0 and part[node] == i]) for i in range(3)]
    split = Split("any", 0, *(one.astype(np.int64) for one in nodes))
    missing = missing_classes(split, np.array(labels), 4)
    for name, one in zip(("train", "val", "test"), nodes, strict=True):
        there = {labels[node] for node in one}
        # A class that no node has is no class of this data.
        assert missing[name] == [label for label in range(4) if label in labels and label not in there]
    if any(missing.values()):
        with pytest.raises(ValueError, match=f"class {min(min(m) for m in missing.values() if m)} has"):
            check_classes(split, np.array(labels))
    else:
        check_classes(split, np.array(labels))
    check_classes(split, np.array(labels), allow=True)


@given(st.lists(st.integers(3, 30), min_size=1, max_size=5), st.integers(0, 1000))
def test_a_stratified_split_leaves_no_class_out(sizes: list[int], seed: int) -> None:
    labels = np.random.RandomState(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    split = stratified_split(labels, seed=seed)
    assert missing_classes(split, labels, len(sizes)) == {"train": [], "val": [], "test": []}


def test_a_class_that_is_left_out_is_named_with_the_remedy() -> None:
    labels = np.repeat([0, 1, 2], [90, 10, 5])
    split = random_split(labels, index=3)  # 21 of each class to train on, or all there are
    message = (
        "class 'rare' has 10 labeled nodes, but no validation or test node in split 3 of 'random-60-20-20' (2 such "
        "classes in all): pass split='stratified', label more nodes of it, or pass allow_missing_classes=True to train "
        "anyway"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        check_classes(split, labels, ("common", "rare", "rarer"))
    with pytest.raises(ValueError, match="^class 0 has 1 labeled node, but no validation or test node in split 0 of"):
        check_classes(Split("mine", 0, *map(np.array, ([0, 1], [2], [3]))), np.array([0, 1, 1, 1]))
    with pytest.raises(ValueError, match="'mine': look elsewhere$"):
        check_classes(
            Split("mine", 0, *map(np.array, ([1], [2], [3]))), np.array([0, 1, 1, 1]), remedy="look elsewhere"
        )


def test_a_class_too_small_to_divide_is_named() -> None:
    with pytest.raises(ValueError, match="^class 'rare' has 2 labeled nodes, too few"):
        stratified_split(np.array([0, 0, 0, 1, 1]), class_names=("common", "rare"))


@needs_data
def test_classes_that_the_papers_never_test() -> None:
    labels = real_graph("cora")[2]
    for index in range(10):
        assert len(missing_classes(random_split(labels, index=index), labels, 7)["test"]) == 2
