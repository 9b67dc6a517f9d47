// What is wrong and what to do, in words. Pure.
import type { Translate } from "./labels";
import type { Looked, Problem } from "./phase";

/** What a message's button does. */
export type Remedy = "chooseInterpreter" | "openSetting" | "retry" | "showLog" | "rebuild";

/** One sentence or two: what is wrong, where, and what helps. */
export function problemText(problem: Problem, t: Translate): string {
  switch (problem.kind) {
    case "noPython":
      return problem.looked.length === 0
        ? t("Headway needs Python {0} and found none. Install one, or choose where it is.", problem.needed)
        : t(
            "Headway needs Python {0} and found none that fits: {1}. Install one, or choose where it is.",
            versions(problem.needed, problem.packagesFor),
            problem.looked.map((looked) => lookedText(looked, t)).join("; "),
          );
    case "chosenPython":
      return t(
        'Headway needs Python {0}. The setting "headway.interpreter" names one that does not fit: {1}. Choose another.',
        versions(problem.needed, problem.packagesFor),
        lookedText(problem.looked, t),
      );
    case "platform":
      return t(
        "This Headway was built for {0}, but runs on {1}. Install the package for {1} on the side where the files are.",
        problem.built,
        problem.here,
      );
    case "package":
      return t("The extension's own files are damaged or missing ({0}). Install the extension again.", problem.detail);
    case "environment":
      return t("Headway could not set up its Python environment in {0}: {1}", problem.folder, problem.detail);
    case "keepsStopping":
      return t("Headway's server ended {0} times in a row: {1}", problem.times, problem.detail);
  }
}

/** The buttons that go with it, best first. */
export function remedies(problem: Problem): readonly Remedy[] {
  switch (problem.kind) {
    case "noPython":
      return ["chooseInterpreter", "retry", "showLog"];
    case "chosenPython":
      return ["chooseInterpreter", "openSetting", "showLog"];
    case "platform":
    case "package":
      return ["showLog"];
    case "environment":
      return ["retry", "chooseInterpreter", "showLog"];
    case "keepsStopping":
      return ["retry", "rebuild", "showLog"];
  }
}

/** A button's title. */
export function remedyText(remedy: Remedy, t: Translate): string {
  switch (remedy) {
    case "chooseInterpreter":
      return t("Choose Python…");
    case "openSetting":
      return t("Open Setting");
    case "retry":
      return t("Try Again");
    case "showLog":
      return t("Show Log");
    case "rebuild":
      return t("Set Up Anew");
  }
}

/** One interpreter with its fault. */
export function lookedText(looked: Looked, t: Translate): string {
  switch (looked.fault) {
    case "missing":
      return t("{0} does not exist", looked.path);
    case "notAFile":
      return t("{0} is a folder, not a program", looked.path);
    case "notPython":
      return t("{0} does not run as Python", looked.path);
    case "tooOld":
      return t("{0} is Python {1}, which is too old", looked.path, looked.version ?? "?");
    case "noPackages":
      return t("{0} is Python {1}, for which this package has no libraries", looked.path, looked.version ?? "?");
    case "bits32":
      return t("{0} is a 32-bit Python {1}", looked.path, looked.version ?? "?");
    case "machine":
      return t("{0} is a Python for another kind of machine", looked.path);
    default:
      return t("{0} is Python {1}", looked.path, looked.version ?? "?");
  }
}

function versions(needed: string, packagesFor: readonly string[]): string {
  const newest = packagesFor.at(-1);
  return newest === undefined ? needed : `${packagesFor[0] ?? needed}–${newest}`;
}
