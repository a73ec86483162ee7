// Which data set is open: another one of those present, or a file of one's own.

import { element } from "./layout.js";
import { Notice } from "./notice.js";
import { listed, megabytes, tell, upload } from "./server.js";

const KINDS = ".npz,.pt,.pth,.graphml,.zip,.csv,.parquet";

export class DataPanel {
  constructor(onOpened) {
    this.onOpened = onOpened;
    this.notice = new Notice("data");
    this.choice = element("select", { id: "dataset" });
    this.open = element("button", { type: "button", id: "open" }, "Open");
    this.file = element("input", { type: "file", id: "file", multiple: "", accept: KINDS, "aria-describedby": "file-help" });
    this.help = element("p", { class: "caption", id: "file-help" });
    this.card = element(
      "section", { class: "card", id: "data", "aria-labelledby": "data-title" },
      element("h2", { id: "data-title" }, "Data"),
      element("div", { class: "field" }, element("label", { for: "dataset" }, "Data set on this machine"), element("div", { class: "beside" }, this.choice, this.open)),
      element("div", { class: "field" }, element("label", { for: "file" }, "Or a file of your own"), this.file, this.help),
      ...this.notice.elements,
    );
    this.open.addEventListener("click", () => this.change(this.choice.value, () => tell("/open", { name: this.choice.value })));
    this.file.addEventListener("change", () => {
      const files = [...this.file.files];
      if (files.length) this.change(listed(files), () => upload(files, this.limit));
    });
  }

  async change(name, request) {
    this.notice.clear();
    this.notice.say(`Opening ${name} …`);
    this.open.disabled = this.file.disabled = true;
    try {
      await this.onOpened(await request());
      this.notice.say(`Opened ${name}.`);
    } catch (error) {
      this.notice.say("");
      this.notice.fail(error.message);
    } finally {
      this.open.disabled = this.file.disabled = false;
      // So that the same file, mended, can be chosen again.
      this.file.value = "";
    }
  }

  show({ datasets, dataset, upload_limit: limit }) {
    this.limit = limit;
    this.choice.replaceChildren(...datasets.map((name) => element("option", { value: name }, name)));
    if (dataset.published) this.choice.value = dataset.name;
    this.help.textContent =
      `An .npz, .pt or .graphml file, or two tables, nodes and edges (.csv or .parquet), chosen together or in a .zip; at most ${megabytes(limit)}. It stays on this machine.`;
  }

  redraw() {}
}
