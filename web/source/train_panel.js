// Training: which methods, on which split, and a curve that grows with every epoch.

import { liveChart } from "./explore_charts.js";
import { element } from "./layout.js";
import { named } from "./metrics.js";
import { Notice } from "./notice.js";
import { ask, follow, tell } from "./server.js";

const SPLITS = { 48: "Geom-GCN 48/32/20", 60: "random 60/20/20", stratified: "stratified 60/20/20" };

export class TrainPanel {
  constructor(onChange) {
    this.onChange = onChange;
    this.notice = new Notice("train");
    this.methods = element("fieldset", { class: "methods", id: "methods" });
    this.split = element("select", { id: "split" });
    this.epochs = element("input", { type: "number", id: "epochs", min: 1, max: 100000, step: 1, value: 200 });
    this.begin = element("button", { type: "button", id: "begin" }, "Train");
    this.stop = element("button", { type: "button", id: "stop", disabled: "" }, "Stop");
    this.place = element("div", { class: "body", id: "curve", hidden: "" });
    this.curve = null;
    this.card = element(
      "section", { class: "card", id: "train", "aria-labelledby": "train-title" },
      element("h2", { id: "train-title" }, "Train"),
      this.methods,
      element("div", { class: "beside" },
        element("div", { class: "field" }, element("label", { for: "split" }, "Split"), this.split),
        element("div", { class: "field" }, element("label", { for: "epochs" }, "Epochs, at most"), this.epochs),
        element("div", { class: "field buttons" }, this.begin, this.stop)),
      ...this.notice.elements,
      this.place,
    );
    this.begin.addEventListener("click", () => this.start());
    this.stop.addEventListener("click", () => this.end());
  }

  show({ dataset, methods, training }) {
    if (this.dataset !== dataset.name) this.offer(dataset, methods);
    this.dataset = dataset.name;
    if (training?.state === "running" && !this.following) this.follow();
  }

  /** What can be chosen for a data set; the ticks stay. */
  offer(dataset, methods) {
    const ticked = new Set(this.methods.children.length ? this.ticked() : ["unifilter"]);
    const boxes = methods.map(({ name, paper, published }) => {
      const box = element("input", { type: "checkbox", value: name, id: `method-${name}` });
      box.checked = ticked.has(name);
      const about = `${paper}; ${published ? "its published settings for this data set" : "its default settings"}`;
      return element("label", { title: about }, box, ` ${name}${published ? " *" : ""}`);
    });
    this.methods.replaceChildren(element("legend", {}, "Methods, trained one after another (* with published settings)"), ...boxes);
    this.split.replaceChildren(...dataset.splits.map((name) => element("option", { value: name }, SPLITS[name] ?? name)));
    this.curve?.destroy();
    this.curve = null;
    this.place.hidden = true;
    this.notice.clear();
    this.notice.say(dataset.labeled ? "" : "Without labels there is nothing to learn.");
    this.begin.disabled = !dataset.labeled;
  }

  ticked() {
    return [...this.methods.querySelectorAll("input:checked")].map((box) => box.value);
  }

  async start() {
    this.notice.clear();
    try {
      const words = { methods: this.ticked(), split: this.split.value, epochs: Number(this.epochs.value) };
      if (!Number.isInteger(words.epochs)) throw new Error(`the number of epochs must be a whole number, not ${this.epochs.value}`);
      this.onChange(await tell("/train", words));
      // A short one may have ended already.
      if (!this.following) this.follow();
    } catch (error) {
      this.notice.fail(error.message);
    }
  }

  async end() {
    this.stop.disabled = true;
    try {
      await tell("/stop");
    } catch (error) {
      this.notice.fail(error.message);
    }
  }

  follow() {
    this.following = true;
    this.begin.disabled = true;
    this.stop.disabled = false;
    this.notice.say("Preparing …");
    this.runs = [];
    follow((news) => this.grow(news), (end) => this.finish(end));
  }

  grow(news) {
    const run = (this.runs[news.number] ??= { loss: [], score: [] });
    for (const name of ["loss", "score"]) run[name] = run[name].slice(0, news.from).concat(news[name]);
    if (news.number < this.runs.length - 1) return;
    const data = [run.loss.map((_, i) => i + 1), run.loss, run.score];
    if (this.shown !== run) {
      this.shown = run;
      this.place.hidden = false;
      this.curve?.destroy();
      this.curve = liveChart(this.place, data, news.method, named(news.metric));
    } else this.curve.setData(data);
    this.notice.say(this.described(news, run));
    this.drawn = { method: news.method, data };
  }

  described({ method, metric, epochs }, { loss, score }) {
    if (!loss.length) return `${method}: preparing …`;
    const shown = (value) => (value === null ? "not a number" : value.toFixed(3));
    return `${method}: epoch ${loss.length} of at most ${epochs}, training loss ${shown(loss.at(-1))}, validation ${named(metric)} ${shown(score.at(-1))}`;
  }

  async finish({ state, message }) {
    this.following = false;
    this.begin.disabled = false;
    this.stop.disabled = true;
    if (state === "failed") {
      this.notice.say("");
      this.notice.fail(message);
    } else this.notice.say(`${message[0].toUpperCase()}${message.slice(1)}.`);
    try {
      this.onChange(await ask("/state"));
    } catch (error) {
      this.notice.fail(error.message);
    }
  }

  redraw() {
    this.curve?.redraw(false);
  }
}
