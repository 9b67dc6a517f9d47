// The colours of the editor's theme, read anew when it changes. A canvas knows no CSS variables.

export interface Colors {
  readonly foreground: string;
  readonly muted: string;
  readonly grid: string;
  readonly background: string;
  readonly border: string;
  readonly failed: string;
  readonly series: readonly string[];
  readonly font: string;
  /** High contrast: areas need an edge. */
  readonly contrast: boolean;
}

/** By priority, most urgent first; what has none is the last. */
const SERIES = ["red", "yellow", "blue", "green", "purple", "foreground"];

export function readColors(): Colors {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string, otherwise: string): string => style.getPropertyValue(`--vscode-${name}`).trim() || otherwise;
  const contrast = document.body.classList.contains("vscode-high-contrast") || document.body.classList.contains("vscode-high-contrast-light");
  const foreground = read("editor-foreground", "#888888");
  return {
    foreground,
    muted: contrast ? foreground : read("descriptionForeground", foreground),
    grid: contrast ? faint(foreground) : read("editorIndentGuide-background1", read("editorWidget-border", "#88888844")),
    background: read("editor-background", "#00000000"),
    border: read("contrastBorder", foreground),
    failed: read("editorError-foreground", "#f14c4c"),
    series: SERIES.map((name) => read(`charts-${name}`, foreground)),
    font: `11px ${style.getPropertyValue("--vscode-font-family") || "sans-serif"}`,
    contrast,
  };
}

/** A third of a colour's strength: lines that only guide the eye. */
function faint(color: string): string {
  return /^#[0-9a-f]{6}$/i.test(color) ? `${color}55` : color;
}

/** Calls back when the theme has changed. The editor puts a theme's name and colours on the document. */
export function onThemeChange(call: () => void): void {
  const observer = new MutationObserver(call);
  observer.observe(document.body, { attributes: true, attributeFilter: ["class", "data-vscode-theme-id"] });
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ["style", "class"] });
}
