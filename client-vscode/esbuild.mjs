// Bundles the extension into one file, out/extension.js; with --tests also the unit tests, into out/test/.
import { rmSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "..", "out");
const common = { bundle: true, platform: "node", target: "node20", logLevel: "warning", absWorkingDir: here };

if (process.argv.includes("--tests")) {
  rmSync(join(out, "test"), { recursive: true, force: true });
  const tests = (await readdir(join(here, "test"))).filter((name) => name.endsWith(".test.ts"));
  await build({
    ...common,
    entryPoints: tests.map((name) => join("test", name)),
    outdir: join(out, "test"),
    format: "esm",
    outExtension: { ".js": ".mjs" },
    sourcemap: "inline",
    // TypeScript is the compiler that the tests read our sources with; the editor's module must not be needed at all.
    external: ["typescript", "vscode"],
  });
} else {
  await build({
    ...common,
    entryPoints: [join("src", "extension.ts")],
    outfile: join(out, "extension.js"),
    format: "cjs",
    external: ["vscode"],
    minify: !process.argv.includes("--dev"),
    sourcemap: process.argv.includes("--dev") ? "linked" : false,
    legalComments: "linked",
  });
}
