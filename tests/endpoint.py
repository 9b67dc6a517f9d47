"""An embeddings endpoint as a real HTTP server: a peer that knows a few synonyms and can be told to misbehave."""

from __future__ import annotations

import json
import random
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# Words that mean the same have the same place.
MEANINGS = {
    "automobile": "car",
    "vehicle": "car",
    "fetch": "get",
    "obtain": "get",
    "remove": "delete",
    "erase": "delete",
}

# What to answer instead of vectors: (status, headers, body).
Fault = tuple[int, Mapping[str, str], bytes]


class Peer:
    """What the endpoint was asked, and how it is to answer.

    Args of `fault`: it is given the texts of each request and may return what to answer instead.
    """

    def __init__(self) -> None:
        self.dimensions = 96
        self.texts: list[str] = []  # of all requests that were answered
        self.requests = 0
        self.keys: set[str | None] = set()
        self.most_at_once = 0
        self.takes_s = 0.0  # for a request
        self.most_taken: int | None = None  # at once; those above it are too many
        self.refused = 0
        self.fault: Callable[[list[str]], Fault | None] = lambda texts: None
        self.open = threading.Event()  # requests wait for it
        self.open.set()
        self.url = ""
        self._ended = threading.Event()
        self._at_once = 0
        self._lock = threading.Lock()

    def vector(self, text: str) -> list[float]:
        """Add up a random direction for each word: texts are as near as the words that they share are many."""
        vector = [0.001] * self.dimensions
        for word in re.findall(r"[a-z]+", text.lower()):
            draw = random.Random(MEANINGS.get(word, word))
            vector = [value + draw.gauss(0, 1) for value in vector]
        return vector

    def answer(self, asked: Mapping[str, Any], key: str | None) -> Fault:
        texts = list(asked["input"])
        with self._lock:
            self.requests += 1
            self.keys.add(key)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            is_too_many = self.most_taken is not None and self._at_once > self.most_taken
            self.refused += is_too_many
        try:
            if is_too_many:
                return 503, {}, b"busy"
            self._ended.wait(self.takes_s)
            self.open.wait(60)
            fault = self.fault(texts)
            if fault is not None:
                return fault
            with self._lock:
                self.texts += texts
        finally:
            with self._lock:
                self._at_once -= 1
        data = [{"index": number, "embedding": self.vector(text)} for number, text in enumerate(texts)]
        return 200, {"Content-Type": "application/json"}, json.dumps({"data": data[::-1]}).encode()


@contextmanager
def endpoint() -> Iterator[Peer]:
    peer = Peer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path != "/v1/embeddings":
                said: Fault = (404, {}, b"{}")
            else:
                said = peer.answer(json.loads(body), self.headers["Authorization"])
            status, headers, answer = said
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """A client that has gone away is no fault of a test."""

    server = Server(("127.0.0.1", 0), Handler)
    peer.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield peer
    finally:
        peer.open.set()
        server.shutdown()
        server.server_close()
        thread.join()
