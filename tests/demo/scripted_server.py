"""A server of known behaviour for the demo's client: lists every word of the workspace, or misbehaves as told.

Run as `python scripted_server.py MODE`: `good`, `empty`, `errors`, `silent` (no list ever), `dies` (at the fifth list),
`garbage` (at the fifth list), `refuses` (initialize), `unfinished` (the index never is).
"""

import json
import re
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

QUEUES = ("CRITICAL", "HIGH", "NORMAL", "LOW", "BATCH")
FIFTH = 5
LISTS_PER_INDEX = 20


class Script:
    """The server's whole state."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.words: list[str] = []
        self.files = 0
        self.lists = 0
        self.texts: dict[str, str] = {}

    def send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        sys.stdout.buffer.flush()

    def state(self, *, indexing: bool) -> dict[str, Any]:
        queues = {name: {"queued": 0, "running": 0} for name in QUEUES}
        job = {"jobId": "1", "type": "index", "title": "Index it", "done": 1, "total": self.files}
        if indexing:
            queues["BATCH"] = {"queued": 3, "running": 1}
        running = [{"name": "index a.py", "priority": "BATCH", "elapsedMs": 1.5}] if indexing else []
        return {"queues": queues, "jobs": [job] if indexing else [], "running": running}

    def index(self, *, done: bool) -> None:
        self.send({"method": "headway/queueState", "params": self.state(indexing=not done)})

    def result(self, method: str, params: dict[str, Any]) -> Any:
        if method == "initialize":
            root = Path(unquote(urlsplit(params["rootUri"]).path))
            files = sorted(root.rglob("*.py"))
            self.files = len(files)
            self.words = sorted({word for path in files for word in re.findall(r"\w+", path.read_text())})
            return {
                "capabilities": {"completionProvider": {"triggerCharacters": ["."]}},
                "serverInfo": {"name": "script"},
            }
        if method == "headway/snapshot":
            complete = {"state": "complete", "files": self.files, "symbols": len(self.words)}
            return {
                **self.state(indexing=self.mode == "unfinished"),
                "index": {} if self.mode == "unfinished" else complete,
            }
        if method == "script/text":
            return self.texts[params["uri"]]
        if method == "textDocument/completion":
            self.lists += 1
            return [] if self.mode == "empty" else {"isIncomplete": False, "items": [{"label": w} for w in self.words]}
        return None

    def change(self, params: dict[str, Any]) -> None:
        """Edits within a line, in UTF-16 as the protocol has it."""
        uri = params["textDocument"]["uri"]
        for edit in params["contentChanges"]:
            lines = self.texts[uri].split("\n")
            start, end = edit["range"]["start"], edit["range"]["end"]
            assert start["line"] == end["line"]
            units = lines[start["line"]].encode("utf-16-le")
            before, after = units[: 2 * start["character"]], units[2 * end["character"] :]
            lines[start["line"]] = before.decode("utf-16-le") + edit["text"] + after.decode("utf-16-le")
            self.texts[uri] = "\n".join(lines)

    def request(self, message: dict[str, Any]) -> None:
        method = message["method"]
        if method == "initialize" and self.mode == "refuses":
            self.send({"id": message["id"], "error": {"code": -32603, "message": "not today"}})
            return
        if method == "textDocument/completion":
            if self.mode == "silent":
                return
            if self.mode == "errors":
                self.send({"id": message["id"], "error": {"code": -32603, "message": "cannot list"}})
                return
            if self.lists + 1 == FIFTH and self.mode == "dies":
                sys.stderr.write("this is the end\n")
                sys.stderr.flush()
                raise SystemExit(7)
            if self.lists + 1 == FIFTH and self.mode == "garbage":
                sys.stdout.buffer.write(b"Hello, I am a banner!\r\n\r\n")
                sys.stdout.buffer.flush()
        self.send({"id": message["id"], "result": self.result(method, message.get("params") or {})})
        if method == "workspace/executeCommand":
            self.index(done=False)
        elif method == "textDocument/completion" and self.lists % LISTS_PER_INDEX == 0:
            self.index(done=self.mode != "unfinished")

    def run(self) -> int:
        while True:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                byte = sys.stdin.buffer.read(1)
                if not byte:
                    return 1
                head += byte
            size = re.search(rb"content-length: *(\d+)", head.lower())
            assert size
            message = json.loads(sys.stdin.buffer.read(int(size.group(1))))
            if message.get("method") == "exit":
                return 0
            if message.get("method") == "initialized":
                self.index(done=False)
            elif message.get("method") == "textDocument/didOpen":
                document = message["params"]["textDocument"]
                self.texts[document["uri"]] = document["text"]
            elif message.get("method") == "textDocument/didChange":
                self.change(message["params"])
            elif "method" in message and "id" in message:
                self.request(message)


if __name__ == "__main__":
    sys.exit(Script(sys.argv[1]).run())
