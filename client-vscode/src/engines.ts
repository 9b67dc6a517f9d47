// The engines of the file in front, in the editor's language status.
import * as vscode from "vscode";
import { SECTION } from "./config";
import type { Context } from "./context";
import { engineStatus, type EngineSettings } from "./enginewords";
import { documentSelector, servedLanguages } from "./languages";
import { Pacer, SYSTEM_TIMER, type PacePolicy } from "./pacing";
import { snapshot } from "./protocol";

/** It is looked at by opening it: once a second is new enough. */
const PACE: PacePolicy = { gapMs: 1000, passingGapMs: 1000, settleMs: 0, holdMs: 0 };

export function activate(context: Context): vscode.Disposable {
  const { server } = context;
  const item = vscode.languages.createLanguageStatusItem("headway.engines", selector());
  item.name = "Headway";
  item.command = { command: "headway.showMenu", title: vscode.l10n.t("Menu") };
  const known: { versions: Readonly<Record<string, string>>; told: string; settings: EngineSettings } = { versions: {}, told: "", settings: settings() };
  const show = (): void => {
    const language = vscode.window.activeTextEditor?.document.languageId ?? "python";
    const { phase, queue, alerts } = server;
    const input = { phase, queue, alerts, trusted: vscode.workspace.isTrusted };
    const status = engineStatus(language, input, known.settings, known.versions, vscode.l10n.t);
    const told = JSON.stringify([status, phase.kind]);
    if (told === known.told) {
      return;
    }
    known.told = told;
    item.text = status.text;
    item.detail = status.detail;
    item.severity = SEVERITIES[status.severity];
    item.busy = phase.kind === "starting" || phase.kind === "preparing";
  };
  const ask = async (): Promise<void> => {
    try {
      known.versions = (await server.ask(snapshot, {})).versions;
    } catch (error) {
      context.log.debug(`versions of the engines are not known: ${String(error)}`);
    }
    show();
  };
  const pacer = new Pacer<true>(PACE, SYSTEM_TIMER, { passing: () => false, urgent: () => false, same: () => false }, show);
  show();
  return vscode.Disposable.from(
    item,
    pacer,
    server.onPhase((phase) => (phase.kind === "running" ? void ask() : show())),
    server.onQueueState(() => pacer.offer(true)),
    vscode.window.onDidChangeActiveTextEditor(show),
    vscode.workspace.onDidGrantWorkspaceTrust(show),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration(SECTION)) {
        item.selector = selector();
        known.settings = settings(); // To ask the editor for them takes longer than all the rest.
        show();
      }
    }),
  );
}

const SEVERITIES = {
  information: vscode.LanguageStatusSeverity.Information,
  warning: vscode.LanguageStatusSeverity.Warning,
  error: vscode.LanguageStatusSeverity.Error,
} as const;

function selector(): vscode.DocumentSelector {
  return documentSelector(servedLanguages(vscode.workspace.getConfiguration(SECTION).get<unknown>("engines")));
}

function settings(): EngineSettings {
  const section = vscode.workspace.getConfiguration(SECTION);
  const strings = (found: unknown): string[] => (Array.isArray(found) ? found.filter((one) => typeof one === "string") : []);
  const others = section.get<unknown>("engines");
  return {
    python: strings(section.get<unknown>("python.engines")),
    diagnostics: section.get<boolean>("diagnostics.enabled", true),
    others: (Array.isArray(others) ? (others as readonly unknown[]) : []).flatMap((one) => {
      const language: unknown = typeof one === "object" && one !== null ? Reflect.get(one, "language") : undefined;
      return typeof language === "string" ? [{ language, command: strings(Reflect.get(one as object, "command")) }] : [];
    }),
  };
}
