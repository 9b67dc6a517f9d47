// The tests of the workspace as the editor's tree: folders, files, classes, functions, parameters.
import * as vscode from "vscode";
import type { TestEvent } from "./protocol";
import { keyOf, parentOf, pathOf, type TestPath } from "./testids";

export class TestTree {
  private readonly places = new Map<string, TestPath>();
  private readonly items = new Map<string, vscode.TestItem>();

  constructor(private readonly controller: vscode.TestController) {}

  get size(): number {
    return this.items.size;
  }

  /** The place of an item that this tree has made; undefined for others. */
  placeOf(item: vscode.TestItem): TestPath | undefined {
    return this.places.get(item.id);
  }

  find(folder: string, id: string): vscode.TestItem | undefined {
    return this.items.get(keyOf(pathOf(folder, id)));
  }

  /** Whether any test is known in this file. */
  has(uri: vscode.Uri): boolean {
    const wanted = uri.toString();
    return [...this.items.values()].some((item) => item.uri?.toString() === wanted);
  }

  /** Adds what was found, or where it is known says anew where it stands. */
  add(event: TestEvent): vscode.TestItem {
    const item = this.node(pathOf(event.folder, event.id));
    item.error = undefined;
    if (event.line !== undefined) {
      item.range = new vscode.Range(event.line, 0, event.line, 0);
      item.sortText = String(event.line).padStart(8, "0");
      const parent = item.parent;
      if (item.label.startsWith("[") && parent !== undefined && parent.range === undefined) {
        parent.range = item.range; // All parameters of a function stand where it stands.
        parent.sortText = item.sortText;
      }
    }
    return item;
  }

  /** Marks a file that could not be read as tests. */
  fail(event: TestEvent): vscode.TestItem {
    const item = this.node(pathOf(event.folder, event.id));
    const text = new vscode.MarkdownString();
    text.appendCodeblock(event.message ?? "", "text");
    item.error = text;
    return item;
  }

  /** Takes away what is in `scope` (everything where it is undefined) and not in `kept`, and what is empty then. */
  prune(kept: ReadonlySet<string>, scope: ReadonlySet<string> | undefined): void {
    for (const [key, item] of [...this.items]) {
      const inScope = scope === undefined || (item.uri !== undefined && scope.has(item.uri.toString()));
      if (inScope && !kept.has(key) && item.children.size === 0) {
        this.remove(item);
      }
    }
  }

  remove(item: vscode.TestItem): void {
    item.children.forEach((child) => this.forget(child));
    this.forget(item);
    const siblings = item.parent?.children ?? this.controller.items;
    siblings.delete(item.id);
    // A class, file or folder without tests is no news to anybody.
    if (item.parent !== undefined && item.parent.children.size === 0) {
      this.remove(item.parent);
    }
  }

  private forget(item: vscode.TestItem): void {
    item.children.forEach((child) => this.forget(child));
    this.items.delete(item.id);
    this.places.delete(item.id);
  }

  private node(place: TestPath): vscode.TestItem {
    const key = keyOf(place);
    const known = this.items.get(key);
    if (known !== undefined) {
      return known;
    }
    const above = parentOf(place);
    // With one folder its name would only stand above everything.
    const isRoot = place.path.length === 0;
    const hidden = above !== undefined && above.path.length === 0 && (vscode.workspace.workspaceFolders?.length ?? 0) < 2;
    const siblings = above === undefined || hidden ? this.controller.items : this.node(above).children;
    const label = place.within.at(-1) ?? place.path.at(-1) ?? folderName(place.folder);
    const uri = vscode.Uri.joinPath(vscode.Uri.parse(place.folder), ...place.path);
    const item = this.controller.createTestItem(key, label, uri);
    if (isRoot) {
      item.sortText = label;
    }
    siblings.add(item);
    this.items.set(key, item);
    this.places.set(key, place);
    return item;
  }
}

function folderName(folder: string): string {
  const uri = vscode.Uri.parse(folder);
  return vscode.workspace.getWorkspaceFolder(uri)?.name ?? uri.path.split("/").at(-1) ?? folder;
}

/** The tests at and below some items: those that have nothing below them. */
export function leaves(items: Iterable<vscode.TestItem>): vscode.TestItem[] {
  const found: vscode.TestItem[] = [];
  const visit = (item: vscode.TestItem): void => {
    if (item.children.size === 0) {
      found.push(item);
    } else {
      item.children.forEach(visit);
    }
  };
  [...items].forEach(visit);
  return found;
}
