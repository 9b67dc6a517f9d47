// The timeline's panel: asks the server while somebody looks, hands on what it says, and saves it for Perfetto.
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import type { FromTimeline, ToTimeline, Words } from "../webview/words";
import type { Context } from "./context";
import { urgencyText } from "./jobwords";
import { PRIORITIES, timeline, type Timeline } from "./protocol";
import { timelineHtml, traceFile } from "./timelinehtml";

const TYPE = "headway.timeline";
const ASK_EACH_MS = 1000;
/** What is asked for twice is taken once; what is missed is missed for good. */
const OVERLAP_MS = 2000;
const ALL_MS = 600_000;
const LONGEST_MS = 3_600_000;

export function activate(context: Context): vscode.Disposable {
  const open: { panel?: TimelinePanel } = {};
  const show = vscode.commands.registerCommand("headway.showTimeline", () => {
    open.panel ??= new TimelinePanel(context, () => delete open.panel);
    open.panel.reveal();
  });
  return new vscode.Disposable(() => {
    show.dispose();
    open.panel?.dispose();
  });
}

class TimelinePanel {
  private readonly panel: vscode.WebviewPanel;
  private readonly owned: { dispose(): unknown }[];
  private timer: NodeJS.Timeout | undefined;
  private live = true;
  private ready = false;
  /** When the server was asked last; undefined: it is asked for all. */
  private askedAtMs: number | undefined;

  constructor(
    private readonly context: Context,
    closed: () => void,
  ) {
    const out = vscode.Uri.joinPath(context.extension.extensionUri, "out");
    const title = vscode.l10n.t("Headway Timeline");
    this.panel = vscode.window.createWebviewPanel(TYPE, title, vscode.ViewColumn.Active, { enableScripts: true, localResourceRoots: [out] });
    this.panel.iconPath = vscode.Uri.joinPath(context.extension.extensionUri, "media", "icon.png");
    const { webview } = this.panel;
    const path = (name: string): string => webview.asWebviewUri(vscode.Uri.joinPath(out, name)).toString();
    this.owned = [
      this.panel,
      this.panel.onDidDispose(() => {
        closed();
        this.dispose();
      }),
      this.panel.onDidChangeViewState(() => this.schedule(0)),
      webview.onDidReceiveMessage((message: FromTimeline) => this.take(message)),
      context.server.onPhase((phase) => {
        if (phase.kind === "running") {
          this.askedAtMs = undefined;
          void this.send({ kind: "reset" });
          this.schedule(0);
        }
      }),
    ];
    webview.html = timelineHtml({
      nonce: randomBytes(16).toString("hex"),
      source: webview.cspSource,
      script: path("timeline.js"),
      style: path("timeline.css"),
      language: vscode.env.language,
      title,
      words: words(),
    });
  }

  reveal(): void {
    this.panel.reveal();
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.owned.splice(0).forEach((one) => void one.dispose());
  }

  private take(message: FromTimeline): void {
    switch (message.kind) {
      case "ready": // Also when it comes into sight again: then it has forgotten everything.
        this.ready = true;
        this.live = true;
        this.askedAtMs = undefined;
        return this.schedule(0);
      case "live":
        this.live = message.live;
        return this.schedule(0);
      case "save":
        this.save().catch((error: unknown) => {
          const reason = error instanceof Error ? error.message : String(error);
          void vscode.window.showErrorMessage(vscode.l10n.t("The timeline could not be saved: {0}", reason));
        });
    }
  }

  /** Nobody asks while the panel is hidden or stands still. */
  private schedule(waitMs: number): void {
    clearTimeout(this.timer);
    if (this.ready && this.live && this.panel.visible) {
      this.timer = setTimeout(() => void this.ask(), waitMs);
    } else if (!this.panel.visible) {
      this.ready = false; // The page is gone, and says so when it is back.
    }
  }

  private async ask(): Promise<void> {
    const nowMs = Date.now();
    const sinceMs = this.askedAtMs === undefined ? ALL_MS : Math.min(ALL_MS, nowMs - this.askedAtMs + OVERLAP_MS);
    if (this.context.server.phase.kind === "running") {
      try {
        const found = await this.context.server.ask(timeline, { sinceMs });
        this.askedAtMs = nowMs;
        await this.send({ kind: "data", timeline: found });
      } catch (error) {
        // The status item says what is wrong with the server; here only the picture stands still.
        this.context.log.debug(`the timeline has no news: ${String(error)}`);
      }
    }
    if (this.owned.length > 0) {
      this.schedule(ASK_EACH_MS);
    }
  }

  private async send(message: ToTimeline): Promise<void> {
    if (this.ready && this.owned.length > 0) {
      await this.panel.webview.postMessage(message);
    }
  }

  private async save(): Promise<void> {
    const found: Timeline = await this.context.server.ask(timeline, { sinceMs: LONGEST_MS });
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
    const name = `headway-${new Date().toISOString().slice(0, 19).replaceAll(":", "-")}.json`;
    const file = await vscode.window.showSaveDialog({
      title: vscode.l10n.t("Save the timeline for Perfetto"),
      filters: { [vscode.l10n.t("Chrome trace")]: ["json"] },
      ...(folder === undefined ? {} : { defaultUri: vscode.Uri.joinPath(folder, name) }),
    });
    if (file !== undefined) {
      await vscode.workspace.fs.writeFile(file, Buffer.from(traceFile(found)));
      void vscode.window.showInformationMessage(vscode.l10n.t("Saved {0}. Perfetto and chrome://tracing open it.", vscode.workspace.asRelativePath(file)));
    }
  }
}

function words(): Words {
  const t = vscode.l10n.t;
  return {
    pause: t("Pause"),
    resume: t("Follow"),
    zoomIn: t("Zoom In"),
    zoomOut: t("Zoom Out"),
    all: t("Ten Minutes"),
    save: t("Save for Perfetto…"),
    none: t("Nothing has run yet."),
    rows: t("{0} rows of workers with {1} steps within the last ten minutes"),
    waiting: t("Waiting tasks"),
    completion: t("Completion: how long it took"),
    took: t("Answered after"),
    promised: t("Promised"),
    resources: t("Machine"),
    memory: t("Memory"),
    gpu: t("GPU"),
    workers: t("Memory of the workers"),
    workersMemory: t("Workers"),
    time: t("Time"),
    keys: t("Drag or ←→ moves, Ctrl+wheel or +− zooms, Space pauses, End follows"),
    priorities: PRIORITIES.map((priority) => urgencyText(priority, t)),
  };
}
