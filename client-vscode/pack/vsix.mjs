// Packs dist/headway-<target>-<version>.vsix: the bundled extension with the wheels of its server. `--target` names another
// platform than this one. Needs .venv (made by make) for pip and setuptools.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { bundle, hostTarget } from "./bundle.mjs";
import { findSecrets } from "./secrets.mjs";

const MOST_BYTES = 60 * 1024 * 1024;
const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const { values } = parseArgs({ options: { target: { type: "string", default: hostTarget() }, python: { type: "string" } } });
const python = values.python ?? join(root, ".venv", process.platform === "win32" ? "Scripts/python.exe" : "bin/python");
if (!existsSync(python)) {
  throw new Error(`${python} does not exist: run "make setup" first, or name a Python with setuptools by --python`);
}

execFileSync(process.execPath, [join(root, "client-vscode", "esbuild.mjs")], { cwd: root, stdio: "inherit" });
const bundled = bundle(root, values.target, python);
// vsce would look for secrets in every wheel too, for minutes; what is ours is searched here instead.
const secrets = findSecrets(root, ["package.json", "README.md", "CHANGELOG.md", "l10n", "media", "client-vscode/src", "server"]);
if (secrets.length > 0) {
  throw new Error(`these look like secrets and must not be packed:\n${secrets.join("\n")}`);
}
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const vsix = join(root, "dist", `headway-${values.target}-${version}.vsix`);
mkdirSync(dirname(vsix), { recursive: true });
const vsce = join(root, "node_modules", "@vscode", "vsce", "vsce");
const flags = ["--no-dependencies", "--allow-package-all-secrets", "--allow-package-env-file", "--allow-missing-repository"];
execFileSync(process.execPath, [vsce, "package", "--target", values.target, ...flags, "--no-rewrite-relative-links", "--out", vsix], {
  cwd: root,
  stdio: ["ignore", "ignore", "inherit"],
});
const bytes = statSync(vsix).size;
if (bytes > MOST_BYTES) {
  throw new Error(`${vsix} is ${bytes} bytes; at most ${MOST_BYTES} are allowed`);
}
const sizes = `${(bytes / 1e6).toFixed(1)} MB, ${bundled.packages} Python packages of ${(bundled.bytes / 1e6).toFixed(1)} MB`;
console.log(`${vsix}: ${sizes}, for Python ${bundled.pythons.join(", ")} on ${values.target}`);
