import assert from "node:assert/strict";
import { test } from "node:test";
import { bounded, type Source } from "../src/bounded";

function source(): Source<string> & { readonly said: string[] } {
  const said: string[] = [];
  return { token: "token", cancel: () => said.push("cancel"), dispose: () => said.push("dispose"), said };
}

test("an answer in time is given on, and the token is left alone", async () => {
  const given = source();
  assert.equal(await bounded(60_000, given, (token) => Promise.resolve(`${token}!`), () => "late"), "token!");
  assert.deepEqual(given.said, ["dispose"]);
});

test("an answer that does not come is given up and cancelled", async () => {
  const given = source();
  const never = new Promise<string>(() => undefined);
  assert.equal(await bounded(1, given, () => never, () => "late"), "late");
  assert.deepEqual(given.said, ["cancel", "dispose"]);
});

test("a failure goes through, and so does one that `late` raises", async () => {
  await assert.rejects(bounded(60_000, source(), () => Promise.reject(new Error("refused")), () => "late"), /refused/);
  const never = new Promise<string>(() => undefined);
  const silent = (): never => {
    throw new Error("no answer");
  };
  await assert.rejects(bounded(1, source(), () => never, silent), /no answer/);
});
