from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Iterator

import pytest
import torch

from unifilter.kernels import threads as module
from unifilter.kernels.combine_rows import combine_rows
from unifilter.kernels.threads import equal_parts, for_each, parts_of


@pytest.fixture(autouse=True)
def number_of_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_more_than_eight_threads_work_at_the_same_time() -> None:
    torch.set_num_threads(12)
    # Nobody passes before all twelve are there.
    barrier = threading.Barrier(12, timeout=30)
    found = set()

    def work(part: slice) -> None:
        if part.start < 12:
            barrier.wait()
        found.add((part.start, threading.get_ident()))

    for_each(work, [slice(start, start + 1) for start in range(64)])
    assert sorted(start for start, _ in found) == list(range(64))
    assert len({ident for _, ident in found}) == 12


def test_threads_wait_for_the_next_call_instead_of_ending() -> None:
    torch.set_num_threads(3)
    barrier = threading.Barrier(3, timeout=30)
    used: list[int] = []

    def work(part: int) -> None:
        barrier.wait()
        used.append(threading.get_ident())

    for _ in range(5):
        for_each(work, range(3))
    assert len(set(used)) == 3


@pytest.mark.parametrize("count", [1, 3])
def test_an_error_in_any_part_is_raised_after_all_threads_have_stopped(count: int) -> None:
    torch.set_num_threads(count)
    running = [0]

    def work(part: int) -> None:
        running[0] += 1
        time.sleep(0.01)
        running[0] -= 1
        if part == 4:
            raise ArithmeticError("part 4")

    with pytest.raises(ArithmeticError, match="part 4"):
        for_each(work, range(8))
    assert running == [0]


@pytest.mark.parametrize(
    ("rows", "numbers", "count"),
    [(1000, 10, 1), (1000, 1 << 20, 8), (1000, 20 << 20, 20), (10**6, 1 << 40, 64), (3, 1 << 20, 3)],
)
def test_parts_cover_all_rows_once(rows: int, numbers: int, count: int) -> None:
    parts = parts_of(rows, numbers)
    assert len(parts) == count
    assert [row for part in parts for row in range(part.start, part.stop)] == list(range(rows))
    assert all(part.start < part.stop for part in equal_parts(5, 64))


@pytest.mark.parametrize("channels", [16, 77, 700])
@pytest.mark.parametrize("with_coefficients", [False, True])
def test_twenty_threads_give_the_same_bits_as_one(
    channels: int, with_coefficients: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_NUMBERS_PER_THREAD", 1)
    monkeypatch.setattr(module, "_NUMBERS_PER_PART", 100)
    torch.manual_seed(0)
    vectors, nodes = torch.randn(3, 500, channels), torch.randint(500, (333,))
    coefficients = torch.randn(3, 3, channels) if with_coefficients else None
    weights = torch.randn(3, channels).requires_grad_()
    slope = torch.randn(333, channels)
    results = []
    for count in (1, 2, 9, 20):
        torch.set_num_threads(count)
        result = combine_rows(vectors, coefficients, weights, nodes, 0.3, 1, 0.2, 2)
        results.append((result, *torch.autograd.grad(result, weights, slope)))
    for other in results[1:]:
        assert all(torch.equal(left, right) for left, right in zip(results[0], other, strict=True))


def _sum_in_child(queue: multiprocessing.Queue[int]) -> None:
    total: list[int] = []
    for_each(total.append, range(10))
    queue.put(sum(total))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own() -> None:
    torch.set_num_threads(2)
    for_each(lambda part: time.sleep(0.001), range(8))  # the parent's threads are there
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_sum_in_child, args=(queue,))
    child.start()
    assert queue.get(timeout=60) == 45
    child.join(timeout=60)
