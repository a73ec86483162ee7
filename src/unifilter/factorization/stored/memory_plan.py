"""Number of columns that fit into memory at once, and memory of all columns."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from unifilter._internal.memory import resident_bytes, said_bytes

# Columns that a compiled kernel processes together. If there is room, the width of a block is a multiple, so that
# blocks of any width give the same numbers.
_LANE_BYTES = 64
# Memory of compiled kernels, file buffers, and other parts without an exact estimate.
_OVERHEAD = 200 << 20
# Larger blocks bring no speedup, and an interruption loses more work. Smaller ones leave threads idle, so a block has
# a cache line of columns for every thread whatever its size.
_LARGEST_BLOCK = 8 << 30
# Bytes per stored entry to find the components of the graph, for signals on a few nodes.
_COMPONENT_BYTES = 32


@dataclass(frozen=True)
class MemoryPlan:
    """Memory of a factorization, as a function of the number of columns per block.

    Attributes:
        nodes, entries: Numbers of nodes and of stored entries of the graph.
        hops: Number of hops.
        itemsize: Bytes per number.
        dense: Whether a block of features is a dense copy.
        on_few_nodes: Whether some signal has at most as many non-zero entries as there are hops.
        kept_rows: Number of rows gathered from each block; 0 if whole blocks are stored.
    """

    nodes: int
    entries: int
    hops: int
    itemsize: int
    dense: bool
    on_few_nodes: bool
    kept_rows: int

    @property
    def lanes(self) -> int:
        return _LANE_BYTES // self.itemsize

    def block_bytes(self, width: int) -> int:
        """Memory of a block of ``width`` columns, in addition to the current memory of the process."""
        n, size, lanes = self.nodes, self.itemsize, self.lanes
        vectors = (self.hops + 1) * n * width * size
        threads = torch.get_num_threads()
        padded = -(-width // lanes) * lanes
        padded += (min(threads, padded // lanes) - 1) * lanes if padded % (threads * lanes) else 0
        scratch = 2 * n * padded * size
        if self.itemsize == 4:
            # Double-precision copies of channels that single precision cannot decide, an eighth of a block at a time.
            again = max(1, width // 8)
            scratch = max(scratch, (self.hops + 1) * n * again * 8 + 2 * n * max(8, again) * 8 + n * again * 8)
        degrees = n * (24 + 3 * size + threads * size)
        features = n * width * size if self.dense else 0
        components = self.entries * _COMPONENT_BYTES if self.on_few_nodes else 0
        kept = self.kept_rows * (self.hops + 1) * width * size
        return vectors + max(scratch, components) + degrees + features + kept

    def written_bytes(self, width: int) -> int:
        """Memory of a block that is only being written to the disk."""
        return (self.hops + 1) * self.nodes * width * self.itemsize

    def overlaps(self, limit: int, width: int) -> bool:
        """Whether a block can be written while the next one is computed."""
        return self.block_bytes(width) + self.written_bytes(width) <= limit - resident_bytes() - _OVERHEAD

    def width(self, limit: int, channels: int) -> int:
        """Number of columns per block. Raises an error if not even one column fits.

        A block has a cache line of columns for every thread if that fits, and leaves room for another block that is
        being written if that fits too.
        """
        beside = resident_bytes() + _OVERHEAD
        room = limit - beside
        if room < self.block_bytes(1):
            raise ValueError(
                f"a single feature column on {self.nodes:,} nodes with {self.hops} hops needs "
                f"{said_bytes(beside + self.block_bytes(1))} of memory ({said_bytes(beside)} of it for the program and "
                f"what is loaded), and memory_limit is {said_bytes(limit)}: raise it to that at least"
            )
        step = self.lanes * torch.get_num_threads()
        for unit, written in ((step, 1), (step, 0), (self.lanes, 1), (self.lanes, 0), (1, 0)):
            widest = 0
            while widest < channels:
                wider = widest + unit
                if self.block_bytes(wider) + written * self.written_bytes(wider) > room:
                    break
                if widest and self.block_bytes(wider) > _LARGEST_BLOCK:
                    break
                widest = wider
            if widest:
                return min(widest, channels)
        return 1


def in_memory_bytes(nodes: int, channels: int, hops: int, itemsize: int) -> int:
    """Memory of :func:`unifilter.factorize` without a store: the vectors, work space, and the features twice."""
    return nodes * channels * itemsize * (hops + 1) + nodes * (64 * itemsize + 40)
