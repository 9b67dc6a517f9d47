import assert from "node:assert/strict";
import { test } from "node:test";
import { lastWords } from "../src/lastwords";

test("the exception is picked from a traceback and from the drawing of a group", () => {
  const group = [
    "  + Exception Group Traceback (most recent call last):",
    "  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)",
    "  +-+---------------- 1 ----------------",
    '    |   File "/x/engines/ruff.py", line 3, in <module>',
    "    |     import msgspec",
    "    | ModuleNotFoundError: No module named 'msgspec'",
    "    +------------------------------------",
  ];
  assert.equal(lastWords(group), "ModuleNotFoundError: No module named 'msgspec'");
  assert.equal(lastWords(["Traceback", "    ^^^^", "sqlite3.OperationalError: disk I/O error", "done"]), "sqlite3.OperationalError: disk I/O error");
});

test("without an exception the last logged error counts, and ordinary lines do not", () => {
  assert.equal(lastWords(["12:00 ERROR headway.cli: no such command", "12:01 INFO bye"]), "headway.cli: no such command");
  assert.equal(lastWords(["12:01 INFO headway: started", "~~~^^^"]), undefined);
});

test("long words are cut, and those that just fit are not", () => {
  const words = (length: number): string => `ValueError: ${"x".repeat(length - "ValueError: ".length)}`;
  assert.equal(lastWords([words(200)]), words(200));
  assert.equal(lastWords([words(201)]), `${words(200)}…`);
});
