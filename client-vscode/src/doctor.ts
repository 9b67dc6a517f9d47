// `Headway: Doctor`: what is found, what is missing and how to mend it, as a document. Also where the server does not run.
import { join } from "node:path";
import * as vscode from "vscode";
import type { Context } from "./context";
import { readChecks, report, type Examined } from "./doctorreport";
import { run } from "./processes";

const SCHEME = "headway-doctor";
/** It looks at programs and simulates a little; a busy machine takes its time. */
const LIMIT_MS = 120_000;

export function activate(context: Context): { dispose(): void } {
  const changes = new vscode.EventEmitter<vscode.Uri>();
  const newest = { text: "" };
  const uri = vscode.Uri.from({ scheme: SCHEME, path: "/Headway Doctor.md" });
  const provider = vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
    onDidChange: changes.event,
    provideTextDocumentContent: () => newest.text,
  });
  const command = vscode.commands.registerCommand("headway.doctor", async () => {
    const location = vscode.ProgressLocation.Notification;
    const title = vscode.l10n.t("Headway: looking at everything that it needs");
    const examined = await vscode.window.withProgress({ location, title, cancellable: true }, (_progress, token) => examine(context, token));
    if (examined !== undefined) {
      newest.text = report(examined, vscode.l10n.t);
      changes.fire(uri);
      await vscode.commands.executeCommand("markdown.showPreview", uri);
    }
  });
  return vscode.Disposable.from(changes, provider, command);
}

/** Undefined where a person gave it up. */
async function examine(context: Context, token: vscode.CancellationToken): Promise<Examined | undefined> {
  const { server, extension } = context;
  const abort = new AbortController();
  token.onCancellationRequested(() => abort.abort());
  const environment = await server.environment();
  const roots = vscode.workspace.workspaceFolders?.filter(({ uri }) => uri.scheme === "file") ?? [];
  const places = roots.length > 0 ? roots.map(({ name, uri }) => ({ name, path: uri.fsPath })) : [{ name: vscode.l10n.t("no folder is open"), path: extension.globalStorageUri.fsPath }];
  const folders: Examined["folders"][number][] = [];
  for (const { name, path } of places) {
    if (environment === undefined) {
      folders.push({ name, checks: undefined, failure: vscode.l10n.t("Headway has no Python environment yet") });
      continue;
    }
    // `-I`, from our own folder: nothing of the workspace takes part.
    const args = ["-I", "-m", "headway", "doctor", path, "--json", "--cache-dir", join(extension.globalStorageUri.fsPath, "cache")];
    const { stdout, stderr, failure } = await run(environment.python, args, { cwd: extension.globalStorageUri.fsPath, timeoutMs: LIMIT_MS, signal: abort.signal });
    folders.push({ name, checks: readChecks(stdout), failure: failure ?? stderr.trim().slice(-1000) });
  }
  if (token.isCancellationRequested) {
    return undefined;
  }
  const version: unknown = Reflect.get(extension.extension.packageJSON as object, "version");
  const status = { phase: server.phase, queue: server.queue, alerts: server.alerts, trusted: vscode.workspace.isTrusted };
  const { count, mostMs, worstMs } = server.handling;
  return { version: String(version), editor: `${vscode.env.appName} ${vscode.version}`, status, told: { count, mostMs, worstMs }, folders };
}
