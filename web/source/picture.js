// "Save picture": what is drawn, on one canvas, as a PNG.

import { color } from "./theme.js";

const GAP = 24;
const COLUMN = 620;
const CAPTION = "13px system-ui, sans-serif";
const LINE = 18;

/** Downloads the panels, two beside each other, under a line that says what they show. */
export function savePicture(title, name, panels) {
  const rows = [];
  for (let i = 0; i < panels.length; i += 2) rows.push(panels.slice(i, i + 2));
  const scaled = ({ canvas }) => Math.min(1, COLUMN / canvas.width) * canvas.height;
  const picture = document.createElement("canvas");
  const measure = picture.getContext("2d");
  measure.font = CAPTION;
  const captions = new Map(panels.map((panel) => [panel, wrapped(measure, panel.caption)]));
  const heights = rows.map((row) => Math.max(...row.map((panel) => scaled(panel) + LINE * captions.get(panel).length)) + 38);
  picture.width = 2 * COLUMN + 3 * GAP;
  picture.height = 60 + heights.reduce((sum, height) => sum + height + GAP, 0);
  const ctx = picture.getContext("2d");
  ctx.fillStyle = color("surface");
  ctx.fillRect(0, 0, picture.width, picture.height);
  ctx.fillStyle = color("text");
  ctx.font = "bold 22px system-ui, sans-serif";
  ctx.fillText(title, GAP, 38);
  let y = 60;
  rows.forEach((row, r) => {
    row.forEach((panel, i) => {
      const x = GAP + i * (COLUMN + GAP);
      ctx.font = "bold 16px system-ui, sans-serif";
      ctx.fillText(panel.title, x, y + 18);
      ctx.font = CAPTION;
      const lines = captions.get(panel);
      lines.forEach((line, i) => ctx.fillText(line, x, y + 38 + LINE * i));
      const factor = Math.min(1, COLUMN / panel.canvas.width);
      ctx.drawImage(panel.canvas, x, y + 28 + LINE * lines.length, panel.canvas.width * factor, panel.canvas.height * factor);
    });
    y += heights[r] + GAP;
  });
  picture.toBlob((blob) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${name.replace(/[^\w.-]+/g, "-")}.png`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  });
}

/** Text in lines that fit a column. */
function wrapped(ctx, text) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const longer = lines.at(-1) ? `${lines.at(-1)} ${word}` : word;
    if (ctx.measureText(longer).width <= COLUMN) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}
