// Light and dark: what the system prefers until the reader chooses.

const PREFERS_DARK = window.matchMedia("(prefers-color-scheme: dark)");

// Asking the style sheet makes the browser lay out the page: once per theme, not for every line that is drawn.
let known = {};

/** The color of a name in style.css, as it is now. */
export function color(name) {
  return (known[name] ??= getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
}

export function isDark() {
  return (document.documentElement.dataset.theme ?? (PREFERS_DARK.matches ? "dark" : "light")) === "dark";
}

const listeners = new Set();

/** Calls back whenever the theme has changed; returns a function that ends this. */
export function onTheme(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function toggleTheme() {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  tell();
}

function tell() {
  known = {};
  for (const listener of listeners) listener();
}

PREFERS_DARK.addEventListener("change", tell);
