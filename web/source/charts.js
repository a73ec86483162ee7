// The four charts that uPlot draws. Colors are read when they are drawn, so that a theme can change.

import uPlot from "uplot";
import { color } from "./theme.js";

const FONT = "12px system-ui, sans-serif";
const HEIGHT = 290;
const number = (digits) => (_, value) => (value == null ? "–" : value.toFixed(digits));

/** Frequency of each basis vector: mean over the channels, and a band of one standard deviation. */
export function spectrumChart(element, data) {
  return chart(element, data, {
    x: { label: "hop k", range: [-0.3, data[0].length - 0.7], incrs: [1, 2, 5, 10], legend: "hop", digits: 0 },
    y: { label: "frequency f", range: [0, 1] },
    series: [
      line("mean", "green", { points: { show: true, size: 7, fill: () => color("green") } }),
      edge("− 1 std", "green"),
      edge("+ 1 std", "green"),
    ],
    bands: [band([3, 2], "green")],
  });
}

/** The paper's picture: a bar for each hop at the frequency of its basis vector. Rows: frequency, weight, spread, hop. */
export function weightsChart(element, data) {
  const low = Math.min(0, ...data[1].map((weight, i) => weight - data[2][i]));
  const high = Math.max(0, ...data[1].map((weight, i) => weight + data[2][i]));
  const margin = 0.08 * (high - low || 1);
  return chart(element, data, {
    x: { label: "frequency f of the basis vector", range: [0, 1], legend: "frequency", digits: 4 },
    y: { label: "weight w of the hop", range: [low < 0 ? low - margin : 0, high + margin] },
    series: [
      { label: "weight", stroke: () => color("blue"), paths: () => null, value: number(4),
        points: { show: true, size: 8, fill: () => color("blue") } },
      { label: "std over splits", paths: () => null, points: { show: false }, value: number(4), stroke: () => color("muted"), scale: "none" },
      { label: "hop", paths: () => null, points: { show: false }, value: number(0), stroke: () => color("muted"), scale: "none" },
    ],
    scales: { none: {} },
    hooks: { draw: [drawBars] },
  });
}

/**
 * The filter's response: median over the channels, and a band between the quartiles. The axis fits what lies between the
 * two eigenvalues of `span`; what is outside is shaded.
 */
export function responseChart(element, data, span) {
  return chart(element, data, {
    x: { label: "Laplacian eigenvalue λ", range: [0, 2], legend: "λ", digits: 3 },
    y: { label: "gain of the filter", range: (u) => responseAxis(u.data, span) },
    series: [line("median", "blue"), edge("lower quartile", "blue"), edge("upper quartile", "blue")],
    bands: [band([3, 2], "blue")],
    hooks: { drawClear: [(u) => shadeOutside(u, span)], draw: [drawZero] },
  });
}

/** The gains that are shown: 0 and all rows of the data between two eigenvalues; the same as response_axis of the library. */
export function responseAxis([lam, ...rows], span) {
  let low = 0, high = 0;
  lam.forEach((eigenvalue, l) => {
    if (eigenvalue < span[0] || eigenvalue > span[1]) return;
    for (const row of rows) {
      if (row[l] < low) low = row[l];
      if (row[l] > high) high = row[l];
    }
  });
  const margin = 0.06 * (high - low) || 1;
  return [low - margin, high + margin];
}

export function shadeOutside(u, span) {
  const { ctx, bbox } = u;
  const [first, last] = span.map((eigenvalue) => u.valToPos(eigenvalue, "x", true));
  ctx.save();
  ctx.fillStyle = color("shade");
  ctx.fillRect(bbox.left, bbox.top, first - bbox.left, bbox.height);
  ctx.fillRect(last, bbox.top, bbox.left + bbox.width - last, bbox.height);
  ctx.restore();
}

/** Share of energy at or below each eigenvalue, with its bounds: features, and labels where there are any. */
export function energyChart(element, data) {
  const ofLabels = data.length > 4;
  return chart(element, data, {
    x: { label: "Laplacian eigenvalue λ", range: [0, 2], legend: "λ", digits: 3 },
    y: { label: "share of energy at or below λ", range: [0, 1.02] },
    series: [
      line("features", "blue"), edge("features, at least", "blue"), edge("features, at most", "blue"),
      ...(ofLabels ? [line("labels", "orange", { dash: [8, 4] }), edge("labels, at least", "orange"), edge("labels, at most", "orange")] : []),
    ],
    bands: [band([3, 2], "blue"), ...(ofLabels ? [band([6, 5], "orange")] : [])],
  });
}

/** A chart as wide as its element, with named axes; `right` is a second vertical axis, of the scale "right". */
export function chart(element, data, { x, y, right, series, bands = [], hooks = {}, scales = {} }) {
  const made = new uPlot(
    {
      width: widthOf(element),
      height: HEIGHT,
      scales: { x: { time: false, range: x.range }, y: y.range ? { range: y.range } : {}, ...(right ? { right: { range: right.range } } : {}), ...scales },
      axes: [
        axis(x.label, { size: 34, incrs: x.incrs }),
        axis(y.label, { size: 58 }),
        ...(right ? [axis(right.label, { size: 50, side: 1, scale: "right", grid: { show: false } })] : []),
      ],
      series: [{ label: x.legend, value: number(x.digits) }, ...series],
      bands,
      hooks,
      cursor: { drag: { x: false, y: false }, points: { size: 8 } },
      legend: { live: true, markers: { dash: (u, i) => (u.series[i].dash?.length ? "dashed" : "solid") } },
    },
    data,
    element,
  );
  new ResizeObserver(() => {
    const width = widthOf(element);
    if (width !== made.width) made.setSize({ width, height: HEIGHT });
  }).observe(element);
  return made;
}

function widthOf(element) {
  return Math.max(240, element.clientWidth);
}

function axis(label, options) {
  const quiet = { stroke: () => color("grid"), width: 1 };
  return { label, font: FONT, labelFont: FONT, labelSize: 22, stroke: () => color("muted"), grid: quiet, ticks: quiet, ...options };
}

export function line(label, name, options = {}) {
  return { label, stroke: () => color(name), width: 2, value: number(4), points: { show: false }, ...options };
}

function edge(label, name) {
  return { label, stroke: () => color(name), width: 0.6, value: number(4), points: { show: false } };
}

function band(series, name) {
  return { series, fill: () => `color-mix(in srgb, ${color(name)} 20%, transparent)` };
}

export function drawZero(u) {
  const { ctx } = u;
  const y = u.valToPos(0, "y", true);
  if (y < u.bbox.top || y > u.bbox.top + u.bbox.height) return;
  ctx.save();
  ctx.strokeStyle = color("muted");
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
  ctx.beginPath();
  ctx.moveTo(u.bbox.left, y);
  ctx.lineTo(u.bbox.left + u.bbox.width, y);
  ctx.stroke();
  ctx.restore();
}

function drawBars(u) {
  drawZero(u);
  const { ctx, data } = u;
  const zero = u.valToPos(0, "y", true);
  ctx.save();
  for (let i = 0; i < data[0].length; i++) {
    const x = u.valToPos(data[0][i], "x", true);
    ctx.strokeStyle = color("blue");
    ctx.lineWidth = 6 * devicePixelRatio;
    stroke(ctx, x, zero, u.valToPos(data[1][i], "y", true));
    ctx.strokeStyle = color("text");
    ctx.lineWidth = 1.5 * devicePixelRatio;
    stroke(ctx, x, u.valToPos(data[1][i] - data[2][i], "y", true), u.valToPos(data[1][i] + data[2][i], "y", true));
  }
  ctx.restore();
}

function stroke(ctx, x, from, to) {
  ctx.beginPath();
  ctx.moveTo(x, from);
  ctx.lineTo(x, to);
  ctx.stroke();
}
