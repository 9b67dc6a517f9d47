import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ROOT } from "./words";

const MEDIA = readdirSync(join(ROOT, "media")).filter((name) => name.endsWith(".png") && name !== "icon.png");
const shown = (file: string): string[] => [...readFileSync(join(ROOT, file), "utf8").matchAll(/media\/([\w-]+\.png)/g)].flatMap(([, name]) => name ?? []);

test("each picture that is shown is there, and each that is there is shown", () => {
  const used = new Set(["README.md", "README.zh-CN.md", "package.json"].flatMap(shown).filter((name) => name !== "icon.png"));
  assert.deepEqual([...used].sort(), MEDIA.sort());
});

test("each picture is a screenshot that the tests in the editor take", () => {
  const source = readFileSync(join(ROOT, "tests", "vscode", "pictures.mjs"), "utf8");
  const pairs = [...source.matchAll(/^ {2}"([\w-]+)": "([\w-]+)",$/gm)].map(([, picture, shot]) => [`${picture ?? ""}.png`, shot ?? ""] as const);
  assert.deepEqual(pairs.map(([picture]) => picture).sort(), MEDIA.sort());
  const folder = join(ROOT, "tests", "vscode");
  const checks = readdirSync(folder).filter((name) => name.endsWith(".ts")).map((name) => readFileSync(join(folder, name), "utf8")).join("");
  for (const [picture, shot] of pairs) {
    assert.ok(checks.includes(`.shot("${shot}")`), `${picture}: nothing takes ${shot}`);
  }
});
