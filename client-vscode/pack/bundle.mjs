// Collects what the server needs into out/bundled: Headway's own wheel, built from this checkout, and the locked wheels
// for this platform and each supported CPython, with hashes. pip finds the packages where it is set up to look.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { familySync, MUSL } from "detect-libc";

/** CPython minor versions that the package carries libraries for, where there are wheels for them. */
const PYTHONS = ["3.11", "3.12", "3.13", "3.14"];

/** Wheel tags of each `vsce` target, widest first. */
const PLATFORMS = {
  "linux-x64": ["manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"],
  "linux-arm64": ["manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"],
  "alpine-x64": ["musllinux_1_2_x86_64", "musllinux_1_1_x86_64"],
  "darwin-x64": ["macosx_11_0_x86_64", "macosx_10_13_x86_64", "macosx_10_12_x86_64"],
  "darwin-arm64": ["macosx_11_0_arm64"],
  "win32-x64": ["win_amd64"],
  "win32-arm64": ["win_arm64"],
};

/** The target of this machine. */
export function hostTarget() {
  const musl = process.platform === "linux" && familySync() === MUSL;
  return `${musl ? "alpine" : process.platform}-${process.arch}`;
}

/** Fills `out/bundled` under `root`. Downloads only what a cache of earlier runs lacks. */
export function bundle(root, target, python) {
  const tags = PLATFORMS[target];
  if (tags === undefined) {
    throw new Error(`no wheel tags are known for ${target}; known: ${Object.keys(PLATFORMS).join(", ")}`);
  }
  const pip = (...args) =>
    execFileSync(python, ["-I", "-m", "pip", "--quiet", "--quiet", "--disable-pip-version-check", "--no-input", ...args], {
      cwd: root,
      stdio: ["ignore", "inherit", "inherit"],
    });
  const downloads = download(root, target, tags, python, pip);
  const folder = join(root, "out", "bundled");
  rmSync(folder, { recursive: true, force: true });
  const wheels = join(folder, "wheels");
  mkdirSync(wheels, { recursive: true });
  cpSync(downloads, wheels, { recursive: true });
  buildOwn(root, wheels, pip);
  return describe(root, target, folder, wheels);
}

/** The locked wheels, downloaded once for each content of the lock file. */
function download(root, target, tags, python, pip) {
  const lock = join(root, "requirements", "server.txt");
  const tools = join(root, "client-vscode", "pack", "tools.txt");
  const key = createHash("sha256").update(readFileSync(lock)).update(readFileSync(tools)).update(PYTHONS.join()).digest("hex").slice(0, 16);
  const cache = join(root, "build", "wheels");
  const ready = join(cache, `${target}-${key}`);
  if (existsSync(ready)) {
    return ready;
  }
  const aside = `${ready}.${process.pid}`;
  const fixed = ["download", "--no-deps", "--only-binary", ":all:", "--require-hashes", "--dest", aside, "--implementation", "cp"];
  const platform = tags.flatMap((tag) => ["--platform", tag]);
  try {
    for (const minor of PYTHONS) {
      pip(...fixed, ...platform, "--python-version", minor, "--requirement", lock);
    }
    pip(...fixed, ...platform, "--python-version", PYTHONS[0], "--requirement", tools);
    renameSync(aside, ready);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
  for (const name of readdirSync(cache)) {
    if (name.startsWith(`${target}-`) && join(cache, name) !== ready) {
      rmSync(join(cache, name), { recursive: true, force: true });
    }
  }
  return ready;
}

/** Builds Headway's wheel from a copy of the sources, so that leftovers of earlier builds cannot get in. */
function buildOwn(root, wheels, pip) {
  const copy = mkdtempSync(join(tmpdir(), "headway-wheel-"));
  try {
    for (const name of ["pyproject.toml", "README.md", "LICENSE", "bin", "server"]) {
      cpSync(join(root, name), join(copy, name), {
        recursive: true,
        filter: (path) => !/(__pycache__|\.egg-info)$/.test(path),
      });
    }
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", wheels, copy);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** Writes requirements.txt (what is there, with hashes) and bundle.json (what src/bundle.ts reads). */
function describe(root, target, folder, wheels) {
  const files = readdirSync(wheels).sort();
  const hashes = new Map();
  const pythons = new Set(PYTHONS);
  const perPython = new Map();
  const whole = createHash("sha256");
  for (const file of files) {
    const [name, version] = file.split("-");
    const hash = createHash("sha256").update(readFileSync(join(wheels, file))).digest("hex");
    whole.update(file).update(hash);
    const tag = /-(cp3(\d+))-cp3\d+-/.exec(file);
    if (tag !== null) {
      perPython.set(name, [...(perPython.get(name) ?? []), `3.${tag[2]}`]);
    }
    if (name !== "pip") {
      const pinned = `${name.replaceAll("_", "-")}==${version}`;
      hashes.set(pinned, [...(hashes.get(pinned) ?? []), `--hash=sha256:${hash}`]);
    }
  }
  for (const available of perPython.values()) {
    PYTHONS.filter((minor) => !available.includes(minor)).forEach((minor) => pythons.delete(minor));
  }
  const lines = [...hashes].map(([pinned, list]) => [pinned, ...list].join(" \\\n    "));
  writeFileSync(join(folder, "requirements.txt"), `${lines.join("\n")}\n`);
  const described = {
    version: JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version,
    platform: target,
    pythons: PYTHONS.filter((minor) => pythons.has(minor)),
    hash: whole.digest("hex"),
    pip: files.find((file) => file.startsWith("pip-")),
    packages: hashes.size,
  };
  writeFileSync(join(folder, "bundle.json"), `${JSON.stringify(described, null, 2)}\n`);
  const bytes = files.reduce((sum, file) => sum + statSync(join(wheels, file)).size, 0);
  return { ...described, bytes };
}
