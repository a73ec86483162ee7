// `unifilter explore`: the page of an explanation, and above it what needs the machine.

import "./explore.css";
import { ComparePanel } from "./compare_panel.js";
import { DataPanel } from "./data_panel.js";
import { element } from "./layout.js";
import { start } from "./main.js";
import { ask } from "./server.js";
import { onTheme } from "./theme.js";
import { TrainPanel } from "./train_panel.js";

class Explorer {
  constructor(place, pagePlace) {
    this.pagePlace = pagePlace;
    this.data = new DataPanel((state) => this.opened(state));
    this.train = new TrainPanel((state) => this.show(state));
    this.compare = new ComparePanel((number) => this.explainBelow(number));
    const panels = [this.data, this.train, this.compare];
    place.append(element("div", { class: "panels" }, ...panels.map((panel) => panel.card)));
    onTheme(() => panels.forEach((panel) => panel.redraw()));
  }

  /** A data set was opened: what is below belongs to the old one. */
  async opened(state) {
    await this.explain(0);
    this.show(state);
  }

  show(state) {
    this.state = state;
    this.data.show(state);
    this.train.show(state);
    this.compare.show(state, this.page.explanation.lam);
  }

  async explainBelow(number) {
    try {
      await this.explain(number);
      this.pagePlace.scrollIntoView();
    } catch (error) {
      this.train.notice.fail(error.message);
    }
  }

  /** Shows the explanation of the data (0), or of what was trained as this number. */
  async explain(number) {
    const explanation = await ask(`/explanation?number=${number}`);
    this.page?.close();
    this.page = start(this.pagePlace, explanation);
    document.title = `${explanation.name} – unifilter explore`;
  }
}

const explorer = new Explorer(document.getElementById("explore"), document.getElementById("page"));
// For programs: what is drawn, and whether all of it is.
window.unifilterExplore = explorer;
explorer.ready = ask("/state").then((state) => explorer.opened(state));
explorer.ready.catch((error) => explorer.data.notice.fail(error.message));
