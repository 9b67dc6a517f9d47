// The page of the timeline, and the file that Perfetto opens. Pure.
import type { Words } from "../webview/words";
import type { Timeline } from "./protocol";

export interface PageParts {
  readonly nonce: string;
  /** What the editor calls the source of its own files, for the page's policy. */
  readonly source: string;
  readonly script: string;
  readonly style: string;
  readonly language: string;
  readonly title: string;
  readonly words: Words;
}

/** Nothing is loaded but our own script and style; nothing that stands in the page runs. */
export function timelineHtml(parts: PageParts): string {
  const policy = `default-src 'none'; script-src 'nonce-${parts.nonce}'; style-src ${parts.source}`;
  return `<!DOCTYPE html>
<html lang="${attribute(parts.language)}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${attribute(policy)}">
<link rel="stylesheet" href="${attribute(parts.style)}">
<title>${attribute(parts.title)}</title>
</head>
<body>
<div id="bar" role="toolbar" aria-label="${attribute(parts.title)}">
<button id="pause" aria-pressed="false"></button><button id="in"></button><button id="out"></button><button id="all"></button>
<span class="grow" id="keys"></span><button id="save"></button>
</div>
<div id="area" tabindex="0"><p id="none" hidden></p><canvas id="rows" role="img"></canvas></div>
<div id="charts"></div>
<div id="tip" role="status" hidden></div>
<script id="words" type="application/json">${JSON.stringify(parts.words).replaceAll("<", "\\u003c")}</script>
<script nonce="${attribute(parts.nonce)}" src="${attribute(parts.script)}"></script>
</body>
</html>`;
}

function attribute(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** The timeline as a file in the Chrome trace-event format, with completions as a counter. */
export function traceFile(timeline: Timeline): string {
  const [first] = timeline.traceEvents;
  const pid: unknown = first === undefined ? 1 : Reflect.get(first, "pid");
  const completions = timeline.completions.map((one) => ({
    ph: "C",
    name: "completion",
    pid,
    tid: 0,
    ts: Math.max(0, (one.at - timeline.originAt) * 1000),
    args: { ms: one.tookMs },
  }));
  const metadata = { product: "Headway", startedAt: new Date(timeline.originAt).toISOString() };
  return JSON.stringify({ traceEvents: [...timeline.traceEvents, ...completions], displayTimeUnit: "ms", metadata });
}
