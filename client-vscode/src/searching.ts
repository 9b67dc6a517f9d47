// One search at a time: a newer one takes the place of the one before it, which the server then stops.
import * as vscode from "vscode";
import type { Context } from "./context";
import * as protocol from "./protocol";
import { Hits, indexedPercent } from "./searchquery";

export const MOST_HITS = 100;

export interface Found {
  readonly hits: readonly protocol.SearchHit[];
  /** Whether more is to come. */
  readonly open: boolean;
  /** In whole percent; undefined where the index is whole. */
  readonly indexed: number | undefined;
  readonly meaning: protocol.MeaningInfo | undefined;
}

export class Searches {
  private current: vscode.CancellationTokenSource | undefined;

  constructor(private readonly context: Context) {}

  /** Searches and gives what is found as soon as it is. Nothing of a search that was given up is given any more. */
  async search(params: protocol.SearchParams, show: (found: Found) => void): Promise<void> {
    this.stop();
    const source = new vscode.CancellationTokenSource();
    this.current = source;
    const hits = new Hits(params.limit ?? MOST_HITS);
    const tell = (found: Omit<Found, "hits">): void => {
      if (!source.token.isCancellationRequested) {
        show({ hits: hits.best(), ...found });
      }
    };
    try {
      const take = (part: protocol.SearchParts): void => {
        hits.add(part.hits);
        tell({ open: true, indexed: undefined, meaning: undefined });
      };
      const result = await this.context.server.follow(protocol.search, params, take, source.token);
      hits.add(result.hits);
      tell({ open: false, indexed: indexedPercent(result), meaning: result.meaning });
    } catch (error) {
      if (!source.token.isCancellationRequested) {
        throw error;
      }
    } finally {
      if (this.current === source) {
        this.current = undefined;
      }
      source.dispose();
    }
  }

  stop(): void {
    this.current?.cancel();
    this.current = undefined;
  }
}

/** Where a hit's name is. */
export function placeOf(hit: protocol.SearchHit): vscode.Range {
  const { start, end } = hit.selectionRange;
  return new vscode.Range(start.line, start.character, end.line, end.character);
}

/** How much of the workspace is searched so far, in words; "" where it is all of it. */
export function indexedText(indexed: number | undefined): string {
  return indexed === undefined ? "" : vscode.l10n.t("index {0} %", indexed);
}
