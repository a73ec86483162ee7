// A line that says what is going on, or what went wrong; both are read aloud.

import { element } from "./layout.js";

export class Notice {
  constructor(id) {
    this.status = element("p", { class: "status", id: `${id}-status`, role: "status" });
    this.alert = element("p", { class: "alert", id: `${id}-alert`, role: "alert", hidden: "" });
    this.elements = [this.status, this.alert];
  }

  say(text) {
    this.status.textContent = text;
    this.alert.hidden = true;
    this.alert.textContent = "";
  }

  fail(text) {
    this.say("");
    this.alert.textContent = text;
    this.alert.hidden = false;
  }
}
