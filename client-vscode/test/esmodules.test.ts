import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { build, type Plugin } from "esbuild";
import { asEsModule, esModules, withOneEditor } from "../bundling/esmodules.mjs";

const require = createRequire(import.meta.url);

/** A program bundled as the extension is. */
async function bundled(program: string, plugins: Plugin[]): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: program, resolveDir: process.cwd() },
    bundle: true,
    platform: "node",
    format: "esm",
    write: false,
    minify: true,
    external: ["vscode"],
    plugins,
  });
  return outputFiles[0]?.text ?? assert.fail("nothing was bundled");
}

/** The names of a module and of its namespaces, which is all that its users can ask for. */
function names(module: object): Set<string> {
  const kept = Object.entries(module).filter(([name]) => name !== "default" && name !== "module.exports");
  const inner = (name: string, value: unknown): string[] =>
    (typeof value === "object" || typeof value === "function") && value !== null ? Object.keys(value).map((key) => `${name}.${key}`) : [];
  return new Set(kept.flatMap(([name, value]) => [`${name}: ${typeof value}`, ...inner(name, value)]));
}

test("no module of the language client stays as it was, and a good part of them is left out", async () => {
  const left: string[] = [];
  await bundled('export * from "vscode-languageclient"; export * from "vscode-languageserver-protocol/node";', [esModules((path) => left.push(path))]);
  assert.deepEqual(left, []);
  const used = 'export { BaseLanguageClient } from "vscode-languageclient";';
  const [smaller, whole] = [(await bundled(used, [esModules()])).length, (await bundled(used, [])).length];
  assert.ok(smaller < 0.8 * whole, `${smaller} of ${whole}`);
});

test("a rewritten package has the names that it had", async () => {
  for (const name of ["vscode-jsonrpc/node", "vscode-languageserver-protocol/node", "vscode-languageserver-types"]) {
    const text = await bundled(`export * from ${JSON.stringify(name)};`, [esModules()]);
    const [was, is] = [names(require(name) as object), names((await import(`data:text/javascript,${encodeURIComponent(text)}`)) as object)];
    assert.ok(was.size > 20, name);
    assert.deepEqual([...is].filter((one) => !was.has(one)), [], name);
    // Two parts of the protocol offer a name: the first one's counted; now to ask for it there breaks the build.
    const twice = name === "vscode-languageserver-protocol/node" ? ["createMessageConnection: function"] : [];
    assert.deepEqual([...was].filter((one) => !is.has(one)), twice, name);
  }
});

test("a module with more than the compiler's fixed forms stays", () => {
  const mark = 'Object.defineProperty(exports, "__esModule", { value: true });\n';
  assert.equal(asEsModule(`"use strict";\n${mark}exports.a = void 0;\nconst b_1 = require("./b");\nexports.a = b_1.c;\n`), 'import * as b_1 from "./b";\nexport const a = b_1.c;\n');
  assert.equal(asEsModule(`${mark}if (process.env.X) { exports.a = 1; }\n`), undefined);
  assert.equal(asEsModule(`${mark}const late = () => require("./b");\n`), undefined);
});

test("the editor's object is asked for once and used by all parts as it is", () => {
  const bundle = '"use strict";var a=$e(require("vscode"));var b=require("vscode"),c=O(require("fs"));a.window;';
  const shared = '"use strict";var sharedEditor=require("vscode");var a=sharedEditor;var b=sharedEditor,c=O(require("fs"));a.window;';
  assert.equal(withOneEditor(bundle), shared);
  assert.throws(() => withOneEditor("var a;"), /begin/);
});
