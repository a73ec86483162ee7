// The filter's response at every eigenvalue of the grid: median and quartiles over the channels, weighted by energy.

import { makeQuartiles } from "./quartiles.js";

/**
 * A function of (tau, homophily, rows of the heterophily basis).
 *
 * The response is tau times that of the homophily basis, which no slider moves, plus (1 - tau) times that of the
 * heterophily basis, which only homophily moves.
 */
export function makeResponse(tridiagonal, powers) {
  const { hops, channels, norm, lam, weights, weightChannels } = tridiagonal;
  const size = hops + 1;
  const points = lam.length;
  const polynomials = orthonormalPolynomials(tridiagonal);
  const possible = possibleEnergy(polynomials, points, size, channels);
  const onVectors = new Float64Array(size * channels);
  const smooth = combined(filteredPowers());
  const turned = new Float64Array(points * channels);
  const scratch = new Float64Array(channels);
  const quartiles = makeQuartiles(channels);
  let turnedAt = NaN;

  return function respond(tau, homophily, rotated) {
    if (homophily !== turnedAt) {
      combined(filteredRotation(rotated), turned);
      turnedAt = homophily;
    }
    const response = [], low = [], high = [];
    for (let l = 0; l < points; l++) {
      const from = l * channels;
      for (let c = 0; c < channels; c++) scratch[c] = tau * smooth[from + c] + (1 - tau) * turned[from + c];
      const [first, second, third] = quartiles(scratch, possible.subarray(from, from + channels));
      low.push(first);
      response.push(second);
      high.push(third);
    }
    return { response, low, high };
  };

  /** Sum over the Lanczos vectors of what is in `onVectors` times their polynomials, [points, channels]. */
  function combined(coefficients, result = new Float64Array(points * channels)) {
    result.fill(0);
    for (let l = 0, at = 0; l < points; l++) {
      const to = l * channels;
      for (let i = 0; i < size; i++, at += channels) {
        for (let c = 0; c < channels; c++) result[to + c] += coefficients[i * channels + c] * polynomials[at + c];
      }
    }
    return result;
  }

  function filteredPowers() {
    onVectors.fill(0);
    for (let c = 0, at = 0; c < channels; c++) {
      for (let k = 0; k < size; k++) {
        const weight = weightOf(k, c);
        for (let i = 0; i <= k; i++, at++) onVectors[i * channels + c] += weight * powers[at];
      }
    }
    return onVectors;
  }

  function filteredRotation(rotated) {
    for (let i = 0; i < size; i++) {
      const shared = weightChannels === 1 ? weighted(rotated, i, 0) : 0;
      for (let c = 0; c < channels; c++) {
        onVectors[i * channels + c] = (weightChannels === 1 ? shared : weighted(rotated, i, c)) / norm[c];
      }
    }
    return onVectors;
  }

  function weighted(rotated, i, c) {
    let total = 0;
    for (let k = i; k < size; k++) total += weightOf(k, c) * rotated[(k * (k + 1)) / 2 + i];
    return total;
  }

  function weightOf(k, c) {
    return weights[weightChannels === 1 ? k : k * weightChannels + c];
  }
}

/** The largest share of its energy that a channel can have at an eigenvalue: the Christoffel function, [points, channels]. */
function possibleEnergy(polynomials, points, size, channels) {
  const possible = new Float64Array(points * channels);
  for (let l = 0; l < points; l++) {
    for (let c = 0; c < channels; c++) {
      let squares = 0;
      for (let i = 0; i < size; i++) squares += polynomials[(l * size + i) * channels + c] ** 2;
      possible[l * channels + c] = 1 / squares;
    }
  }
  return possible;
}

/** pi_i by eigenvalue, then i, then channel; zero beyond the reached dimension. */
function orthonormalPolynomials({ hops, channels, alpha, beta, dimension, lam }) {
  const values = new Float64Array(lam.length * (hops + 1) * channels);
  lam.forEach((eigenvalue, l) => {
    const from = l * (hops + 1) * channels;
    for (let c = 0; c < channels; c++) {
      let before = 0, current = 1;
      for (let k = 0; k <= hops; k++) {
        values[from + k * channels + c] = current;
        if (k === hops) break;
        let following = (1 - eigenvalue - alpha[k * channels + c]) * current;
        if (k > 0) following -= beta[(k - 1) * channels + c] * before;
        before = current;
        current = k + 1 < dimension[c] ? following / beta[k * channels + c] : 0;
      }
    }
  });
  return values;
}
