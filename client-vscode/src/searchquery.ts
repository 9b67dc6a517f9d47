// What a person types to search, read into a request; and what is found, merged and put in order. Pure.
import type { SearchHit, SearchParams, SearchResult } from "./protocol";

/** SymbolKind's names, as the server knows them. */
export const KINDS = [
  ...["File", "Module", "Namespace", "Package", "Class", "Method", "Property", "Field", "Constructor", "Enum", "Interface"],
  ...["Function", "Variable", "Constant", "String", "Number", "Boolean", "Array", "Object", "Key", "Null", "EnumMember"],
  ...["Struct", "Event", "Operator", "TypeParameter"],
] as const;

/** Reads `path:src/** kind:class,function lang:python words`. A filter that is not finished yet does not filter. */
export function readQuery(text: string, limit: number): SearchParams {
  const words: string[] = [];
  const kinds: string[] = [];
  const languages: string[] = [];
  const paths: string[] = [];
  for (const word of text.split(/\s+/)) {
    const found = /^(path|kind|lang):(.*)$/.exec(word);
    const values = (found?.[2] ?? "").split(",").filter((value) => value !== "");
    switch (found?.[1]) {
      case "path":
        paths.push(...(found[2] === "" ? [] : [found[2] ?? ""])); // A comma may be part of a name.
        break;
      case "kind":
        kinds.push(...values.flatMap((value) => kindOf(value) ?? []));
        break;
      case "lang":
        languages.push(...values);
        break;
      default:
        words.push(word);
    }
  }
  const path = paths.at(-1);
  return {
    query: words.join(" ").trim(),
    limit,
    ...(path === undefined ? {} : { path }),
    ...(kinds.length === 0 ? {} : { kinds }),
    ...(languages.length === 0 ? {} : { languages }),
  };
}

function kindOf(value: string): string | undefined {
  return KINDS.find((kind) => kind.toLowerCase() === value.toLowerCase());
}

/** The best hits of a search while its parts come in: a hit that comes again has another score. */
export class Hits {
  private readonly known = new Map<string, SearchHit>();

  constructor(private readonly limit: number) {}

  add(hits: readonly SearchHit[]): void {
    for (const hit of hits) {
      const { line, character } = hit.selectionRange.start;
      this.known.set(`${hit.uri}\n${line}:${character}\n${hit.name}`, hit);
    }
  }

  best(): SearchHit[] {
    return [...this.known.values()].toSorted((one, other) => other.score - one.score).slice(0, this.limit);
  }
}

/** Hits by file, the best file first; the hits of one by their place. */
export function byFile(hits: readonly SearchHit[]): { readonly uri: string; readonly hits: readonly SearchHit[] }[] {
  const files = new Map<string, SearchHit[]>();
  for (const hit of hits) {
    files.set(hit.uri, [...(files.get(hit.uri) ?? []), hit]);
  }
  return [...files].map(([uri, found]) => ({
    uri,
    hits: found.toSorted((one, other) => one.selectionRange.start.line - other.selectionRange.start.line),
  }));
}

/** Those that are not the text itself that similar code is looked for. */
export function others(hits: readonly SearchHit[], uri: string, first: number, last: number): SearchHit[] {
  return hits.filter(({ uri: there, range }) => there !== uri || range.end.line < first || range.start.line > last);
}

/** Which share of the workspace the answer speaks for, in whole percent; undefined where it is all of it. */
export function indexedPercent(result: Pick<SearchResult, "state" | "coverage">): number | undefined {
  return result.state === "complete" ? undefined : Math.min(99, Math.floor(result.coverage * 100));
}

/** The codicon of a kind, as the editor's own lists have it. */
export function kindIcon(kind: string): string {
  const known: Readonly<Record<string, string>> = { Constructor: "method", EnumMember: "enum-member", TypeParameter: "type-parameter", File: "file", Object: "namespace", Null: "variable" };
  return `symbol-${known[kind] ?? kind.toLowerCase()}`;
}

/** The first line of a snippet that says something. */
export function firstLine(snippet: string): string {
  return snippet.split("\n").map((line) => line.trim()).find((line) => line !== "") ?? "";
}
