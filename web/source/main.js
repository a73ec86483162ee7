// The page of an explanation: sliders for tau and homophily, and what moves with them.

import "uplot/dist/uPlot.min.css";
import "./style.css";
import { AngleMap } from "./angles.js";
import { energyChart, responseChart, spectrumChart, weightsChart } from "./charts.js";
import { makeCurves } from "./curves.js";
import { readTridiagonal } from "./data.js";
import { card, element, slider, table, tile } from "./layout.js";
import { savePicture } from "./picture.js";
import { isDark, onTheme, toggleTheme } from "./theme.js";

const HOMOPHILY = {
  edge: "Share of edges that join one class",
  node: "Share of a node's neighbors of its class, mean over nodes",
  class: "How far classes exceed what their size gives them",
  adjusted: "Against random edges of the same degrees: 0 is chance",
};

/** Builds the page in an element; returns what a program can read and do. */
export function start(root, explanation) {
  const page = new Page(root, explanation);
  window.unifilter = page;
  return page;
}

class Page {
  constructor(root, explanation) {
    this.root = root;
    this.explanation = explanation;
    this.curvesAt = makeCurves(readTridiagonal(explanation));
    this.tau = explanation.tau;
    this.homophily = explanation.homophily;
    this.build(root);
    this.update();
  }

  build(root) {
    const { explanation } = this;
    const theme = element("button", { type: "button", id: "theme" });
    const save = element("button", { type: "button", id: "save" }, "Save picture");
    const reset = element("button", { type: "button", id: "reset" }, "Reset");
    const header = element(
      "header", {},
      element("div", { class: "title" }, element("h1", {}, explanation.name), element("div", { class: "buttons" }, reset, save, theme)),
      element("p", { class: "facts" }, facts(explanation)),
      element("ul", { class: "verdict", id: "verdict" }, ...explanation.verdict.map((sentence) => element("li", {}, sentence))),
    );
    this.sliders = {
      tau: slider("tau", "τ (tau)", this.tau, "Share of the homophily basis"),
      homophily: slider("homophily", "homophily h", this.homophily, "Sets the angle θ = (1 − h) · 90° of the heterophily basis"),
    };
    const controls = element("div", { class: "controls", role: "group", "aria-label": "Basis" }, this.sliders.tau.row, this.sliders.homophily.row);
    const grid = element("main", {});
    root.append(header, controls, grid);
    this.buildCharts(grid);
    if (explanation.labels) grid.append(...labelCards(explanation));
    root.append(this.buildTables());
    for (const [name, { input }] of Object.entries(this.sliders)) {
      input.addEventListener("input", () => {
        this[name] = Number(input.value);
        this.schedule();
      });
    }
    reset.addEventListener("click", () => this.set(explanation.tau, explanation.homophily));
    save.addEventListener("click", () => this.save());
    theme.addEventListener("click", toggleTheme);
    const tellTheme = () => {
      theme.textContent = isDark() ? "Light theme" : "Dark theme";
      this.redraw();
    };
    this.forgetTheme = onTheme(tellTheme);
    tellTheme();
  }

  buildCharts(grid) {
    const { explanation } = this;
    const weighted = explanation.splits > 0;
    const trained = weighted || explanation.response_is_learned;
    const first = this.curvesAt(this.tau, this.homophily);
    const energy = explanation.feature_energy;
    const labels = explanation.labels?.energy;
    this.charts = {
      spectrum: spectrumChart(
        card(grid, "spectrum", "Basis spectrum", `Mean over ${explanation.tridiagonal.channels.toLocaleString("en")} channels; the band is one standard deviation. 0 is smooth, 1 changes sign along every edge.`),
        this.spectrumData(first)),
      weights: weightsChart(
        card(grid, "weights", weighted ? "Learned weights at their frequencies" : "Equal weights at their frequencies",
          weightsCaption(explanation)),
        this.weightsData(first)),
      response: responseChart(
        card(grid, "response", trained ? "Filter response" : "Filter response of equal weights", responseCaption(energy.span, explanation.response_is_learned)),
        this.responseData(first), energy.span),
      energy: energyChart(
        card(grid, "energy", "Spectral density, cumulative", `From Gauss quadrature. ${labels ? "Solid: features, dashed: labels. " : ""}The truth lies within the bands.`),
        [explanation.lam, energy.share, energy.low, energy.high, ...(labels ? [labels.share, labels.low, labels.high] : [])]),
    };
    this.angles = new AngleMap(card(grid, "angles", "Pairwise angles", "Between basis vectors, mean over the channels. At τ = 0 all are θ."));
  }

  buildTables() {
    const size = this.explanation.hops + 1;
    const hops = Array.from({ length: size }, (_, k) => String(k));
    this.numbers = table("numbers", "Basis and weights", ["hop", "frequency", "std", "weight", "std over splits"], size);
    this.angleNumbers = table("angle-numbers", "Angles in degrees", ["hop", ...hops], size);
    const scrolled = (made) => element("div", { class: "scrolled", tabindex: 0, role: "region", "aria-label": made.caption.textContent }, made);
    this.tables = element("details", { id: "tables" }, element("summary", {}, "Show the numbers"), scrolled(this.numbers.made), scrolled(this.angleNumbers.made));
    this.tables.addEventListener("toggle", () => this.fillTables());
    return this.tables;
  }

  /** Moves both sliders from a program. */
  set(tau, homophily) {
    this.tau = tau;
    this.homophily = homophily;
    this.sliders.tau.input.value = tau;
    this.sliders.homophily.input.value = homophily;
    this.update();
  }

  /** Many moves of a slider within one frame are drawn once. */
  schedule() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = null;
      this.update();
    });
  }

  update() {
    const curves = this.curvesAt(this.tau, this.homophily);
    this.charts.spectrum.setData(this.spectrumData(curves));
    this.charts.weights.setData(this.weightsData(curves));
    this.charts.response.setData(this.responseData(curves));
    this.angles.show(curves.angles);
    this.sliders.tau.output.textContent = this.tau.toFixed(3);
    const theta = (1 - this.homophily) * 90;
    this.sliders.homophily.output.textContent = `${this.homophily.toFixed(3)}, θ = ${theta.toFixed(1)}°`;
    this.sliders.homophily.input.setAttribute("aria-valuetext", `${this.homophily.toFixed(3)}, angle ${theta.toFixed(1)} degrees`);
    this.curves = curves;
    this.fillTables();
  }

  /** Closed tables are not filled: it would cost more than the charts. */
  fillTables() {
    if (!this.tables.open) return;
    const { curves } = this;
    const { weight, spread } = this.weights();
    this.numbers.fill(curves.frequency.map((f, k) => [k, f.toFixed(5), curves.spread[k].toFixed(5), weight[k].toFixed(5), spread[k].toFixed(5)]));
    this.angleNumbers.fill(curves.angles.map((row, k) => [k, ...row.map((angle) => angle.toFixed(2))]));
  }

  weights() {
    const { weight, weight_spread: spread, hops } = this.explanation;
    const size = hops + 1;
    return { weight: weight ?? new Array(size).fill(1 / size), spread: spread ?? new Array(size).fill(0) };
  }

  spectrumData({ frequency, spread }) {
    return [
      frequency.map((_, k) => k),
      frequency,
      frequency.map((f, k) => Math.max(0, f - spread[k])),
      frequency.map((f, k) => Math.min(1, f + spread[k])),
    ];
  }

  weightsData({ frequency }) {
    const { weight, spread } = this.weights();
    // uPlot wants the horizontal axis in ascending order.
    const order = frequency.map((_, k) => k).sort((a, b) => frequency[a] - frequency[b]);
    return [frequency, weight, spread, frequency.map((_, k) => k)].map((values) => order.map((k) => values[k]));
  }

  responseData({ response, low, high }) {
    const { lam, response_is_learned: fixed, ...learned } = this.explanation;
    // A filter that is on another basis is shown as it is: no slider moves it.
    if (fixed) return [lam, learned.response, learned.response_low, learned.response_high];
    return [lam, response, low, high];
  }

  /** What is drawn at this moment, as numbers. */
  drawn() {
    return {
      tau: this.tau,
      homophily: this.homophily,
      ...Object.fromEntries(Object.entries(this.charts).map(([name, chart]) => [name, chart.data])),
      angles: this.angles.angles,
      response_axis: [this.charts.response.scales.y.min, this.charts.response.scales.y.max],
    };
  }

  /** Takes the page away again, for another one in its place. */
  close() {
    this.forgetTheme();
    cancelAnimationFrame(this.frame);
    for (const chart of Object.values(this.charts)) chart.destroy();
    this.root.replaceChildren();
  }

  redraw() {
    for (const chart of Object.values(this.charts)) chart.redraw(false);
    this.angles.draw();
  }

  save() {
    const title = `${this.explanation.name}: τ = ${this.tau.toFixed(3)}, h = ${this.homophily.toFixed(3)}`;
    const titled = (id, canvas) => ({
      title: document.getElementById(`${id}-title`).textContent,
      caption: document.querySelector(`#${id} .caption`).textContent,
      canvas,
    });
    const panels = Object.entries(this.charts).map(([name, chart]) => titled(name, chart.ctx.canvas));
    savePicture(title, this.explanation.name, [...panels, titled("angles", this.angles.canvas)]);
  }
}

function weightsCaption({ splits, response_is_learned: elsewhere }) {
  if (elsewhere) return "The learned filter is on another basis: see its response. Here every hop has the same weight.";
  if (splits === 0) return "Nothing was trained: every hop has the weight that training starts from.";
  return splits === 1 ? "A bar for each hop." : `A bar for each hop, mean over ${splits} splits; thin lines are one standard deviation.`;
}

function responseCaption([first, last], elsewhere) {
  const what = elsewhere
    ? "The learned filter, which no slider moves: median over its channels; the band lies between the quartiles."
    : "Median over the channels, each weighted by the energy it can have at λ; the band lies between the quartiles.";
  return `${what} The axis fits λ from ${first.toFixed(2)} to ${last.toFixed(2)}, which holds 98 % of the features' energy; in the shaded parts a curve may leave it.`;
}

function facts({ nodes, edges, channels, hops, krylov, homophily, homophily_from: from }) {
  const count = (value, name) => `${value.toLocaleString("en")} ${name}`;
  const size = nodes === null ? [] : [count(nodes, "nodes"), count(edges, "edges")];
  const parts = [...size, count(hops, "hops"), count(channels, "channels")];
  if (krylov.broken_down.length) parts.push(count(krylov.broken_down.length, "exhausted early"));
  if (krylov.zero_columns.length) parts.push(count(krylov.zero_columns.length, "without signal"));
  return `${parts.join(" · ")} · homophily ${homophily.toFixed(3)} (${from})`;
}

function labelCards({ labels }) {
  // A rounded -0.0004 is 0.000, without its sign.
  const show = (value) => (value === null ? "–" : value.toFixed(3).replace(/^-(0\.0+)$/, "$1"));
  const tiles = Object.entries(HOMOPHILY).map(([name, about]) => tile(`${name} homophily`, show(labels.homophily[name]), about));
  tiles.push(tile("label frequency", show(labels.frequency), "Definition 2.2 of the centered labels: 0.5 is chance"));
  const classes = table("classes", "Class by class", ["class", "nodes", "homophily", "frequency"], labels.classes.length);
  classes.fill(labels.classes.map((one) => [one.name, one.nodes.toLocaleString("en"), show(one.homophily), show(one.frequency)]));
  return [
    element("section", { class: "card", id: "homophily-card", "aria-labelledby": "homophily-title" },
      element("h2", { id: "homophily-title" }, "Homophily"),
      element("div", { class: "tiles" }, ...tiles),
      element("div", { class: "scrolled classes" }, classes.made)),
  ];
}
