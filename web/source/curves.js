// What moves with tau and homophily, channel by channel: the same numbers as unifilter.explanation.curves.

import { makeResponse } from "./response.js";

const DEGREES = 180 / Math.PI;

/**
 * A function of (tau, homophily). What does not depend on them is computed here, once.
 *
 * Row k of a basis has entries 0 to k only, so rows are packed one after another: entry (k, i) is at k (k + 1) / 2 + i.
 * Everything of a channel lies together, for each is worked through on its own.
 */
export function makeCurves(tridiagonal) {
  const { hops, channels, dimension, norm } = tridiagonal;
  const size = hops + 1;
  const packed = (size * (size + 1)) / 2;
  const alpha = byChannel(tridiagonal.alpha, size, channels);
  const beta = byChannel(tridiagonal.beta, hops, channels);
  const powers = powersOf(alpha, beta, hops, channels);
  const respond = makeResponse(tridiagonal, powers);
  const row = new Float64Array(packed);
  const length = new Float64Array(size);
  const angles = new Float64Array(packed);
  const frequencies = new Float64Array(size * channels);

  return function curves(tau, homophily) {
    const rotated = heterophilyRows(Math.sin((homophily * Math.PI) / 2), size);
    angles.fill(0);
    for (let c = 0; c < channels; c++) {
      mixRows(c, tau, rotated);
      addFrequencies(c);
      addAngles();
    }
    return { ...frequencyMoments(), angles: meanAngles(), ...respond(tau, homophily, rotated) };
  };

  /** The basis vectors of one channel on its Lanczos vectors, and their lengths. */
  function mixRows(c, tau, rotated) {
    const reached = dimension[c];
    const scale = tau * norm[c];
    const from = c * packed;
    for (let k = 0, at = 0; k < size; k++) {
      let energy = 0;
      for (let i = 0; i <= k; i++, at++) {
        const value = i < reached ? scale * powers[from + at] + (1 - tau) * rotated[at] : 0;
        row[at] = value;
        energy += value * value;
      }
      length[k] = Math.sqrt(energy);
    }
  }

  /** Definition 2.2: (|m|^2 - m.T m) / (2 |m|^2), and 0 for a zero vector. */
  function addFrequencies(c) {
    const diagonal = c * size;
    const beside = c * hops - 1;
    for (let k = 0, at = 0; k < size; k++) {
      let kept = 0;
      let before = 0;
      for (let i = 0; i <= k; i++, at++) {
        const m = row[at];
        kept += alpha[diagonal + i] * m * m;
        if (i > 0) kept += 2 * beta[beside + i] * m * before;
        before = m;
      }
      const energy = length[k] * length[k];
      const frequency = energy > 0 ? (energy - kept) / (2 * energy) : 0;
      frequencies[k * channels + c] = frequency < 0 ? 0 : frequency > 1 ? 1 : frequency;
    }
  }

  function addAngles() {
    for (let k = 1, later = 1; k < size; later += ++k) {
      for (let j = 0, earlier = 0; j < k; earlier += ++j) {
        let inner = 0;
        for (let i = 0; i <= j; i++) inner += row[later + i] * row[earlier + i];
        const lengths = length[k] * length[j];
        const cosine = lengths > 0 ? inner / lengths : 0;
        angles[later + j] += Math.acos(cosine > 1 ? 1 : cosine < -1 ? -1 : cosine);
      }
    }
  }

  function frequencyMoments() {
    const frequency = [], spread = [];
    for (let k = 0; k < size; k++) {
      const values = frequencies.subarray(k * channels, (k + 1) * channels);
      let total = 0;
      for (let c = 0; c < channels; c++) total += values[c];
      const mean = total / channels;
      let squares = 0;
      for (let c = 0; c < channels; c++) squares += (values[c] - mean) * (values[c] - mean);
      frequency.push(mean);
      spread.push(Math.sqrt(squares / channels));
    }
    return { frequency, spread };
  }

  function meanAngles() {
    const at = (k, j) => (k < j ? at(j, k) : (angles[(k * (k + 1)) / 2 + j] * DEGREES) / channels);
    const hopsFrom0 = Array.from({ length: size }, (_, k) => k);
    return hopsFrom0.map((k) => hopsFrom0.map((j) => at(k, j)));
  }
}

function byChannel(values, rows, channels) {
  const turned = new Float64Array(values.length);
  for (let i = 0; i < rows; i++) for (let c = 0; c < channels; c++) turned[c * rows + i] = values[i * channels + c];
  return turned;
}

/** T^k e_0 of every channel, packed. */
function powersOf(alpha, beta, hops, channels) {
  const size = hops + 1;
  const powers = new Float64Array((channels * size * (size + 1)) / 2);
  for (let c = 0, at = 0; c < channels; c++) {
    powers[at] = 1;
    for (let k = 0; k < hops; k++, at += k) {
      const following = at + k + 1;
      for (let i = 0; i <= k; i++) {
        const value = powers[at + i];
        powers[following + i] += alpha[c * size + i] * value;
        powers[following + i + 1] += beta[c * hops + i] * value;
        if (i > 0) powers[following + i - 1] += beta[c * hops + i - 1] * value;
      }
    }
    at += size;
  }
  return powers;
}

/** Rows of the Cholesky factor of (1 - c) I + c 11^T, packed: unit vectors that all meet at the same angle. */
function heterophilyRows(cosine, size) {
  const rows = new Float64Array((size * (size + 1)) / 2);
  const total = new Float64Array(size);
  rows[0] = total[0] = 1;
  for (let k = 1, start = 1; k < size; start += ++k) {
    const below = 1 + (k - 1) * cosine;
    for (let i = 0; i < k; i++) rows[start + i] = (cosine / below) * total[i];
    rows[start + k] = Math.sqrt(((1 - cosine) * (1 + k * cosine)) / below);
    for (let i = 0; i <= k; i++) total[i] += rows[start + i];
  }
  return rows;
}
