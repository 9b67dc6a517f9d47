// Draws the rows of workers with a slice for each step. Slices too narrow to be seen are drawn together.
import { firstAfter, type History, type Slice } from "./history";
import type { Range } from "./range";
import type { Colors } from "./theme";

export const ROW_PX = 22;
const LEVELS = ["CRITICAL", "HIGH", "NORMAL", "LOW", "BATCH"];

export interface Frame {
  readonly history: History;
  readonly range: Range;
  readonly colors: Colors;
  /** Where time begins: names of rows stand left of it. */
  readonly leftPx: number;
  readonly widthPx: number;
}

type Rows = ReturnType<History["rows"]>;

export class Gantt {
  private rows: Rows = [];
  private range: Range = { fromMs: 0, toMs: 1 };
  private leftPx = 0;
  private rightPx = 0;

  constructor(private readonly canvas: HTMLCanvasElement) {}

  /** Draws a frame; gives how many slices it drew. */
  draw(frame: Frame): number {
    const { colors, leftPx, widthPx, range } = frame;
    this.rows = frame.history.rows();
    this.range = range;
    this.leftPx = leftPx;
    this.rightPx = widthPx;
    const heightPx = Math.max(1, this.rows.length) * ROW_PX;
    const context = this.sized(widthPx, heightPx);
    if (context === null) {
      return 0;
    }
    context.clearRect(0, 0, widthPx, heightPx);
    context.font = colors.font;
    context.textBaseline = "middle";
    const drawn = { count: 0 };
    this.rows.forEach((row, index) => {
      const topPx = index * ROW_PX;
      context.fillStyle = colors.grid;
      context.fillRect(leftPx, topPx + ROW_PX - 1, widthPx - leftPx, 1);
      context.fillStyle = colors.muted;
      context.fillText(fitted(context, row.name, leftPx - 12), 4, topPx + ROW_PX / 2);
      context.save();
      context.beginPath();
      context.rect(leftPx, topPx, widthPx - leftPx, ROW_PX);
      context.clip();
      drawn.count += this.drawRow(context, row.slices, topPx, colors);
      context.restore();
    });
    return drawn.count;
  }

  /** The slice at a place of the canvas. */
  at(xPx: number, yPx: number): Slice | undefined {
    const row = this.rows[Math.floor(yPx / ROW_PX)];
    if (row === undefined || xPx < this.leftPx) {
      return undefined;
    }
    const perPx = (this.range.toMs - this.range.fromMs) / (this.rightPx - this.leftPx);
    const atMs = this.range.fromMs + (xPx - this.leftPx) * perPx;
    const slice = row.slices[firstAfter(row.slices, atMs - 2 * perPx)];
    return slice !== undefined && slice.startMs <= atMs + 2 * perPx ? slice : undefined;
  }

  private drawRow(context: CanvasRenderingContext2D, slices: readonly Slice[], topPx: number, colors: Colors): number {
    const { fromMs, toMs } = this.range;
    const pxPerMs = (this.rightPx - this.leftPx) / (toMs - fromMs);
    const drawn = { count: 0, untilPx: -1 };
    for (let index = firstAfter(slices, fromMs); index < slices.length; index += 1) {
      const slice = slices[index];
      if (slice === undefined || slice.startMs > toMs) {
        break;
      }
      const startPx = this.leftPx + (slice.startMs - fromMs) * pxPerMs;
      const endPx = this.leftPx + (slice.endMs - fromMs) * pxPerMs;
      if (endPx < drawn.untilPx && !slice.failed) {
        continue; // Hidden by what was drawn at this pixel already.
      }
      const widthPx = Math.max(1, endPx - startPx);
      const level = LEVELS.indexOf(slice.priority);
      context.fillStyle = slice.failed ? colors.failed : (colors.series[level < 0 ? LEVELS.length : level] ?? colors.foreground);
      context.fillRect(startPx, topPx + 3, widthPx, ROW_PX - 7);
      if (colors.contrast && widthPx > 3) {
        context.strokeStyle = colors.border;
        context.strokeRect(startPx + 0.5, topPx + 3.5, widthPx - 1, ROW_PX - 8);
      }
      if (widthPx > 60) {
        context.fillStyle = colors.background;
        context.fillText(fitted(context, slice.name, widthPx - 8), Math.max(startPx, this.leftPx) + 4, topPx + ROW_PX / 2);
      }
      drawn.untilPx = startPx + widthPx;
      drawn.count += 1;
    }
    return drawn.count;
  }

  private sized(widthPx: number, heightPx: number): CanvasRenderingContext2D | null {
    const ratio = window.devicePixelRatio;
    const [width, height] = [Math.round(widthPx * ratio), Math.round(heightPx * ratio)];
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
      this.canvas.style.width = `${String(widthPx)}px`;
      this.canvas.style.height = `${String(heightPx)}px`;
    }
    const context = this.canvas.getContext("2d");
    context?.setTransform(ratio, 0, 0, ratio, 0, 0);
    return context;
  }
}

/** As much of a text as fits. */
function fitted(context: CanvasRenderingContext2D, text: string, widthPx: number): string {
  if (context.measureText(text).width <= widthPx) {
    return text;
  }
  const perChar = context.measureText(text).width / text.length;
  const chars = Math.floor(widthPx / perChar) - 1;
  return chars < 2 ? "" : `${text.slice(0, chars)}…`;
}
