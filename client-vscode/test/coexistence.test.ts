import assert from "node:assert/strict";
import { test } from "node:test";
import { EVERYTHING, offerAmong, settledTypes } from "../src/coexistence";

const among = (extensions: readonly string[], settings: Readonly<Record<string, unknown>> = {}, mode: unknown = "auto") =>
  offerAmong(mode, { installed: (id) => extensions.includes(id), setting: (name) => settings[name] });

const PYTHON = "ms-python.python";
const PYLANCE = "ms-python.vscode-pylance";

test("alone, everything is offered", () => {
  assert.deepEqual(among([]), EVERYTHING);
  assert.deepEqual(among(["someone.else"]), EVERYTHING);
});

test("completion and navigation are left to who serves them", () => {
  for (const id of [PYLANCE, "detachhead.basedpyright", "ms-pyright.pyright", "astral-sh.ty", "meta.pyrefly"]) {
    const { language, lint, languageBy } = among([id]);
    assert.deepEqual([language, lint, languageBy.length], [false, true, 1], id);
  }
});

test("who is installed but switched off is nobody", () => {
  assert.equal(among([PYTHON, PYLANCE], { "python.languageServer": "None" }).language, true);
  assert.equal(among(["meta.pyrefly"], { "python.pyrefly.disableLanguageServices": true }).language, true);
  assert.equal(among(["charliermarsh.ruff"], { "ruff.enable": false }).lint, true);
});

test("the Python extension's Jedi counts where it is chosen, or where Pylance is not there", () => {
  const by = (extensions: readonly string[], server: string) => among(extensions, { "python.languageServer": server }).languageBy;
  assert.deepEqual(by([PYTHON], "Default"), ["Jedi"]);
  assert.deepEqual(by([PYTHON, PYLANCE], "Default"), ["Pylance"]);
  assert.deepEqual(by([PYTHON, PYLANCE], "Jedi"), ["Jedi"]);
});

test("type errors are ours where the other does not look for them", () => {
  assert.equal(among([PYLANCE]).types, true);
  assert.equal(among([PYLANCE], { "python.analysis.typeCheckingMode": "off" }).types, true);
  assert.equal(among([PYLANCE], { "python.analysis.typeCheckingMode": "basic" }).types, false);
  assert.equal(among(["astral-sh.ty"]).types, false);
});

test("ruff's findings are left to the Ruff extension, and all is offered where a person wants it", () => {
  assert.deepEqual(among(["charliermarsh.ruff"]), { ...EVERYTHING, lint: false, lintBy: ["Ruff"] });
  assert.deepEqual(among(["charliermarsh.ruff", PYLANCE], {}, "all"), EVERYTHING);
});

test("only what is left to chance about types is decided", () => {
  const offer = among(["astral-sh.ty"]);
  const settings = (types: string) => ({ index: {}, diagnostics: { enabled: true, types } });
  assert.deepEqual(settledTypes(settings("auto"), offer), settings("off"));
  assert.deepEqual(settledTypes(settings("on"), offer), settings("on"));
  assert.deepEqual(settledTypes(settings("auto"), EVERYTHING), settings("auto"));
  assert.equal(settledTypes(undefined, offer), undefined);
});
