// What the extension's package carries for the server: wheels, and which Pythons and platform they are for.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { familySync, MUSL } from "detect-libc";

export interface Bundle {
  /** Folder with the wheels, possibly read-only. */
  readonly folder: string;
  readonly version: string;
  /** As in `vsce --target`: linux-x64, win32-arm64, alpine-x64, … */
  readonly platform: string;
  /** Minor versions with libraries in the package, oldest first: 3.11, 3.12. */
  readonly pythons: readonly string[];
  /** Changes with the content, not only with the version. */
  readonly hash: string;
  /** The wheel of pip that installs the others; a Python of Debian has none of its own. */
  readonly pip: string;
  /** How many packages are installed. */
  readonly packages: number;
}

/** The package is incomplete: it must be installed again. */
export class BundleError extends Error {}

/** Reads `bundle.json`, which pack/bundle.mjs writes. Raises BundleError where it is missing or not whole. */
export async function readBundle(folder: string): Promise<Bundle> {
  const file = join(folder, "bundle.json");
  try {
    const found: unknown = JSON.parse(await readFile(file, "utf8"));
    if (isBundle(found)) {
      return { ...found, folder };
    }
  } catch (error) {
    throw new BundleError(error instanceof Error ? error.message : file, { cause: error });
  }
  throw new BundleError(file);
}

function isBundle(found: unknown): found is Omit<Bundle, "folder"> {
  const wanted = { version: "string", platform: "string", pythons: "object", hash: "string", pip: "string", packages: "number" };
  return (
    typeof found === "object" &&
    found !== null &&
    Object.entries(wanted).every(([key, type]) => typeof Reflect.get(found, key) === type) &&
    Array.isArray(Reflect.get(found, "pythons"))
  );
}

/**
 * The platform that this process runs on, in the same spelling. The C library is read from the editor's own program file:
 * `process.report` is no witness, since every extension runs in this process and GitHub Copilot Chat makes it return nothing.
 */
export function platformHere(): string {
  if (process.platform !== "linux") {
    return `${process.platform}-${process.arch}`;
  }
  return `${familySync() === MUSL ? "alpine" : "linux"}-${process.arch === "arm" ? "armhf" : process.arch}`;
}
