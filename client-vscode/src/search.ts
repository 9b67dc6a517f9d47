// Search: a list that fills while one types and shows each hit in its file; what is to be kept goes to the results view.
import * as vscode from "vscode";
import { NotRunningError } from "./client";
import type { Context } from "./context";
import { escapedIcons } from "./labels";
import type * as protocol from "./protocol";
import { indexedText, MOST_HITS, placeOf, Searches, type Found } from "./searching";
import { firstLine, kindIcon, others, readQuery } from "./searchquery";
import { ResultsView } from "./searchresults";

const MOST_SHOWN = 50;
/** More of a selection says no more about it. */
const MOST_CHARACTERS = 1000;

interface Row extends vscode.QuickPickItem {
  readonly hit?: protocol.SearchHit;
}

export function activate(context: Context): { dispose(): void } {
  const view = new ResultsView();
  const on = (name: string, run: () => Promise<void>): vscode.Disposable =>
    vscode.commands.registerCommand(`headway.${name}`, () => run().catch((error: unknown) => tell(context, error)));
  return vscode.Disposable.from(
    view,
    on("search", () => new SearchBox(context, view).shown()),
    on("findSimilar", () => findSimilar(context, view)),
    vscode.commands.registerCommand("headway.clearSearchResults", () => view.clear()),
  );
}

async function tell(context: Context, error: unknown): Promise<void> {
  context.log.warn(`search: ${String(error)}`);
  if (error instanceof NotRunningError) {
    await vscode.commands.executeCommand("headway.showMenu"); // It says what is wrong, and what helps.
  } else {
    await vscode.window.showErrorMessage(`Headway: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** The list of one search, from its first key to its end. */
class SearchBox {
  private readonly pick = vscode.window.createQuickPick<Row>();
  private readonly searches: Searches;
  private readonly keep = { iconPath: new vscode.ThemeIcon("list-tree"), tooltip: vscode.l10n.t("Keep These Results in the Search View") };
  private readonly before = vscode.window.activeTextEditor;
  private newest: Found | undefined;
  private accepted = false;

  constructor(
    private readonly context: Context,
    private readonly view: ResultsView,
  ) {
    this.searches = new Searches(context);
    const { pick } = this;
    pick.title = vscode.l10n.t("Headway: Search");
    pick.placeholder = vscode.l10n.t("A name or words; path:src/** kind:class lang:python narrow it");
    pick.matchOnDescription = false;
    pick.buttons = [this.keep];
    // The server has put them in order. This is a proposed property; where it is missing the editor puts names that match first.
    Reflect.set(pick, "sortByLabel", false);
  }

  /** Resolves when the list is closed. */
  shown(): Promise<void> {
    const { pick } = this;
    return new Promise<void>((resolve, reject) => {
      const guarded = (work: Promise<void>): void => void work.catch((error: unknown) => (pick.hide(), reject(asError(error))));
      pick.onDidChangeValue((value) => guarded(this.search(value)));
      pick.onDidChangeActive(([row]) => row?.hit !== undefined && guarded(this.open(row.hit, true)));
      pick.onDidAccept(() => {
        const hit = pick.activeItems[0]?.hit;
        if (hit !== undefined) {
          this.accepted = true;
          guarded(this.open(hit, false));
          pick.hide();
        }
      });
      pick.onDidTriggerButton(() => {
        if (this.newest !== undefined) {
          this.accepted = true;
          guarded(this.view.show(pick.value, this.newest));
          pick.hide();
        }
      });
      pick.onDidHide(() => {
        this.searches.stop();
        resolve(this.accepted ? undefined : this.back());
      });
      pick.show();
    }).finally(() => pick.dispose());
  }

  private async search(value: string): Promise<void> {
    const params = readQuery(value, MOST_SHOWN);
    if (params.query === "") {
      this.searches.stop();
      this.pick.busy = false;
      this.pick.items = [];
      return;
    }
    this.pick.busy = true;
    try {
      await this.searches.search(params, (found) => this.fill(found));
    } catch (error) {
      if (error instanceof NotRunningError) {
        throw error;
      }
      // A filter that the server does not know is said in the list: the next letter may mend it.
      this.pick.busy = false;
      this.pick.items = [{ label: `$(warning) ${error instanceof Error ? error.message : String(error)}`, alwaysShow: true }];
    }
  }

  private fill(found: Found): void {
    const { pick } = this;
    this.newest = found;
    pick.busy = found.open;
    const state = indexedText(found.indexed);
    pick.title = state === "" ? vscode.l10n.t("Headway: Search") : `${vscode.l10n.t("Headway: Search")} (${state})`;
    const active = pick.activeItems[0]?.hit;
    const rows = found.hits.map((hit) => rowOf(hit));
    const none = { label: state === "" ? vscode.l10n.t("Nothing found") : vscode.l10n.t("Nothing found so far ({0})", state), alwaysShow: true };
    pick.items = rows.length > 0 || found.open ? rows : [none];
    // What somebody looks at stays under the cursor while more comes.
    const again = rows.find(({ hit }) => active !== undefined && hit?.uri === active.uri && hit.name === active.name);
    if (again !== undefined && rows[0] !== again && pick.items.length > 0) {
      pick.activeItems = [again];
    }
  }

  private async open(hit: protocol.SearchHit, preview: boolean): Promise<void> {
    try {
      await vscode.window.showTextDocument(vscode.Uri.parse(hit.uri), { preview: true, preserveFocus: preview, selection: placeOf(hit) });
    } catch (error) {
      // It may have been deleted a moment ago; the index learns of that by itself.
      this.context.log.info(`search: ${hit.uri} cannot be shown: ${String(error)}`);
    }
  }

  /** Shows again what was in front before the previews. */
  private async back(): Promise<void> {
    const { before } = this;
    if (before !== undefined && vscode.window.activeTextEditor?.document !== before.document) {
      const { viewColumn = vscode.ViewColumn.Active, selection } = before;
      // The editor takes the focus back by itself; taken later, it would be taken from whatever is open by then.
      try {
        await vscode.window.showTextDocument(before.document, { viewColumn, selection, preserveFocus: true });
      } catch (error) {
        // Whoever has opened something else meanwhile is where they want to be.
        this.context.log.info(`search: ${before.document.uri.toString()} is not shown again: ${String(error)}`);
      }
    }
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

function rowOf(hit: protocol.SearchHit): Row {
  const file = vscode.workspace.asRelativePath(vscode.Uri.parse(hit.uri));
  return {
    hit,
    label: `$(${kindIcon(hit.kind)}) ${escapedIcons(hit.name)}`,
    description: [hit.container ?? "", `${file}:${hit.selectionRange.start.line + 1}`].filter((part) => part !== "").join(" · "),
    detail: escapedIcons(firstLine(hit.snippet)),
    alwaysShow: true,
  };
}

/** Code that is like the selection, or where nothing is selected like the line. */
async function findSimilar(context: Context, view: ResultsView): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) {
    return void (await vscode.window.showInformationMessage(vscode.l10n.t("Select the code first to which similar code is wanted.")));
  }
  const { document, selection } = editor;
  const range = selection.isEmpty ? document.lineAt(selection.active.line).range : selection;
  const query = document.getText(range).trim().slice(0, MOST_CHARACTERS);
  const title = vscode.l10n.t("similar to line {0} of {1}", range.start.line + 1, document.uri.path.split("/").at(-1) ?? "");
  if (query === "") {
    return void (await vscode.window.showInformationMessage(vscode.l10n.t("Select the code first to which similar code is wanted.")));
  }
  const shown: { found?: Found } = {};
  await vscode.window.withProgress({ location: { viewId: "headway.searchResults" }, title }, () =>
    new Searches(context).search({ query, limit: MOST_HITS }, (found) => (shown.found = found)),
  );
  if (shown.found !== undefined) {
    const hits = others(shown.found.hits, document.uri.toString(), range.start.line, range.end.line);
    await view.show(title, { ...shown.found, hits });
  }
}
