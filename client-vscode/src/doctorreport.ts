// What the doctor found, as a document for people. Pure.
import { titledState, type StatusInput, type Translate } from "./labels";

export interface Check {
  readonly name: string;
  readonly verdict: "good" | "poor" | "missing";
  readonly found: string;
  readonly remedy: string;
}

export interface Examined {
  readonly version: string;
  readonly editor: string;
  readonly status: StatusInput;
  /** What the server told by itself, and how long that held the editor's extensions up. */
  readonly told: { readonly count: number; readonly mostMs: number; readonly worstMs: number };
  /** By folder; undefined where the doctor could not look, for the reason that `failure` says. */
  readonly folders: readonly { readonly name: string; readonly checks: readonly Check[] | undefined; readonly failure: string }[];
}

/** Reads what `headway doctor --json` wrote; undefined where that is no such thing. */
export function readChecks(json: string): readonly Check[] | undefined {
  try {
    const checks: unknown = Reflect.get(JSON.parse(json) as object, "checks");
    return Array.isArray(checks) && checks.every(isCheck) ? checks : undefined;
  } catch {
    return undefined; // It did not get as far as writing it; what it said instead is told.
  }
}

function isCheck(found: unknown): found is Check {
  return typeof found === "object" && found !== null && ["name", "verdict", "found", "remedy"].every((key) => typeof Reflect.get(found, key) === "string");
}

/** Markdown: first what is to be mended, then everything that was looked at. */
export function report(examined: Examined, t: Translate): string {
  const { folders, status, told } = examined;
  const lines = [`# ${t("Headway: Doctor")}`, "", `${titledState(status, t)}  `, t("Headway {0} in {1}", examined.version, examined.editor)];
  if (told.count > 0) {
    const [most, worst] = [told.mostMs, told.worstMs].map((ms) => t("{0} ms", ms.toFixed(2)));
    lines.push("", t("{0} notifications of the server were handled, 95 % of them within {1}, the longest within {2}.", told.count, most ?? "", worst ?? ""));
  }
  if (!status.trusted) {
    lines.push("", t("The workspace is in Restricted Mode: nothing of it is executed, so its Python and its tests are not used before you trust it."));
  }
  for (const { name, checks, failure } of folders) {
    lines.push("", `## ${plain(name)}`, "");
    if (checks === undefined) {
      lines.push(t("Nothing could be looked at here: {0}", plain(failure)));
      continue;
    }
    const wrong = checks.filter(({ verdict }) => verdict !== "good");
    lines.push(wrong.length === 0 ? t("All is well.") : t("To mend: {0}", wrong.length));
    for (const check of wrong) {
      lines.push("", `- **${plain(check.name)}**: ${plain(check.found)}`, ...(check.remedy === "" ? [] : [`  → ${plain(check.remedy)}`]));
    }
    lines.push("", `| | ${t("Looked at")} | ${t("Found")} |`, "|---|---|---|");
    lines.push(...checks.map(({ verdict, name, found }) => `| ${MARKS[verdict]} | ${cell(name)} | ${cell(found)} |`));
  }
  return `${lines.join("\n")}\n`;
}

const MARKS = { good: "✓", poor: "!", missing: "✗" } as const;

/** Names of files are no Markdown. */
function plain(text: string): string {
  return text.replace(/[\\`*_[\]<>#]/g, "\\$&");
}

function cell(text: string): string {
  return plain(text).replaceAll("|", "\\|").replace(/\r?\n/g, " ");
}
