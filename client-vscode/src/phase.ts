// What the server is doing as seen from outside it, and what can be wrong with it. Values only.

/** One interpreter that was looked at. `fault` is absent where it fits. */
export interface Looked {
  readonly path: string;
  readonly version?: string;
  readonly fault?: InterpreterFault;
}

export type InterpreterFault = "missing" | "notAFile" | "notPython" | "tooOld" | "noPackages" | "bits32" | "machine";

/** Something only a person can mend. Each has one message and its remedies; see problems.ts. */
export type Problem =
  | { readonly kind: "noPython"; readonly needed: string; readonly packagesFor: readonly string[]; readonly looked: readonly Looked[] }
  | { readonly kind: "chosenPython"; readonly needed: string; readonly packagesFor: readonly string[]; readonly looked: Looked }
  | { readonly kind: "platform"; readonly built: string; readonly here: string }
  | { readonly kind: "package"; readonly detail: string }
  | { readonly kind: "environment"; readonly folder: string; readonly detail: string }
  | { readonly kind: "keepsStopping"; readonly times: number; readonly detail: string };

export type Phase =
  | { readonly kind: "stopped" }
  | { readonly kind: "preparing" }
  | { readonly kind: "starting" }
  | { readonly kind: "running" }
  | { readonly kind: "waiting"; readonly delayMs: number; readonly failures: number; readonly detail: string }
  | { readonly kind: "failed"; readonly problem: Problem };
