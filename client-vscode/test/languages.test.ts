import assert from "node:assert/strict";
import { test } from "node:test";
import { documentSelector, servedLanguages } from "../src/languages";

test("Python is served, and what a language server is named for", () => {
  assert.deepEqual(servedLanguages([]), ["python"]);
  assert.deepEqual(
    servedLanguages([{ language: "go", command: ["gopls"] }, { language: "cpp", command: ["clangd"] }, { language: "go" }]),
    ["python", "go", "cpp"],
  );
});

test("what is no server's description is left out", () => {
  assert.deepEqual(servedLanguages([null, 5, "go", {}, { language: 5 }, { language: "" }]), ["python"]);
  assert.deepEqual(servedLanguages(undefined), ["python"]);
  assert.deepEqual(servedLanguages({ language: "go" }), ["python"]);
});

test("files and unsaved texts count", () => {
  assert.deepEqual(documentSelector(["go"]), [
    { scheme: "file", language: "go" },
    { scheme: "untitled", language: "go" },
  ]);
});

test("cells of notebooks count where they are Python, which the server knows as parts of their notebook", () => {
  assert.deepEqual(
    documentSelector(["python", "go"]).map(({ scheme, language }) => `${scheme} ${language}`),
    ["file python", "untitled python", "vscode-notebook-cell python", "file go", "untitled go"],
  );
});
