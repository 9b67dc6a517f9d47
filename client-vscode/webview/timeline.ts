// The timeline's page: takes what the extension sends, follows the present, and heeds mouse and keys.
import "uplot/dist/uPlot.min.css";
import "./timeline.css";
import { Charts } from "./charts";
import { Gantt } from "./gantt";
import { History, HISTORY_MS } from "./history";
import { View } from "./range";
import { onThemeChange, readColors, type Colors } from "./theme";
import type { FromTimeline, ToTimeline, Words } from "./words";

declare function acquireVsCodeApi(): { postMessage(message: FromTimeline): void };

const LEFT_PX = 130;
/** Thirty frames a second; fewer where a frame would move nothing by a whole pixel. */
const FRAME_MS = 1000 / 30;
const FIRST_SPAN_MS = 60_000;

function element(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) {
    throw new Error(`the page has no #${id}`);
  }
  return found;
}

class Page {
  private readonly words = JSON.parse(element("words").textContent) as Words;
  private readonly editor = acquireVsCodeApi();
  private readonly canvas = element("rows") as HTMLCanvasElement;
  private readonly tip = element("tip");
  private readonly gantt = new Gantt(this.canvas);
  private readonly view = new View(HISTORY_MS, FIRST_SPAN_MS);
  private readonly still = matchMedia("(prefers-reduced-motion: reduce)");
  private history = new History();
  private colors: Colors = readColors();
  private charts: Charts;
  /** How far the server's clock is ahead of ours. */
  private aheadMs = 0;
  private drawnAtMs = 0;
  private drawnFromMs = 0;
  private frames = 0;
  private toldLive = true;
  private dirty = true;
  private dragPx: number | undefined;

  constructor() {
    this.charts = this.newCharts();
    this.button("pause", this.words.pause, () => this.toggle());
    this.button("in", this.words.zoomIn, () => this.zoom(0.5, 1));
    this.button("out", this.words.zoomOut, () => this.zoom(2, 1));
    this.button("all", this.words.all, () => this.showAll());
    this.button("save", this.words.save, () => this.editor.postMessage({ kind: "save" }));
    element("keys").textContent = this.words.keys;
    this.listen();
    onThemeChange(() => {
      this.colors = readColors();
      this.charts.destroy();
      this.charts = this.newCharts();
      this.charts.take(this.history);
      this.dirty = true;
    });
    new ResizeObserver(() => {
      this.charts.resize();
      this.dirty = true;
    }).observe(document.body);
    requestAnimationFrame((atMs) => this.frame(atMs));
    this.editor.postMessage({ kind: "ready" });
  }

  private newCharts(): Charts {
    return new Charts(element("charts"), this.words, () => this.widthPx(), () => this.colors, LEFT_PX);
  }

  private listen(): void {
    window.addEventListener("message", (event: MessageEvent<ToTimeline>) => this.take(event.data));
    const area = element("area");
    area.addEventListener(
      "wheel",
      (event) => {
        if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
          this.move((event.deltaX || event.deltaY) / 1000);
        } else if (event.ctrlKey || event.metaKey) {
          this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.share(event.clientX));
        } else {
          return; // The page scrolls.
        }
        event.preventDefault();
      },
      { passive: false },
    );
    area.addEventListener("pointerdown", (event) => {
      this.dragPx = event.clientX;
      area.setPointerCapture(event.pointerId);
    });
    area.addEventListener("pointerup", () => {
      this.dragPx = undefined;
    });
    area.addEventListener("pointermove", (event) => {
      if (this.dragPx !== undefined) {
        this.move((this.dragPx - event.clientX) / (this.widthPx() - LEFT_PX));
        this.dragPx = event.clientX;
      }
      this.point(event);
    });
    area.addEventListener("pointerleave", () => {
      this.tip.hidden = true;
    });
    area.addEventListener("dblclick", () => this.toggle());
    window.addEventListener("keydown", (event) => this.key(event));
  }

  private key(event: KeyboardEvent): void {
    const onButton = event.target instanceof HTMLButtonElement;
    const actions: Readonly<Record<string, () => void>> = {
      "+": () => this.zoom(0.5, 0.5),
      "=": () => this.zoom(0.5, 0.5),
      "-": () => this.zoom(2, 0.5),
      "0": () => this.showAll(),
      ArrowLeft: () => this.move(-0.1),
      ArrowRight: () => this.move(0.1),
      Home: () => this.move(-Infinity),
      End: () => this.follow(),
      ...(onButton ? {} : { " ": () => this.toggle() }),
    };
    const action = event.ctrlKey || event.metaKey || event.altKey ? undefined : actions[event.key];
    if (action !== undefined) {
      event.preventDefault();
      action();
    }
  }

  private take(message: ToTimeline): void {
    if (message.kind === "reset") {
      this.history = new History();
    } else {
      this.history.take(message.timeline);
      const aheadMs = message.timeline.queueState.at - Date.now();
      this.aheadMs = Math.abs(aheadMs - this.aheadMs) > 500 ? aheadMs : this.aheadMs;
    }
    this.charts.take(this.history);
    const rows = this.history.rows();
    element("none").hidden = rows.length > 0;
    element("none").textContent = this.words.none;
    const said = this.words.rows.replace("{0}", String(rows.length)).replace("{1}", String(this.history.slices));
    this.canvas.setAttribute("aria-label", said);
    this.dirty = true;
  }

  private frame(atMs: number): void {
    requestAnimationFrame((next) => this.frame(next));
    const waitMs = this.still.matches ? 1000 : FRAME_MS;
    if (document.hidden || (atMs - this.drawnAtMs < waitMs - 4 && !this.dirty)) {
      return;
    }
    const range = this.view.range(this.nowMs());
    const pxMs = (range.toMs - range.fromMs) / Math.max(1, this.widthPx() - LEFT_PX);
    if (!this.dirty && Math.abs(range.fromMs - this.drawnFromMs) < pxMs) {
      return;
    }
    performance.mark("frame");
    this.dirty = false;
    this.drawnAtMs = atMs;
    this.drawnFromMs = range.fromMs;
    this.gantt.draw({ history: this.history, range, colors: this.colors, leftPx: LEFT_PX, widthPx: this.widthPx() });
    this.charts.show(range);
    performance.measure("timeline frame", "frame");
    this.frames += 1;
    if (this.frames % 500 === 0) {
      performance.clearMarks();
      performance.clearMeasures();
    }
  }

  private nowMs(): number {
    return Math.max(this.history.endMs, Date.now() + this.aheadMs);
  }

  private widthPx(): number {
    return Math.max(LEFT_PX + 100, document.body.clientWidth - 24);
  }

  private share(clientX: number): number {
    const left = this.canvas.getBoundingClientRect().left + LEFT_PX;
    return Math.min(1, Math.max(0, (clientX - left) / (this.widthPx() - LEFT_PX)));
  }

  private toggle(): void {
    if (this.view.live) {
      this.view.hold(this.nowMs());
      this.changed();
    } else {
      this.follow();
    }
  }

  private follow(): void {
    this.view.follow();
    this.changed();
  }

  private zoom(factor: number, share: number): void {
    this.view.zoom(factor, share, this.nowMs());
    this.changed();
  }

  private move(shares: number): void {
    this.view.move(shares, this.nowMs());
    this.changed();
  }

  private showAll(): void {
    this.view.show({ fromMs: this.nowMs() - HISTORY_MS, toMs: this.nowMs() });
    this.follow();
  }

  private changed(): void {
    this.dirty = true;
    const button = element("pause");
    button.textContent = this.view.live ? this.words.pause : this.words.resume;
    button.setAttribute("aria-pressed", String(!this.view.live));
    if (this.toldLive !== this.view.live) {
      this.toldLive = this.view.live;
      this.editor.postMessage({ kind: "live", live: this.view.live });
    }
  }

  private button(id: string, text: string, press: () => void): void {
    const button = element(id);
    button.textContent = text;
    button.addEventListener("click", press);
  }

  private point(event: PointerEvent): void {
    const box = this.canvas.getBoundingClientRect();
    const slice = this.gantt.at(event.clientX - box.left, event.clientY - box.top);
    this.tip.hidden = slice === undefined;
    if (slice !== undefined) {
      const tookMs = slice.endMs - slice.startMs;
      this.tip.textContent = `${slice.name} · ${slice.priority} · ${tookMs < 10 ? tookMs.toFixed(2) : tookMs.toFixed(0)} ms · ${slice.row}`;
      this.tip.style.left = `${String(Math.min(event.clientX + 12, Math.max(0, window.innerWidth - this.tip.offsetWidth - 8)))}px`;
      this.tip.style.top = `${String(event.clientY + 16)}px`;
    }
  }
}

new Page();
