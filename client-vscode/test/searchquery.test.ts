import assert from "node:assert/strict";
import { test } from "node:test";
import type { SearchHit } from "../src/protocol";
import { byFile, firstLine, Hits, indexedPercent, kindIcon, others, readQuery } from "../src/searchquery";

function hit(name: string, score: number, line = 1, uri = "file:///w/a.py"): SearchHit {
  const at = (character: number): { line: number; character: number } => ({ line, character });
  const range = { start: at(0), end: { line: line + 2, character: 0 } };
  return { uri, range, selectionRange: { start: at(4), end: at(8) }, name, kind: "Function", container: null, score, snippet: "", why: "lexical" };
}

test("filters are read out of the words, in any place and spelling", () => {
  assert.deepEqual(readQuery("convert kind:Class,FUNCTION path:src/** celsius lang:python", 50), {
    query: "convert celsius",
    limit: 50,
    path: "src/**",
    kinds: ["Class", "Function"],
    languages: ["python"],
  });
});

test("a filter that is being typed does not filter, and other colons are words", () => {
  assert.deepEqual(readQuery("a::b kind:cla path: lang:", 5), { query: "a::b", limit: 5 });
});

test("a hit that comes again counts once, with its newer score", () => {
  const hits = new Hits(2);
  hits.add([hit("a", 1), hit("b", 2)]);
  hits.add([hit("a", 3), hit("c", 0.5, 7)]);
  assert.deepEqual(hits.best().map(({ name, score }) => [name, score]), [["a", 3], ["b", 2]]);
});

test("results stand by file, the best file first", () => {
  const files = byFile([hit("x", 3, 9), hit("y", 2, 1, "file:///w/b.py"), hit("z", 1, 4)]);
  assert.deepEqual(files.map(({ uri, hits }) => [uri.slice(-4), hits.map(({ name }) => name)]), [["a.py", ["z", "x"]], ["b.py", ["y"]]]);
});

test("code is not similar to itself", () => {
  const found = [hit("itself", 3, 10), hit("before", 2, 1), hit("elsewhere", 1, 10, "file:///w/b.py")];
  assert.deepEqual(others(found, "file:///w/a.py", 11, 11).map(({ name }) => name), ["before", "elsewhere"]);
});

test("what is not whole never says that it is", () => {
  assert.equal(indexedPercent({ state: "indexing", coverage: 0.999 }), 99);
  assert.equal(indexedPercent({ state: "indexing", coverage: 0.407 }), 40);
  assert.equal(indexedPercent({ state: "complete", coverage: 1 }), undefined);
});

test("kinds have the editor's icons, and snippets a line", () => {
  assert.deepEqual(["Class", "EnumMember", "Constructor"].map(kindIcon), ["symbol-class", "symbol-enum-member", "symbol-method"]);
  assert.equal(firstLine("\n   def a():\n  pass"), "def a():");
});
