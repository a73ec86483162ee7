"""How the compiled factorization keeps its vectors orthogonal; :mod:`unifilter.kernels.orthogonality` explains it."""

from __future__ import annotations

import numpy as np

from unifilter.kernels.compiled.compiling import compile_inline, compile_kernel
from unifilter.kernels.compiled.lanes import load, splat, store
from unifilter.kernels.orthogonality import LARGEST_CORRECTION, LARGEST_LOSS, SAFETY
from unifilter.kernels.small_rests import SMALL_REST

# Rows summed in the signal's own precision before the sum goes to a double-precision total.
ROWS_PER_SUM = 64
# The largest loss of so many columns is not small by luck.
_MANY = 16
NEVER, WHERE_NEEDED, ALWAYS = 0, 1, 2


@compile_kernel
def keep_orthogonal(  # type: ignore[no-untyped-def]
    mode,
    hop,
    vectors,
    current,
    scale,
    rest,
    roots,
    alpha,
    beta,
    dimension,
    residual,
    kept,
    noise,
    direction,
    first,
    last,
    width,
):
    """Make columns ``first`` to ``last`` of ``rest``, which becomes v_{hop+1}, orthogonal where rounding requires it.

    They are a vector of columns and are cleaned together: cleaning one reads the others anyway, and cleaned together
    they need it together the next time.

    Args:
        mode: ``NEVER``, ``WHERE_NEEDED`` or ``ALWAYS``.
        hop: The hop.
        vectors: The vectors up to v_hop. The last one is not there yet: its place holds the known direction.
        current: v_hop / sqrt(degree), to be multiplied by ``scale``.
        scale: See ``current``.
        rest: What is left of P v_hop, divided by sqrt(degree).
        roots: Square root of each degree, its inverse, and the degree.
        alpha: Diagonal of the tridiagonal.
        beta: The diagonal beside it.
        dimension: Dimension of each column so far.
        residual: Squared lengths of ``rest``.
        kept: What three vectors in a row keep of those before them.
        noise: What a product rounds by, for each vector of columns.
        direction: Coefficients of the known direction, ``[hops + 1, columns]``; zero before there is one.
        first: The first column.
        last: The column after the last one.
        width: Width of a vector of columns.
    """
    hops, lanes = beta.shape[0], len(width)
    epsilon = np.float64(np.finfo(rest.dtype).eps)
    limit = LARGEST_LOSS * np.sqrt(epsilon)
    before, after, group = kept[(hop + 2) % 3], kept[hop % 3], first // lanes
    chosen = np.zeros(lanes, np.bool_)
    loss = loss_elsewhere = np.inf if mode == ALWAYS else 0.0
    for column in range(first, last):
        chosen[column - first] = dimension[column] == hop + 1
        if chosen[column - first] and mode == WHERE_NEEDED:
            loss = max(loss, _estimate_kept(kept, column, hop, alpha, beta, residual, noise[group]))
    if loss > limit:
        if mode == WHERE_NEEDED:
            for column in range(first, last):
                if chosen[column - first]:
                    loss_elsewhere = max(loss_elsewhere, _without(after, direction, column, hop + 1, False))
        only_known = loss_elsewhere <= limit
        both = mode == WHERE_NEEDED
        if both and not only_known:
            for column in range(first, last):
                if chosen[column - first]:
                    _find_direction(direction, column, hop, alpha, beta, limit)
        lowest, stop = (hops, hops + 1) if only_known else (0, hop + 1)
        found = _take_out(
            vectors, lowest, stop, hop, both, current, scale, rest, roots, chosen, residual, direction, first, last,
            width,
        )  # fmt: skip
        if only_known:
            for column in range(first, last):
                _without(before, direction, column, hop, True)
                _without(after, direction, column, hop + 1, True)
                # Taking it out rounds too.
                before[:hop, column] += epsilon * direction[:hop, column]
                after[: hop + 1, column] += epsilon * direction[: hop + 1, column]
        else:
            corrected = noise[group] * SAFETY * found / loss
            least = epsilon / LARGEST_CORRECTION if chosen.sum() >= _MANY else epsilon
            noise[group] = min(max(corrected, least), epsilon * LARGEST_CORRECTION)
            _forget(before, hop, first, last, epsilon)
            _forget(after, hop + 1, first, last, epsilon)
    small = False
    for column in range(first, last):
        chosen[column - first] = dimension[column] == hop + 1 and residual[column] < SMALL_REST**2
        small |= chosen[column - first]
    if small:
        # Rounding is large beside them: twice more is enough.
        for _ in range(2):
            _take_out(
                vectors, 0, hop + 1, hop, False, current, scale, rest, roots, chosen, residual, direction, first,
                last, width,
            )  # fmt: skip
        for column in range(first, last):
            if chosen[column - first]:
                _forget(after, hop + 1, column, column + 1, epsilon)


@compile_kernel
def _forget(kept, count, first, last, epsilon):  # type: ignore[no-untyped-def]
    """A vector was made orthogonal to those before it; why every other is set, the plain path's ``_forget`` says."""
    kept[:count, first:last] = 0
    kept[:count:2, first:last] = 2 * epsilon


@compile_kernel
def _estimate_kept(kept, column, hop, alpha, beta, residual, noise):  # type: ignore[no-untyped-def]
    """Simon's recurrence: what v_{hop+1} keeps of the vectors before it; returns the largest share."""
    rest = max(np.sqrt(residual[column]), noise)
    here, before, after = kept[(hop + 2) % 3], kept[(hop + 1) % 3], kept[hop % 3]
    here[hop, column] = 1
    worst = noise / rest
    after[hop, column] = worst
    for other in range(hop):
        share = beta[other, column] * here[other + 1, column]
        share += (np.float64(alpha[other, column]) - alpha[hop, column]) * here[other, column]
        if other > 0:
            share += beta[other - 1, column] * here[other - 1, column]
        share -= beta[hop - 1, column] * before[other, column]
        share += noise if share >= 0 else -noise
        after[other, column] = share / rest
        worst = max(worst, abs(after[other, column]))
    return worst


@compile_kernel
def _without(kept, direction, column, count, replace):  # type: ignore[no-untyped-def]
    """The largest share that a vector keeps beside the known direction; ``kept`` becomes that if ``replace``."""
    along, worst = 0.0, 0.0
    for other in range(count):
        along += kept[other, column] * direction[other, column]
    if not np.isfinite(along):
        return np.inf
    for other in range(count):
        share = kept[other, column] - along * direction[other, column]
        worst = max(worst, abs(share))
        if replace:
            kept[other, column] = share
    return worst


@compile_kernel
def _find_direction(direction, column, hop, alpha, beta, limit):  # type: ignore[no-untyped-def]
    """The eigenvector of eigenvalue 1 on the vectors up to v_hop: (1 + limit - T)^-1, applied to ones.

    The entries of the inverse are not negative, so nothing cancels.
    """
    pivot = np.ones(hop + 1)
    for place in range(hop + 1):
        pivot[place] = 1 + limit - alpha[place, column]
        direction[place, column] = 1
        if place > 0:
            factor = beta[place - 1, column] / pivot[place - 1]
            pivot[place] -= factor * beta[place - 1, column]
            direction[place, column] += factor * direction[place - 1, column]
    squared = 0.0
    for place in range(hop, -1, -1):
        if place < hop:
            direction[place, column] += beta[place, column] * direction[place + 1, column]
        direction[place, column] /= pivot[place]
        squared += direction[place, column] ** 2
    direction[: hop + 1, column] /= np.sqrt(squared)


@compile_kernel
def _take_out(  # type: ignore[no-untyped-def]
    vectors, lowest, stop, hop, both, current, scale, rest, roots, chosen, residual, direction, first, last, width
):
    """Take the vectors ``lowest`` to ``stop`` out of the chosen columns of ``rest``, and renew its norms.

    If ``both``, they are taken out of ``current`` too, and all vectors so far are combined to the known direction.
    v_hop itself stays what fewer hops would give. Returns the largest share that was found.
    """
    root, inverse_root, degree = roots
    nodes, count = rest.shape[0], stop - lowest
    lanes = len(width)
    known, build = len(vectors) - 1, both and lowest == 0 and hop + 2 < len(vectors)
    zero = splat(rest.dtype.type(0), width)
    tail, tail_out = np.zeros((2, lanes), rest.dtype)
    # For `rest`, v_hop and the known direction: rows, and how much of each vector they have.
    rows, rows_last, rows_known = np.zeros((3, ROWS_PER_SUM, lanes), rest.dtype)
    share, share_last, share_known = np.zeros((3, count, lanes), rest.dtype)
    total, total_last = np.zeros((2, count, lanes))
    for start in range(0, nodes, ROWS_PER_SUM):
        end = min(nodes, start + ROWS_PER_SUM)
        for row in range(start, end):
            store(rows, (row - start, 0), load(rest, (row, first), width) * splat(root[row], width))
            if both:
                store(rows_last, (row - start, 0), _load_vector(vectors, hop, row, first, tail, width))
        for other in range(count):
            partial = partial_last = zero
            for row in range(start, end):
                vector = _load_vector(vectors, lowest + other, row, first, tail, width)
                partial = partial + vector * load(rows, (row - start, 0), width)
                if both:
                    partial_last = partial_last + vector * load(rows_last, (row - start, 0), width)
            store(share, (other, 0), partial)
            store(share_last, (other, 0), partial_last)
        total += share
        total_last += share_last
    found = 0.0
    for other in range(count):
        for column in range(first, last):
            if chosen[column - first]:
                found = max(found, abs(total[other, column - first]) / np.sqrt(residual[column]))
            share[other, column - first] = total[other, column - first] * chosen[column - first]
            share_last[other, column - first] = total_last[other, column - first] * (
                chosen[column - first] and lowest + other != hop
            )
            if build:
                share_known[other, column - first] = direction[other, column]
    squared = np.zeros(lanes)
    for start in range(0, nodes, ROWS_PER_SUM):
        end = min(nodes, start + ROWS_PER_SUM)
        rows[:, :] = 0
        rows_last[:, :] = 0
        rows_known[:, :] = 0
        for other in range(count):
            of_rest, of_last = load(share, (other, 0), width), load(share_last, (other, 0), width)
            of_known = load(share_known, (other, 0), width)
            for row in range(start, end):
                vector = _load_vector(vectors, lowest + other, row, first, tail, width)
                place = (row - start, 0)
                store(rows, place, load(rows, place, width) + of_rest * vector)
                if both:
                    store(rows_last, place, load(rows_last, place, width) + of_last * vector)
                if build:
                    store(rows_known, place, load(rows_known, place, width) + of_known * vector)
        partial = zero
        for row in range(start, end):
            row_inverse = splat(inverse_root[row], width)
            left = load(rest, (row, first), width) - load(rows, (row - start, 0), width) * row_inverse
            store(rest, (row, first), left)
            partial = partial + left * left * splat(degree[row], width)
            if both:
                cleaned = _load_vector(vectors, hop, row, first, tail, width) - load(rows_last, (row - start, 0), width)
                store(current, (row, first), cleaned * row_inverse)
            if build:
                _store_vector(load(rows_known, (row - start, 0), width), vectors, known, row, first, tail_out)
        store(rows, (0, 0), partial)
        squared += rows[0]
    for column in range(first, last):
        if chosen[column - first]:
            residual[column] = squared[column - first]
            if both:
                scale[column] = 1
    return found


@compile_inline
def _load_vector(vectors, hop, row, column, tail, width):  # type: ignore[no-untyped-def]
    """Lanes of a stored vector, through ``tail`` where its columns end within them."""
    if column + tail.shape[0] <= vectors.shape[2]:
        return load(vectors, (hop, row, column), width)
    for rest in range(vectors.shape[2] - column):
        tail[rest] = vectors[hop, row, column + rest]
    return load(tail, (0,), width)


@compile_inline
def _store_vector(value, vectors, hop, row, column, tail):  # type: ignore[no-untyped-def]
    """The opposite."""
    if column + tail.shape[0] <= vectors.shape[2]:
        store(vectors, (hop, row, column), value)
    else:
        store(tail, (0,), value)
        for rest in range(vectors.shape[2] - column):
            vectors[hop, row, column + rest] = tail[rest]
