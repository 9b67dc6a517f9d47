import assert from "node:assert/strict";
import { test } from "node:test";
import { concernsAll, failureText, keyOf, mayHoldTests, outcomeLine, parentOf, pathOf, targetOf, terminal } from "../src/testids";

const FOLDER = "file:///w/shop";

test("an id is a way down the tree, and what stands in brackets stays whole", () => {
  assert.deepEqual(pathOf(FOLDER, "tests/test_a.py::TestB::test_c[x::y/z[0]]"), {
    folder: FOLDER,
    path: ["tests", "test_a.py"],
    within: ["TestB", "test_c", "[x::y/z[0]]"],
  });
  assert.deepEqual(pathOf(FOLDER, "test_a.py").within, []);
  assert.deepEqual(pathOf(FOLDER, "./tests//test_a.py::test_c").path, ["tests", "test_a.py"]);
  assert.deepEqual(pathOf(FOLDER, "::test_c"), { folder: FOLDER, path: [], within: ["test_c"] }, "the folder itself is a module");
  assert.deepEqual(pathOf(FOLDER, "notes.txt::[a]").within, ["", "[a]"], "what pytest's plugins may call theirs");
});

test("a node's target is what pytest calls it", () => {
  for (const id of ["tests/test_a.py::TestB::test_c[x::y]", "tests/test_a.py::test_c", "tests/test_a.py", "tests"]) {
    assert.equal(targetOf(pathOf(FOLDER, id), "/w/shop"), `/w/shop/${id}`);
  }
  assert.equal(targetOf({ folder: FOLDER, path: [], within: [] }, "/w/shop/"), "/w/shop");
});

test("the way up goes through all of them to the folder", () => {
  const keys: string[] = [];
  for (let node = parentOf(pathOf(FOLDER, "t/test_a.py::test_c[1]")); node !== undefined; node = parentOf(node)) {
    keys.push(keyOf(node).slice(FOLDER.length));
  }
  assert.deepEqual(keys, ["\nt/test_a.py\ntest_c", "\nt/test_a.py", "\nt", "\n"]);
});

test("files of tests are known by pytest's patterns", () => {
  const patterns = ["test_*.py", "*_test.py", "check?.py"];
  assert.deepEqual(["test_a.py", "a_test.py", "check1.py", "shop.py", "test_apy", "my_test_a.py"].map((name) => mayHoldTests(name, patterns)), [
    true,
    true,
    true,
    false,
    false,
    false,
  ]);
  assert.ok(!mayHoldTests("xtest_a.pyc", patterns) && !mayHoldTests("testa_.py", patterns));
  assert.ok(concernsAll("conftest.py") && !concernsAll("shop.py"));
});

test("a failure begins with its reason", () => {
  assert.equal(failureText("self = <x>\n>  assert 1 == 2\nE   assert 1 == 2\nE  more").split("\n")[0], "assert 1 == 2");
  assert.equal(failureText("ImportError: x"), "ImportError: x");
});

test("an outcome is one line with its time and, where it was skipped, the reason", () => {
  const event = { folder: FOLDER, id: "test_a.py::test_b" };
  assert.equal(outcomeLine({ ...event, event: "passed", durationMs: 1.25 }), "PASSED test_a.py::test_b (1.3 ms)");
  assert.equal(outcomeLine({ ...event, event: "failed", durationMs: 1234.5 }), "FAILED test_a.py::test_b (1235 ms)");
  assert.equal(outcomeLine({ ...event, event: "skipped", message: "no net" }), "SKIPPED test_a.py::test_b: no net");
  assert.equal(outcomeLine({ ...event, event: "passed", durationMs: 9.96 }), "PASSED test_a.py::test_b (10.0 ms)");
  assert.equal(outcomeLine({ ...event, event: "passed", durationMs: 10 }), "PASSED test_a.py::test_b (10 ms)");
  assert.equal(outcomeLine({ ...event, event: "failed", message: "assert 1 == 2" }), "FAILED test_a.py::test_b", "the message stands with the test");
  assert.equal(outcomeLine({ ...event, event: "skipped" }), "SKIPPED test_a.py::test_b");
  assert.equal(outcomeLine({ ...event, event: "error" }), "ERROR test_a.py::test_b");
  assert.equal(outcomeLine({ ...event, event: "started" }), undefined);
  assert.equal(terminal("a\nb\r\n"), "a\r\nb\r\n");
});
