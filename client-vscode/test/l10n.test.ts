import assert from "node:assert/strict";
import { test } from "node:test";
import { readFileSync } from "node:fs";
import { readJson, ROOT, spokenMessages } from "./words";

const placeholders = (text: string): string[] => (text.match(/\{\d+\}/g) ?? []).sort();
const chinese = /[\u4e00-\u9fff]/;
/** Names that are the same in every language. */
const FORMULAS = new Set(["GPU", "CPU {0}", "GPU {0}", "{0} % ({1} of {2})"]);
const NAMES = new Set(["Headway", "Python"]);

test("every message of the sources is translated, and nothing else is", () => {
  const spoken = [...spokenMessages().keys()].sort();
  assert.ok(spoken.length > 50);
  for (const bundle of ["bundle.l10n.json", "bundle.l10n.zh-cn.json"]) {
    assert.deepEqual(Object.keys(readJson("l10n", bundle)).sort(), spoken, bundle);
  }
});

test("translations keep the placeholders and are in Chinese", () => {
  for (const [message, translated] of Object.entries(readJson("l10n", "bundle.l10n.zh-cn.json"))) {
    assert.deepEqual(placeholders(translated), placeholders(message), message);
    assert.ok(chinese.test(translated) || FORMULAS.has(message), message);
  }
});

test("the base bundle is English", () => {
  for (const [message, text] of Object.entries(readJson("l10n", "bundle.l10n.json"))) {
    assert.equal(text, message);
  }
});

test("the manifest's words exist in both languages, and no others", () => {
  const manifest = readFileSync(`${ROOT}/package.json`, "utf8");
  const used = [...new Set([...manifest.matchAll(/"%([^%"]+)%"/g)].map((match) => match[1] ?? ""))].sort();
  const [en, zh] = [readJson("package.nls.json"), readJson("package.nls.zh-cn.json")];
  assert.ok(used.length > 40);
  assert.deepEqual(Object.keys(en).sort(), used);
  assert.deepEqual(Object.keys(zh).sort(), used);
  for (const [key, text] of Object.entries(zh)) {
    assert.ok(chinese.test(text) || NAMES.has(text), key);
  }
});

test("nothing visible in the manifest is written into it directly", () => {
  const manifest = JSON.parse(readFileSync(`${ROOT}/package.json`, "utf8")) as unknown;
  const visible = new Set(["displayName", "description", "markdownDescription", "title"]);
  const visit = (value: unknown, path: string): void => {
    if (typeof value !== "object" || value === null) {
      return;
    }
    for (const [key, child] of Object.entries(value)) {
      if (visible.has(key) && typeof child === "string") {
        assert.match(child, /^%.+%$/, `${path}.${key}`);
      }
      visit(child, `${path}.${key}`);
    }
  };
  visit(manifest, "");
});
