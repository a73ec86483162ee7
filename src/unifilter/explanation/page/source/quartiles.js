// Weighted quartiles without sorting: a few passes over the numbers instead of n log n.

// Two equal weights make a half, whatever the order they are summed in.
const ROUNDING = 1e-9;

/**
 * The three quartiles of the first `count` values, each of which counts as much as its weight says: the smallest value
 * with at least that share of the weight at or below it, as in weighted_quartiles of the library. Both buffers are
 * reordered.
 */
export function quartiles(values, weights, count) {
  let total = 0;
  for (let i = 0; i < count; i++) total += weights[i];
  const [half, before] = select(values, weights, 0, count - 1, 0, (0.5 - ROUNDING) * total);
  // This left the smaller values on the left, so the other quartiles look at their half only. The upper one comes first:
  // among equal values either may bring another weight to the place of the median, which matters to the upper one alone.
  const middle = values[half];
  const [above] = select(values, weights, half, count - 1, before, (0.75 - ROUNDING) * total);
  const high = values[above];
  const [below] = select(values, weights, 0, half, 0, (0.25 - ROUNDING) * total);
  return [values[below], middle, high];
}

/**
 * The place of the value whose weight reaches `target`, and the weight before it; no larger value is before that place, no
 * smaller one behind it. `before` is the weight of all that is left of `left`.
 */
function select(values, weights, left, right, before, target) {
  while (right > left) {
    const pivot = median3(values[left], values[(left + right) >> 1], values[right]);
    let i = left;
    let j = right;
    let lower = 0;
    while (i <= j) {
      while (values[i] < pivot) lower += weights[i++];
      while (values[j] > pivot) j--;
      if (i <= j) {
        swap(values, i, j);
        swap(weights, i, j);
        lower += weights[i++];
        j--;
      }
    }
    // One value, equal to the pivot, may be between them; its weight is in `lower`.
    const between = i - j === 2 ? weights[j + 1] : 0;
    if (j >= left && before + lower - between >= target) right = j;
    else if (i - j === 2 && (i > right || before + lower >= target)) return [j + 1, before + lower - between];
    else {
      before += lower;
      left = i;
    }
  }
  return [left, before];
}

function swap(buffer, i, j) {
  const kept = buffer[i];
  buffer[i] = buffer[j];
  buffer[j] = kept;
}

function median3(a, b, c) {
  return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
}
