// The curves below the rows: what waits, how long completions took, memory and GPU. Drawn by uPlot over the rows' time.
import uPlot from "uplot";
import { HISTORY_MS, type History } from "./history";
import type { Range } from "./range";
import type { Colors } from "./theme";
import type { Words } from "./words";

const HEIGHT_PX = 120;

interface Chart {
  readonly plot: uPlot;
  readonly data: (history: History) => uPlot.AlignedData;
}

export class Charts {
  private readonly charts: readonly Chart[];

  constructor(
    parent: HTMLElement,
    words: Words,
    private readonly widthPx: () => number,
    colors: () => Colors,
    leftPx: number,
  ) {
    const line = (label: string, index: number, more: Partial<uPlot.Series> = {}): uPlot.Series => ({
      label,
      stroke: () => colors().series[index] ?? colors().foreground,
      width: 1.5,
      points: { show: false },
      ...more,
    });
    const percent = (value: number | null): string => (value === null ? "–" : `${String(Math.round(value * 100))} %`);
    const dots = { width: 0, points: { show: true, size: 5, fill: () => colors().series[2] ?? colors().foreground } };
    const stepped = uPlot.paths.stepped?.({ align: 1 });
    const levels = words.priorities.map((name, index) => line(name, index, stepped === undefined ? {} : { paths: stepped }));
    const chart = (title: string, series: uPlot.Series[], format: (value: number) => string, data: Chart["data"]): Chart => ({
      plot: new uPlot(options(title, this.widthPx(), leftPx, colors, words.time, series, format), [[], ...series.map(() => [])], parent),
      data,
    });
    this.charts = [
      chart(words.waiting, levels, (value) => String(Math.round(value)), (history) => [
        history.depths.map((one) => one.atMs / 1000),
        ...levels.map((_, level) => history.depths.map((one) => one.waiting[level] ?? null)),
      ]),
      chart(
        words.completion,
        [line(words.took, 2, dots), line(words.promised, 0, { dash: [6, 4] })],
        (value) => `${String(Math.round(value))} ms`,
        (history) => promised(history),
      ),
      chart(
        words.resources,
        [
          line(words.memory, 2, { value: (_, value) => percent(value) }),
          line(words.gpu, 4, { value: (_, value) => percent(value) }),
        ],
        percent,
        (history) => [
          history.samples.map((one) => one.atMs / 1000),
          history.samples.map((one) => one.memory),
          history.samples.map((one) => one.gpu),
        ],
      ),
      chart(
        words.workers,
        [line(words.workersMemory, 3)],
        (value) => `${String(Math.round(value))} MiB`,
        (history) => [history.samples.map((one) => one.atMs / 1000), history.samples.map((one) => one.workersMb)],
      ),
    ];
  }

  /** Takes new data; they are drawn with the next `show`. */
  take(history: History): void {
    this.charts.forEach(({ plot, data }) => plot.setData(data(history), false));
  }

  show(range: Range): void {
    this.charts.forEach(({ plot }) => plot.setScale("x", { min: range.fromMs / 1000, max: range.toMs / 1000 }));
  }

  resize(): void {
    this.charts.forEach(({ plot }) => plot.setSize({ width: this.widthPx(), height: HEIGHT_PX }));
  }

  /** Takes the charts away; a theme needs new ones, since legends keep their colours. */
  destroy(): void {
    this.charts.forEach(({ plot }) => plot.destroy());
  }
}

/** Completions as points, and the promise as a line over all of the time that is kept. */
function promised(history: History): uPlot.AlignedData {
  const { completions, endMs, slaMs } = history;
  const firstMs = endMs - HISTORY_MS;
  const times = [firstMs, ...completions.map((one) => one.atMs).filter((atMs) => atMs > firstMs && atMs < endMs), endMs];
  const took = new Map(completions.map((one) => [one.atMs, one.tookMs]));
  return [times.map((atMs) => atMs / 1000), times.map((atMs) => took.get(atMs) ?? null), times.map(() => slaMs)];
}

function options(
  title: string,
  width: number,
  leftPx: number,
  colors: () => Colors,
  time: string,
  series: uPlot.Series[],
  format: (value: number) => string,
): uPlot.Options {
  const axis = { stroke: () => colors().muted, grid: { stroke: () => colors().grid, width: 1 }, ticks: { show: false } };
  const value = (_: uPlot, found: number | null): string => (found === null ? "–" : format(found));
  return {
    title,
    width,
    height: HEIGHT_PX,
    padding: [10, 0, 0, 0],
    legend: { live: true },
    cursor: { drag: { x: false, y: false }, sync: { key: "timeline" } },
    scales: { x: { time: true }, y: { range: (_u, _min, max) => [0, Math.max(1e-9, (Number.isFinite(max) ? max : 1) * 1.1)] } },
    axes: [
      { ...axis, size: 24, values: (_, times) => times.map(clock) },
      { ...axis, size: leftPx, splits: (_u, _axis, min, max) => [min, (min + max) / 2, max], values: (_, values) => values.map(format) },
    ],
    series: [{ label: time, value: (_, found: number | null) => (found === null ? "–" : clock(found)) }, ...series.map((one) => ({ value, ...one }))],
  };
}

/** A time of day on one line; the date is known. */
function clock(atS: number): string {
  return new Date(atS * 1000).toLocaleTimeString("en-GB");
}
