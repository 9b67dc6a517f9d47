// `npm run test:vscode`: brings the editor, packs the extension, and runs the suite with the Node that the editor asks for.
// Arguments are passed on: words of the names of the scenarios to run.
import { execFileSync, spawnSync } from "node:child_process";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "..", "..");
execFileSync("bash", [join(here, "install.sh")], { stdio: "inherit" });
execFileSync(process.execPath, [join(root, "client-vscode", "pack", "vsix.mjs"), "--target", "linux-x64"], { stdio: "inherit" });
const home = process.env.HEADWAY_TESTBED ?? join(homedir(), ".cache", "headway-vscode");
const suite = spawnSync(join(home, "bin", "node"), [join(here, "suite.ts"), ...process.argv.slice(2)], { cwd: root, stdio: "inherit" });
process.exit(suite.status ?? 1);
