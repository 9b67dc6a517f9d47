// What every feature of the extension receives.
import type * as vscode from "vscode";
import type { Sidecar } from "./client";

export interface Context {
  readonly extension: vscode.ExtensionContext;
  readonly server: Sidecar;
  readonly log: vscode.LogOutputChannel;
}
