// Who answers about a file, in words for the editor's language status. Pure.
import { titledState, type StatusInput, type Translate } from "./labels";

export interface EngineSettings {
  /** `headway.python.engines`, best first. */
  readonly python: readonly string[];
  /** `headway.engines`: language servers by language. */
  readonly others: readonly { readonly language: string; readonly command: readonly string[] }[];
  readonly diagnostics: boolean;
}

export interface EngineStatus {
  readonly text: string;
  readonly detail: string;
  readonly severity: "information" | "warning" | "error";
}

/** The engines of a file in order, with their versions where they are known. */
export function enginesOf(language: string, settings: EngineSettings, versions: Readonly<Record<string, string>>): string[] {
  const named = settings.others.filter((other) => other.language === language).map((other) => other.command[0] ?? "");
  const programs = named.map((command) => command.split(/[/\\]/).at(-1) ?? command).filter((name) => name !== "");
  if (language !== "python") {
    return programs;
  }
  const checks = settings.diagnostics ? ["ruff"] : [];
  return [...new Set([...programs, ...settings.python, ...checks])].map((name) => {
    const version = versions[name];
    return version === undefined || version === "missing" ? name : `${name} ${version}`;
  });
}

export function engineStatus(language: string, input: StatusInput, settings: EngineSettings, versions: Readonly<Record<string, string>>, t: Translate): EngineStatus {
  const engines = enginesOf(language, settings, versions);
  const text = engines.length === 0 ? t("no engine") : engines.map((engine) => engine.split(" ", 1)[0]).join(", ");
  const missing = engines.filter((engine) => versions[engine] === "missing");
  const faults = missing.length === 0 ? [] : [t("not installed: {0}", missing.join(", "))];
  const rests = input.trusted ? [] : [t("Restricted Mode: nothing of this workspace is run, so no tests and none of its interpreters.")];
  const state = titledState(input, t);
  const failed = input.phase.kind === "failed" || input.queue?.state === "error";
  const degraded = missing.length > 0 || input.queue?.state === "degraded" || input.phase.kind === "waiting";
  return {
    text,
    detail: [engines.join(" · "), ...faults, ...rests, state].filter((part) => part !== "").join(". "),
    severity: failed ? "error" : degraded ? "warning" : "information",
  };
}
