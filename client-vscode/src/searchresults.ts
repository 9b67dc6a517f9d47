// The view of a kept search: hits by file, with the line that was found.
import * as vscode from "vscode";
import type * as protocol from "./protocol";
import { indexedText, placeOf, type Found } from "./searching";
import { byFile, firstLine, kindIcon } from "./searchquery";

const VIEW = "headway.searchResults";

type Node = { readonly uri: string; readonly hits: readonly protocol.SearchHit[] } | { readonly hit: protocol.SearchHit };

export class ResultsView implements vscode.TreeDataProvider<Node> {
  private readonly changes = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.changes.event;
  private readonly view = vscode.window.createTreeView(VIEW, { treeDataProvider: this, showCollapseAll: true });
  private files: readonly Node[] = [];

  dispose(): void {
    vscode.Disposable.from(this.view, this.changes).dispose();
  }

  /** Shows what a search has found, and the view with it. */
  async show(query: string, found: Found): Promise<void> {
    this.files = byFile(found.hits);
    const state = indexedText(found.indexed);
    const count = found.hits.length === 1 ? vscode.l10n.t("1 hit for “{0}”", query) : vscode.l10n.t("{0} hits for “{1}”", found.hits.length, query);
    this.view.message = state === "" ? count : `${count} · ${state}`;
    this.view.badge = { value: found.hits.length, tooltip: count };
    this.changes.fire(undefined);
    await vscode.commands.executeCommand(`${VIEW}.focus`);
  }

  clear(): void {
    this.files = [];
    this.view.message = "";
    this.view.badge = undefined;
    this.changes.fire(undefined);
  }

  getChildren(node?: Node): Node[] {
    if (node === undefined) {
      return [...this.files];
    }
    return "hits" in node ? node.hits.map((hit) => ({ hit })) : [];
  }

  getTreeItem(node: Node): vscode.TreeItem {
    if ("hits" in node) {
      const item = new vscode.TreeItem(vscode.Uri.parse(node.uri), vscode.TreeItemCollapsibleState.Expanded);
      item.iconPath = vscode.ThemeIcon.File;
      item.description = `${vscode.workspace.asRelativePath(vscode.Uri.parse(node.uri))} · ${node.hits.length}`;
      return item;
    }
    const { hit } = node;
    const item = new vscode.TreeItem(hit.name);
    item.iconPath = new vscode.ThemeIcon(kindIcon(hit.kind));
    item.description = firstLine(hit.snippet);
    item.tooltip = new vscode.MarkdownString().appendCodeblock(hit.snippet);
    item.command = { command: "vscode.open", title: vscode.l10n.t("Open"), arguments: [vscode.Uri.parse(hit.uri), { selection: placeOf(hit), preview: true }] };
    return item;
  }
}
