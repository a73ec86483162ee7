// The elements of the page. Text is set as text, never as HTML: names come from files.

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** A card with a title and a line on how to read it; returns the place for what it shows. */
export function card(grid, id, title, caption) {
  const body = element("div", { class: "body" });
  const heading = element("h2", { id: `${id}-title` }, title);
  grid.append(element("section", { class: "card", id, "aria-labelledby": `${id}-title` }, heading, body, element("p", { class: "caption" }, caption)));
  return body;
}

export function slider(id, label, value, about) {
  const input = element("input", { type: "range", id, min: 0, max: 1, step: 0.001, value: String(value) });
  // A range rounds to its steps; the page starts at the exact value all the same.
  const output = element("output", { for: id });
  const row = element("div", { class: "slider" }, element("label", { for: id, title: about }, label), input, output);
  return { input, output, row };
}

export function tile(name, value, about) {
  return element("div", { class: "tile", title: about }, element("span", { class: "value" }, value), element("span", { class: "name" }, name));
}

/** A table whose cells can be filled again and again. */
export function table(id, caption, header, rows) {
  const body = element("tbody");
  for (let i = 0; i < rows; i++) {
    body.append(element("tr", {}, ...header.map((_, column) => element(column ? "td" : "th", column ? {} : { scope: "row" }))));
  }
  const head = element("thead", {}, element("tr", {}, ...header.map((name) => element("th", { scope: "col" }, name))));
  const made = element("table", { id }, element("caption", {}, caption), head, body);
  const fill = (values) => values.forEach((row, r) => row.forEach((value, c) => (body.rows[r].cells[c].textContent = value)));
  return { made, fill };
}
