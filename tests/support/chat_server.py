"""A local server that speaks the chat-completions protocol over real HTTP, well and badly."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class ChatServer:
    """`answer` is given the request's body and the handler that is to answer it."""

    url: str
    answer: Callable[[dict[str, Any], BaseHTTPRequestHandler], None]
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    # Ends every wait of a slow answer.
    released: threading.Event = field(default_factory=threading.Event)


@contextmanager
def chat_server(answer: Callable[[dict[str, Any], BaseHTTPRequestHandler], None]) -> Iterator[ChatServer]:
    """Serve on a free port of 127.0.0.1 until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            served.bodies.append(json.loads(self.rfile.read(length)))
            served.headers.append(dict(self.headers))
            served.paths.append(self.path)
            try:
                served.answer(served.bodies[-1], self)
            except (BrokenPipeError, ConnectionResetError):
                # Whoever asked has had enough.
                self.close_connection = True

        def log_message(self, format: str, *arguments: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served = ChatServer(f"http://127.0.0.1:{server.server_port}/v1", answer)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        served.released.set()
        server.shutdown()
        server.server_close()
        thread.join()


def say(handler: BaseHTTPRequestHandler, body: bytes, status: int = 200, **headers: str) -> None:
    """One whole answer."""
    handler.send_response(status)
    for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


def completion(text: str | None, *, finish: str = "stop", usage: tuple[int, int] | None = (40, 7)) -> bytes:
    """A completion as the protocol writes it."""
    answer: dict[str, Any] = {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "local",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}],
    }  # fmt: skip
    if usage is not None:
        answer["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    return json.dumps(answer).encode()


def facts(*claims: dict[str, Any]) -> str:
    """The words of a model that answers with these facts."""
    return json.dumps({"facts": list(claims)})


def claim(**fields: Any) -> dict[str, Any]:
    """One fact as a model gives it."""
    return {
        "subject": "user", "predicate": "home_city", "value": "Oslo", "text": "User lives in Oslo", "kind": "profile",
        "act": "assert", "corrected": None, "valid_from": None, "valid_until": None, "time_words": None, "evidence": "Oslo",
        **fields,
    }  # fmt: skip


def asked_message(body: dict[str, Any]) -> str:
    """The person's words in a request."""
    return str(json.loads(body["messages"][-1]["content"])["message"])
