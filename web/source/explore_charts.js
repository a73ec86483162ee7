// The charts of `unifilter explore`: a curve that grows, and filters on one axis.

import { chart, drawZero, line, shadeOutside } from "./charts.js";

// Six colors and five kinds of lines: thirty filters look different, and the first five also without any color.
const COLOURS = ["blue", "orange", "green", "purple", "gold", "text"];
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [16, 6]];
const EPOCHS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000];

/** Loss on the left axis, score on the right. Rows: epoch, loss, score. */
export function liveChart(element, data, method, metric) {
  return chart(element, data, {
    x: { label: "epoch", range: (u, low, high) => [1, Math.max(10, high ?? 10)], incrs: EPOCHS, legend: "epoch", digits: 0 },
    y: { label: "training loss (cross-entropy)", range: (u, low, high) => [0, 1.05 * (high || 1)] },
    right: { label: `validation ${metric} (share)`, range: [0, 1.02] },
    series: [line(`${method}: training loss`, "blue"), line(`validation ${metric}`, "orange", { scale: "right", dash: [8, 4] })],
  });
}

/** Learned filters, each of them scaled. */
export function compareChart(element, lam, filters, span) {
  return chart(element, [lam, ...filters.map(({ response }) => response)], {
    x: { label: "Laplacian eigenvalue λ", range: [0, 2], legend: "λ", digits: 3 },
    y: { label: "gain, divided by its largest", range: [-1.15, 1.15] },
    series: filters.map(({ number, method }) => {
      const { name, dash } = styleOf(number);
      return line(`${number}. ${method}`, name, { dash });
    }),
    hooks: { drawClear: [(u) => shadeOutside(u, span)], draw: [drawZero] },
  });
}

/** How the filter of this number, from 1, is drawn. */
export function styleOf(number) {
  return { name: COLOURS[(number - 1) % COLOURS.length], dash: DASHES[(number - 1) % DASHES.length] };
}
