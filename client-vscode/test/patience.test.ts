import assert from "node:assert/strict";
import { test } from "node:test";
import { oneAtATime, shownWhenLong, Steps } from "../src/patience";

const NEVER_MS = 2 ** 30;

test("what is soon done is never shown", async () => {
  const show = (): void => assert.fail("it was shown");
  assert.equal(await shownWhenLong(NEVER_MS, Promise.resolve(7), show), 7);
  await assert.rejects(shownWhenLong(NEVER_MS, Promise.reject(new Error("no")), show), /no/);
});

test("what takes long is shown until its end, and stays what it is", async () => {
  for (const fails of [false, true]) {
    const going: { finish?: () => void } = {};
    const work = new Promise<string>((resolve, reject) => {
      going.finish = () => (fails ? reject(new Error("broken")) : resolve("done"));
    });
    const seen: string[] = [];
    const waited = shownWhenLong(0, work, (end) => {
      seen.push("shown");
      void end.then(() => seen.push("end"));
      going.finish?.();
    });
    await (fails ? assert.rejects(waited, /broken/) : waited.then((answer) => assert.equal(answer, "done")));
    await Promise.resolve();
    assert.deepEqual(seen, ["shown", "end"]);
  }
});

test("a bar goes as far as the percentages say, never back and never beyond its end", () => {
  const steps = new Steps();
  assert.deepEqual([undefined, 10, 10, 5, 60, 130].map((percentage) => steps.to(percentage)), [undefined, 10, 0, 0, 50, 40]);
});

test("who asks again while it goes on starts nothing, and after its end starts it anew, however it ended", async () => {
  const ends: ((fails: boolean) => void)[] = [];
  const work = (): Promise<number> =>
    new Promise((resolve, reject) => ends.push((fails) => (fails ? reject(new Error("broken")) : resolve(ends.length))));
  const ask = oneAtATime(work);
  for (const fails of [true, false]) {
    const first = ask();
    assert.equal(await ask(), undefined);
    ends.at(-1)?.(fails);
    await (fails ? assert.rejects(first, /broken/) : first.then((answer) => assert.equal(answer, 2)));
  }
  assert.equal(ends.length, 2);
});
