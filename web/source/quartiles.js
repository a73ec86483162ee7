// Weighted quartiles without sorting: values are put into buckets, and only the bucket that a quartile is in is looked at.

// Two equal weights make a half, whatever the order they are summed in.
const ROUNDING = 1e-9;
const BUCKETS = 256;
// So few are sorted sooner than they are put into buckets.
const FEW = 24;

/**
 * A function of (values, weights), both of this length: the three quartiles, where a value counts as much as its weight
 * says. A quartile is the smallest value with at least that share of the weight at or below it, as in weighted_quartiles
 * of the library.
 */
export function makeQuartiles(length) {
  const all = new Buckets(length);
  const some = new Buckets(length);
  const someValues = new Float64Array(length);
  const someWeights = new Float64Array(length);

  return function quartiles(values, weights) {
    const total = all.fill(values, weights, length);
    return [0.25, 0.5, 0.75].map((share) => {
      const target = (share - ROUNDING) * total;
      const [bucket, before] = all.reaching(target);
      const count = all.collect(bucket, values, weights, length, someValues, someWeights);
      return within(count, target - before);
    });
  };

  /** The value whose weight reaches the target, among those collected. */
  function within(count, target) {
    while (count > FEW) {
      some.fill(someValues, someWeights, count);
      if (!some.width) return someValues[0];
      const [bucket, before] = some.reaching(target);
      count = some.collect(bucket, someValues, someWeights, count, someValues, someWeights);
      target -= before;
    }
    sort(someValues, someWeights, count);
    let reached = 0;
    for (let i = 0; i < count; i++) {
      reached += someWeights[i];
      if (reached >= target) return someValues[i];
    }
    return someValues[count - 1];
  }
}

/** Equal parts of the range of some values: which of them a value is in, and the weight of each. */
class Buckets {
  constructor(length) {
    this.of = new Uint8Array(length);
    this.weight = new Float64Array(BUCKETS);
  }

  /** Returns the weight of all. */
  fill(values, weights, count) {
    let low = Infinity, high = -Infinity, total = 0;
    for (let i = 0; i < count; i++) {
      const value = values[i];
      if (value < low) low = value;
      if (value > high) high = value;
      total += weights[i];
    }
    this.width = high - low;
    // Smaller than the number of buckets, so that the largest value is in the last one.
    const scale = this.width > 0 ? (BUCKETS - 0.001) / this.width : 0;
    this.weight.fill(0);
    for (let i = 0; i < count; i++) {
      const bucket = (values[i] - low) * scale | 0;
      this.of[i] = bucket;
      this.weight[bucket] += weights[i];
    }
    return total;
  }

  /** The first bucket at whose end the weight is at least the target, and the weight before it. */
  reaching(target) {
    let before = 0, last = 0, beforeLast = 0;
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      const weight = this.weight[bucket];
      if (!(weight > 0)) continue;
      if (before + weight >= target) return [bucket, before];
      [last, beforeLast] = [bucket, before];
      before += weight;
    }
    return [last, beforeLast];
  }

  /** Copies what is in a bucket to the front of two buffers, which may be those it comes from; returns how many they are. */
  collect(bucket, values, weights, count, toValues, toWeights) {
    let found = 0;
    for (let i = 0; i < count; i++) {
      if (this.of[i] !== bucket) continue;
      toValues[found] = values[i];
      toWeights[found++] = weights[i];
    }
    return found;
  }
}

/** By insertion, both buffers alike. */
function sort(values, weights, count) {
  for (let i = 1; i < count; i++) {
    const value = values[i], weight = weights[i];
    let j = i - 1;
    for (; j >= 0 && values[j] > value; j--) {
      values[j + 1] = values[j];
      weights[j + 1] = weights[j];
    }
    values[j + 1] = value;
    weights[j + 1] = weight;
  }
}
