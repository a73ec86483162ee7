// A line that says what is going on, and one that says what went wrong; both are read aloud.

import { element } from "./layout.js";

export class Notice {
  constructor(id) {
    this.status = element("p", { class: "status", id: `${id}-status`, role: "status" });
    this.alert = element("p", { class: "alert", id: `${id}-alert`, role: "alert", hidden: "" });
    this.elements = [this.status, this.alert];
  }

  say(text) {
    this.status.textContent = text;
  }

  /** Stays, whatever else goes on, until something new is tried. */
  fail(text) {
    this.alert.textContent = text;
    this.alert.hidden = false;
  }

  clear() {
    this.alert.textContent = "";
    this.alert.hidden = true;
  }
}
