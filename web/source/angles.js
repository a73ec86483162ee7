// The angles between all pairs of basis vectors, as a map of colors with the number in every cell.

import { color } from "./theme.js";

// From cividis, which reads the same with and without color vision: dark blue at 0, yellow from 90 degrees on.
const STOPS = [[0, 34, 78], [53, 69, 108], [102, 105, 112], [148, 142, 119], [200, 184, 102], [254, 232, 56]];
const MARGIN = { left: 34, bottom: 34, top: 6, right: 6 };

export class AngleMap {
  constructor(element) {
    this.element = element;
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", "Mean angle between every two basis vectors; the numbers are in the table below");
    this.readout = document.createElement("p");
    this.readout.className = "readout";
    element.append(this.canvas, this.readout);
    this.angles = [];
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => this.tell());
    new ResizeObserver(() => this.draw()).observe(element);
  }

  show(angles) {
    this.angles = angles;
    this.draw();
    this.tell();
  }

  draw() {
    const size = this.angles.length;
    if (!size) return;
    const width = Math.max(240, Math.min(this.element.clientWidth, 420));
    const ratio = devicePixelRatio;
    this.canvas.width = width * ratio;
    this.canvas.height = width * ratio;
    this.canvas.style.width = this.canvas.style.height = `${width}px`;
    const ctx = this.canvas.getContext("2d");
    ctx.scale(ratio, ratio);
    this.cell = (width - MARGIN.left - MARGIN.right) / size;
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    const every = Math.ceil(18 / this.cell);
    for (let k = 0; k < size; k++) {
      for (let j = 0; j < size; j++) this.drawCell(ctx, k, j);
      if (k % every) continue;
      ctx.fillStyle = color("muted");
      ctx.font = "12px system-ui, sans-serif";
      ctx.fillText(k, MARGIN.left + (k + 0.5) * this.cell, MARGIN.top + size * this.cell + 11);
      ctx.fillText(k, MARGIN.left - 9, MARGIN.top + (k + 0.5) * this.cell);
    }
    ctx.fillText("hop j", MARGIN.left + (size * this.cell) / 2, width - 6);
    ctx.translate(7, MARGIN.top + (size * this.cell) / 2);
    ctx.rotate(-Math.PI / 2);
    ctx.fillText("hop k", 0, 0);
  }

  drawCell(ctx, k, j) {
    const share = Math.min(1, Math.max(0, this.angles[k][j] / 90));
    const x = MARGIN.left + j * this.cell;
    const y = MARGIN.top + k * this.cell;
    ctx.fillStyle = mixed(share);
    ctx.fillRect(x, y, this.cell - 1, this.cell - 1);
    if (this.cell < 20) return;
    ctx.fillStyle = share > 0.5 ? "#111" : "#fff";
    ctx.font = `${Math.min(12, this.cell * 0.42)}px system-ui, sans-serif`;
    ctx.fillText(Math.round(this.angles[k][j]), x + this.cell / 2, y + this.cell / 2);
  }

  point(event) {
    const j = Math.floor((event.offsetX - MARGIN.left) / this.cell);
    const k = Math.floor((event.offsetY - MARGIN.top) / this.cell);
    if (this.angles[k]?.[j] === undefined) this.tell();
    else this.readout.textContent = `hop ${k} and hop ${j}: ${this.angles[k][j].toFixed(2)}°`;
  }

  tell() {
    this.readout.textContent = "Degrees; dark is 0°, bright is 90° or more.";
  }
}

function mixed(share) {
  const place = share * (STOPS.length - 1);
  const below = Math.min(Math.floor(place), STOPS.length - 2);
  const parts = STOPS[below].map((value, i) => Math.round(value + (STOPS[below + 1][i] - value) * (place - below)));
  return `rgb(${parts.join(",")})`;
}
