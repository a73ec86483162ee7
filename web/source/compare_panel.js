// What was trained: a table of scores, and every learned filter on one axis.

import { compareChart, styleOf } from "./explore_charts.js";
import { element } from "./layout.js";
import { named } from "./metrics.js";

const SVG = "http://www.w3.org/2000/svg";
const HEADER = (metric) => ["filter", "method", `test ${metric}`, `validation ${metric}`, "epochs", "seconds", "ended by", ""];

// Where a split leaves classes out, the score is marked and a line below the table names them.
const LEFT_OUT = { untested_classes: { mark: "*", nodes: "test" }, unvalidated_classes: { mark: "†", nodes: "validation" } };

export class ComparePanel {
  constructor(onExplain) {
    this.onExplain = onExplain;
    this.hidden = new Set();
    this.empty = element("p", { class: "caption" }, "Train some methods: their scores and the filters they learned come here.");
    this.place = element("div", { class: "body", id: "responses", hidden: "" });
    this.caption = element("p", { class: "caption", hidden: "" });
    this.rows = element("tbody");
    this.head = element("thead");
    this.table = element("div", { class: "scrolled", hidden: "", tabindex: 0, role: "region", "aria-label": "Trained methods" },
      element("table", { id: "trained" }, this.head, this.rows));
    this.notes = element("div", { id: "left-out" });
    this.dataAlone = element("button", { type: "button", id: "explain-data", hidden: "" }, "Explain the data alone");
    this.dataAlone.addEventListener("click", () => this.onExplain(0));
    this.card = element("section", { class: "card wide", id: "compare", "aria-labelledby": "compare-title" },
      element("h2", { id: "compare-title" }, "Compare"), this.empty, this.place, this.caption, this.table, this.notes, this.dataAlone);
  }

  show({ dataset, trained }, lam) {
    if (this.dataset !== dataset.name) this.hidden.clear();
    this.dataset = dataset.name;
    this.span = dataset.energy_span;
    this.trained = trained;
    this.lam = lam;
    const none = trained.length === 0;
    this.empty.hidden = !none;
    this.table.hidden = this.dataAlone.hidden = none;
    this.head.replaceChildren(element("tr", {}, ...HEADER(named(dataset.metric)).map((name) => element("th", { scope: "col" }, name))));
    this.rows.replaceChildren(...trained.map((one) => this.row(one)));
    this.notes.replaceChildren(...Object.keys(LEFT_OUT).flatMap((key) => note(trained, key)));
    this.draw();
  }

  row(one) {
    const percent = (value) => (value === null ? "–" : `${(100 * value).toFixed(1)} %`);
    const cells = [this.switch(one), `${one.number}. ${one.method}`, percent(one.test) + marked(one, "untested_classes"), percent(one.val) + marked(one, "unvalidated_classes"), one.epochs, one.seconds.toFixed(1), one.ended, this.explainer(one)];
    const made = element("tr", {}, ...cells.map((cell, i) => element(i === 1 ? "th" : "td", i === 1 ? { scope: "row" } : {}, cell)));
    made.title = `${named(one.metric)} on the split ${one.split}`;
    return made;
  }

  /** Shows and hides a curve, beside a piece of its line. */
  switch(one) {
    if (!one.response) return "none";
    const box = element("input", { type: "checkbox", "aria-label": `Show the filter of ${one.number}. ${one.method}` });
    box.checked = !this.hidden.has(one.number);
    box.addEventListener("change", () => {
      if (box.checked) this.hidden.delete(one.number);
      else this.hidden.add(one.number);
      this.draw();
    });
    const { name, dash } = styleOf(one.number);
    const sample = document.createElementNS(SVG, "svg");
    sample.setAttribute("class", `sample ${name}`);
    sample.setAttribute("viewBox", "0 0 36 8");
    sample.setAttribute("aria-hidden", "true");
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", "M0 4H36");
    path.setAttribute("stroke-dasharray", dash.join(" "));
    sample.append(path);
    return element("label", { class: "switch" }, box, sample);
  }

  explainer(one) {
    if (!one.explained) return "";
    const button = element("button", { type: "button", "aria-label": `Explain ${one.number}. ${one.method}` }, "Explain below");
    button.addEventListener("click", () => this.onExplain(one.number));
    return button;
  }

  draw() {
    const shown = this.trained.filter((one) => one.response && !this.hidden.has(one.number));
    this.chart?.destroy();
    this.chart = null;
    this.place.hidden = this.caption.hidden = shown.length === 0;
    this.drawn = shown.map((one) => ({ number: one.number, method: one.method, response: scaled(one.response, this.lam, this.span) }));
    if (!shown.length) return;
    this.chart = compareChart(this.place, this.lam, this.drawn, this.span);
    const [first, last] = this.span.map((value) => value.toFixed(2));
    this.caption.textContent = `Learned filters, median over their channels. Each is divided by its largest size for λ from ${first} to ${last}, which holds 98 % of the features' energy: filters differ in scale by what their models do next. In the shaded parts a curve may leave the axis.`;
  }

  redraw() {
    this.chart?.redraw(false);
  }
}

function marked(one, key) {
  return one[key].length ? ` ${LEFT_OUT[key].mark}` : "";
}

function note(trained, key) {
  const names = [...new Set(trained.flatMap((one) => one[key]))];
  if (!names.length) return [];
  const { mark, nodes } = LEFT_OUT[key];
  const listed = names.map((name) => `'${name}'`).join(", ");
  return [element("p", { class: "caption" }, `${mark} no ${nodes} node of class ${listed}: the score says nothing about ${names.length > 1 ? "them" : "it"}`)];
}

function scaled(response, lam, [first, last]) {
  const inside = response.filter((value, l) => value !== null && lam[l] >= first && lam[l] <= last);
  const size = Math.max(...inside.map(Math.abs)) || 1;
  return response.map((value) => (value === null ? null : value / size));
}
