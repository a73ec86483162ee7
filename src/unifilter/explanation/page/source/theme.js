// Light and dark: what the system prefers until the reader chooses.

const PREFERS_DARK = window.matchMedia("(prefers-color-scheme: dark)");

// Asking the style sheet makes the browser lay out the page: once per theme, not for every line that is drawn.
let known = {};

/** The colour of a name in style.css, as it is now. */
export function colour(name) {
  return (known[name] ??= getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
}

export function isDark() {
  return (document.documentElement.dataset.theme ?? (PREFERS_DARK.matches ? "dark" : "light")) === "dark";
}

/** Wires the button that changes the theme; `redraw` is called whenever it has changed. */
export function wireTheme(button, redraw) {
  const tell = () => {
    known = {};
    button.textContent = isDark() ? "Light theme" : "Dark theme";
    redraw();
  };
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    tell();
  });
  PREFERS_DARK.addEventListener("change", tell);
  tell();
}
