// Quartiles without sorting: a few passes over the numbers instead of n log n.

/** The three quartiles of the first `count` numbers, interpolated linearly; the buffer is reordered. */
export function quartiles(buffer, count) {
  const middle = quantile(buffer, 0, count - 1, count, 0.5);
  // Each selection leaves the smaller numbers on its left, so the other quartiles look at their half only.
  const half = Math.floor(0.5 * (count - 1));
  return [quantile(buffer, 0, half, count, 0.25), middle, quantile(buffer, half, count - 1, count, 0.75)];
}

function quantile(buffer, left, right, count, share) {
  const place = share * (count - 1);
  const below = Math.floor(place);
  // A quartile may need the number just behind its half.
  select(buffer, left, Math.max(right, below), below);
  const value = buffer[below];
  if (place === below) return value;
  let next = Infinity;
  for (let i = below + 1; i < count; i++) if (buffer[i] < next) next = buffer[i];
  return value + (next - value) * (place - below);
}

/** Puts the k-th smallest of buffer[left..right] at k, nothing larger before it and nothing smaller behind it. */
function select(buffer, left, right, k) {
  while (right > left) {
    const pivot = median3(buffer[left], buffer[(left + right) >> 1], buffer[right]);
    let i = left;
    let j = right;
    while (i <= j) {
      while (buffer[i] < pivot) i++;
      while (buffer[j] > pivot) j--;
      if (i <= j) {
        const kept = buffer[i];
        buffer[i++] = buffer[j];
        buffer[j--] = kept;
      }
    }
    if (k <= j) right = j;
    else if (k >= i) left = i;
    else return;
  }
}

function median3(a, b, c) {
  return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
}
