// What the timeline says, in the editor's language, and what it and the extension send each other. Types only.
import type { Timeline } from "../src/protocol";

export interface Words {
  readonly pause: string;
  readonly resume: string;
  readonly zoomIn: string;
  readonly zoomOut: string;
  readonly all: string;
  readonly save: string;
  readonly none: string;
  readonly rows: string;
  readonly waiting: string;
  readonly completion: string;
  readonly took: string;
  readonly promised: string;
  readonly resources: string;
  readonly memory: string;
  readonly gpu: string;
  readonly workers: string;
  readonly workersMemory: string;
  readonly time: string;
  readonly keys: string;
  /** Most urgent first. */
  readonly priorities: readonly string[];
}

export type ToTimeline =
  | { readonly kind: "data"; readonly timeline: Timeline }
  /** Another server: what was is over. */
  | { readonly kind: "reset" };

export type FromTimeline = { readonly kind: "ready" } | { readonly kind: "live"; readonly live: boolean } | { readonly kind: "save" };
