// The numbers of the library, as it wrote them.

const ARRAYS = { float32: Float32Array, float64: Float64Array, int32: Int32Array };

/** A typed array from base64 of little-endian numbers. */
export function decode(text, dtype) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return new ARRAYS[dtype](bytes.buffer);
}

/** Tridiagonals and filter weights in double precision: what curves.js computes with. */
export function readTridiagonal(explanation) {
  const { tridiagonal, filter, hops } = explanation;
  const read = (name) => Float64Array.from(decode(tridiagonal[name], tridiagonal.dtype));
  return {
    hops,
    channels: tridiagonal.channels,
    alpha: read("alpha"),
    beta: read("beta"),
    norm: read("norm"),
    dimension: decode(tridiagonal.dimension, "int32"),
    weights: decode(filter.weights, "float64"),
    weightChannels: filter.channels,
    lam: Float64Array.from(explanation.lam),
  };
}
