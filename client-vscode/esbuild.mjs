// Bundles the extension into one file, out/extension.js; with --tests also the unit tests, into out/test/.
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { esModules, withOneEditor } from "./bundling/esmodules.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "..", "out");
/** Of extension.js: what the editor reads before anything of ours can happen. */
const LARGEST_BYTES = 400_000;
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
    // TypeScript is the compiler that the tests read our sources with; the editor's module must not be needed at all;
    // what asks for Node's modules the old way cannot be part of an ES module.
    external: ["detect-libc", "esbuild", "typescript", "vscode"],
  });
} else {
  const dev = process.argv.includes("--dev");
  const packed = { ...common, metafile: true, minify: !dev, sourcemap: dev ? "linked" : false, legalComments: "none" };
  const extension = await build({
    ...packed,
    entryPoints: [join("src", "extension.ts")],
    outfile: join(out, "extension.js"),
    format: "cjs",
    external: ["vscode"],
    plugins: [esModules()],
  });
  const program = withOneEditor(readFileSync(join(out, "extension.js"), "utf8"));
  writeFileSync(join(out, "extension.js"), program);
  const bytes = Buffer.byteLength(program);
  if (!dev && bytes > LARGEST_BYTES) {
    throw new Error(`out/extension.js has ${bytes} bytes, more than ${LARGEST_BYTES}`);
  }
  // The timeline's page runs in a browser.
  const page = await build({
    ...packed,
    platform: "browser",
    target: "es2022",
    entryPoints: [join("webview", "timeline.ts")],
    outfile: join(out, "timeline.js"),
    format: "iife",
  });
  const inputs = [extension, page].flatMap(({ metafile }) => Object.keys(metafile.inputs));
  writeFileSync(join(out, "THIRD-PARTY-NOTICES.txt"), notices(inputs));
}

/** The licenses of the packages whose files went into the bundle. */
function notices(inputs) {
  const folders = new Set();
  for (const input of inputs) {
    const found = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(resolve(here, input));
    if (found !== null) {
      folders.add(found[1]);
    }
  }
  const texts = [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file !== undefined && existsSync(join(folder, file)) ? readFileSync(join(folder, file), "utf8") : `License: ${license}\n`;
    return `${name} ${version}\n\n${text.trim()}\n`;
  });
  const wheels = "The Python packages in out/bundled/wheels carry their licenses in their .dist-info folders.\n";
  return [`Parts of this extension are the work of others.\n${wheels}`, ...texts].join(`\n${"-".repeat(80)}\n\n`);
}
