// Where other extensions serve Python, too: Headway offers what they do not, says so once, and can be told otherwise.
import * as vscode from "vscode";
import { DidChangeConfigurationNotification, vsdiag, type Middleware } from "vscode-languageclient";
import { offerAmong, WATCHED_SETTINGS, type Offer } from "./coexistence";
import { SECTION } from "./config";
import type { Context } from "./context";

const MODE = "coexistence";
const TOLD = "headway.coexistence.told";

/** What is offered now. It is asked for with each request, so that no reload is needed when others come and go. */
export function offered(): Offer {
  return offerAmong(vscode.workspace.getConfiguration(SECTION).get<unknown>(MODE), {
    installed: (id) => vscode.extensions.getExtension(id) !== undefined,
    setting: (name) => vscode.workspace.getConfiguration().get<unknown>(name),
  });
}

export function activate(context: Context): vscode.Disposable {
  const state = context.extension.globalState;
  let last = JSON.stringify(offered());
  const look = (): void => {
    const offer = offered();
    if (JSON.stringify(offer) !== last) {
      last = JSON.stringify(offer);
      // The server pulls its settings anew: whether it looks for type errors is one of them.
      void context.server.notify(DidChangeConfigurationNotification.method, { settings: null });
    }
    const names = [...offer.languageBy, ...offer.lintBy].join(", ");
    if (names !== "" && context.server.phase.kind === "running" && state.get<string>(TOLD) !== names) {
      void state.update(TOLD, names).then(() => tell(offer));
    }
  };
  return vscode.Disposable.from(
    context.server.onPhase(look),
    vscode.extensions.onDidChange(look),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if ([`${SECTION}.${MODE}`, ...WATCHED_SETTINGS].some((name) => event.affectsConfiguration(name))) {
        look();
      }
    }),
  );
}

async function tell(offer: Offer): Promise<void> {
  const parts = [
    ...(offer.language ? [] : [vscode.l10n.t("Completion and navigation in Python come from {0} here.", offer.languageBy.join(", "))]),
    ...(offer.lint ? [] : [vscode.l10n.t("{0} checks and formats Python here.", offer.lintBy.join(", "))]),
    vscode.l10n.t("Headway leaves that to it and adds the rest."),
  ];
  const both = { title: vscode.l10n.t("Use Headway's Too") };
  const settings = { title: vscode.l10n.t("Open Setting") };
  const picked = await vscode.window.showInformationMessage(parts.join(" "), both, settings);
  if (picked === both) {
    await vscode.workspace.getConfiguration(SECTION).update(MODE, "all", vscode.ConfigurationTarget.Global);
  } else if (picked === settings) {
    await vscode.commands.executeCommand("workbench.action.openSettings", `${SECTION}.${MODE}`);
  }
}

/** Whether a request about a document is for Headway to answer. Other languages are served because a person said so. */
function asked(what: "language" | "lint", document: unknown): boolean {
  const python = typeof document !== "object" || document === null || Reflect.get(document, "languageId") === "python";
  return !python || offered()[what];
}

type Step = (document: unknown, ...rest: unknown[]) => unknown;

/** A middleware that passes requests on (through `inner`, where there is one) where Headway offers them, else answers with nothing. */
function where(what: "language" | "lint", inner?: unknown): (document: unknown, ...rest: unknown[]) => never {
  const through = inner as Step | undefined;
  return (document, ...rest) => {
    const next = rest.at(-1) as Step;
    // Each answers what its own `next` does, or nothing, which they all may.
    const answer = (): unknown => (through === undefined ? next(document, ...rest.slice(0, -1)) : through(document, ...rest));
    return (asked(what, document) ? answer() : undefined) as never;
  };
}

/** Middleware that leaves to others what they offer; `inner` is asked where it is left to Headway. */
export function sharing(inner: Middleware): Middleware {
  return {
    ...inner,
    provideCompletionItem: where("language"),
    provideHover: where("language"),
    provideSignatureHelp: where("language"),
    provideDefinition: where("language"),
    provideDeclaration: where("language"),
    provideTypeDefinition: where("language"),
    provideImplementation: where("language", inner.provideImplementation),
    provideReferences: where("language", inner.provideReferences),
    provideDocumentHighlights: where("language"),
    provideDocumentSymbols: where("language"),
    provideFoldingRanges: where("language"),
    provideRenameEdits: where("language", inner.provideRenameEdits),
    prepareRename: where("language"),
    provideDocumentSemanticTokens: where("language"),
    provideDocumentRangeFormattingEdits: where("lint"),
    provideCodeActions: where("lint", inner.provideCodeActions),
    provideDocumentFormattingEdits: where("lint", inner.provideDocumentFormattingEdits),
    handleDiagnostics: (uri, diagnostics, next) => next(uri, ours(diagnostics)),
    provideDiagnostics: async (document, previousResultId, token, next) => {
      const report = await next(document, previousResultId, token);
      return report?.kind === vsdiag.DocumentDiagnosticReportKind.full ? { ...report, items: ours(report.items) } : report;
    },
  };
}

/** Those that nobody else shows. */
function ours(diagnostics: vscode.Diagnostic[]): vscode.Diagnostic[] {
  return offered().lint ? diagnostics : diagnostics.filter((found) => found.source !== "ruff");
}
