import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { platformHere } from "../src/bundle";

test("the platform is known whatever other extensions did to the process's report", () => {
  const report = Object.getOwnPropertyDescriptor(process.report, "getReport");
  Object.defineProperty(process.report, "getReport", { value: () => undefined, configurable: true });
  const musl = process.platform === "linux" && readdirSync("/lib").some((name) => name.startsWith("ld-musl-"));
  assert.equal(platformHere(), `${musl ? "alpine" : process.platform}-${process.arch}`);
  Object.defineProperty(process.report, "getReport", report ?? { value: undefined });
});
