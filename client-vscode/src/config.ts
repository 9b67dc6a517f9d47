// The extension's own settings, typed. The server's are passed on as they are and checked there.
import * as path from "node:path";
import * as vscode from "vscode";
import { servedLanguages } from "./languages";

export const SECTION = "headway";

export type TraceLevel = "off" | "messages" | "verbose";

export interface Config {
  /** An absolute path, or undefined where the extension is to look for one. */
  readonly interpreter: string | undefined;
  readonly trace: TraceLevel;
}

/** Reads what is in force now. In Restricted Mode the editor leaves out what the workspace says about programs. */
export function readConfig(): Config {
  const section = vscode.workspace.getConfiguration(SECTION);
  const interpreter = section.get<string | null>("interpreter", null)?.trim();
  const trace = section.get<string>("trace.server", "off");
  return {
    interpreter: interpreter === undefined || interpreter === "" ? undefined : absolute(interpreter),
    trace: trace === "messages" || trace === "verbose" ? trace : "off",
  };
}

/** The languages whose documents the server is told of. */
export function languagesServed(): readonly string[] {
  return servedLanguages(vscode.workspace.getConfiguration(SECTION).get<unknown>("engines"));
}

/** The whole tree of `headway.*` as JSON. */
export function settingsTree(): unknown {
  const tree: unknown = vscode.workspace.getConfiguration().get(SECTION);
  return tree === undefined ? {} : JSON.parse(JSON.stringify(tree));
}

function absolute(interpreter: string): string {
  const home = process.env["HOME"] ?? process.env["USERPROFILE"] ?? "";
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? home;
  const expanded = interpreter
    .replace(/^~(?=$|[/\\])/, () => home)
    .replaceAll("${userHome}", () => home)
    .replaceAll("${workspaceFolder}", () => folder);
  return path.resolve(folder, expanded);
}
