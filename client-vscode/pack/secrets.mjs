// Finds what looks like a credential in text files: private keys and the tokens of well-known services.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";

/** Spans lines, so it is looked for in the whole text. */
const PRIVATE_KEY = /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----\s+[A-Za-z0-9+/=]{20}/;
const PATTERNS = [
  /\bgh[pousr]_[A-Za-z0-9]{36}\b/,
  /\bAKIA[0-9A-Z]{16}\b/,
  /\bnpm_[A-Za-z0-9]{36}\b/,
  /\bpypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,}/,
  /\bxox[abpr]-[A-Za-z0-9-]{20,}/,
  /\bsk-[A-Za-z0-9_-]{32,}/,
  /\/\/[^/\s:@]+\/:_authToken=\S+/,
  /https?:\/\/[^/\s:@]+:[^/\s:@]+@/,
];
const MOST_BYTES = 2_000_000;

/** Paths with line numbers, relative to `root`, of what looks like a secret under `starts`. */
export function findSecrets(root, starts) {
  return starts.flatMap((start) => search(root, join(root, start)));
}

function search(root, path) {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || /(__pycache__|node_modules|\.egg-info)$/.test(path)) {
    return [];
  }
  if (found.isDirectory()) {
    return readdirSync(path).flatMap((name) => search(root, join(path, name)));
  }
  if (found.size > MOST_BYTES) {
    return [];
  }
  const text = readFileSync(path, "utf8");
  const name = relative(root, path);
  const tokens = text.split("\n").flatMap((line, index) =>
    PATTERNS.some((pattern) => pattern.test(line)) ? [`${name}:${index + 1}`] : [],
  );
  return PRIVATE_KEY.test(text) ? [...tokens, `${name} (private key)`] : tokens;
}
