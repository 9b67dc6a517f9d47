// Puts the features together. Each owns what it makes; this room owns the features and the server.
import * as vscode from "vscode";
import * as alerts from "./alerts";
import * as announcements from "./announcements";
import { Sidecar } from "./client";
import * as commands from "./commands";
import type { Context } from "./context";
import * as doctor from "./doctor";
import { TraceChannel } from "./logs";
import * as engines from "./engines";
import * as pausing from "./pausing";
import { Preparation } from "./preparation";
import * as schedulerview from "./schedulerview";
import * as search from "./search";
import * as settings from "./settings";
import * as sharing from "./sharing";
import * as status from "./status";
import * as timeline from "./timeline";
import * as testing from "./testing";
import * as trust from "./trust";

/** Servers of this window that must have ended before the editor ends: one, or none. */
const running = new Set<Sidecar>();

export function activate(extension: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel("Headway", { log: true });
  const trace = new TraceChannel();
  const server = new Sidecar(extension, new Preparation(extension, log), log, trace);
  const context: Context = { extension, server, log };
  running.add(server);
  extension.subscriptions.push(
    status.activate(context),
    alerts.activate(context),
    announcements.activate(context),
    commands.activate(context),
    engines.activate(context),
    pausing.activate(context),
    schedulerview.activate(context),
    timeline.activate(context),
    trust.activate(context),
    settings.activate(context),
    sharing.activate(context),
    testing.activate(context),
    search.activate(context),
    doctor.activate(context),
    server,
    trace,
    log,
  );
  // Not awaited: activation must not hold up others, and a failure is shown by the phase.
  void server.start();
}

export async function deactivate(): Promise<void> {
  const servers = [...running];
  running.clear();
  await Promise.all(servers.map((server) => server.stop()));
}
