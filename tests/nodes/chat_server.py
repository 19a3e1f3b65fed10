"""A real HTTP server on the loopback address that speaks the chat-completions protocol from a script.

    with ChatServer([text("Hello"), error(429, retry_after=2), events({"choices": []})]) as server:
        litellm.completion("openai/any", api_base=server.url, api_key="none", ...)
        server.requests[0].body["messages"]

Each request takes the next answer of the script; an answer may also be a function of the request. A completion is
sent as JSON or, when the request says `stream`, in chunks. A request without an answer gets status 418, which no
client retries.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self, TypeAlias

USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


@dataclass(frozen=True)
class Seen:
    """A request as it came in."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """What to send back.

    body: a completion, or any JSON. events: the data of server-sent events as they are, instead of a body.
    delay: seconds before the first byte. pause: seconds before each further event. cut: close the connection
    before the end.
    """

    body: Mapping[str, Any] = field(default_factory=dict)
    events: tuple[Any, ...] | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    pause: float = 0.0
    cut: bool = False


Script: TypeAlias = Iterable[Answer | Callable[[Seen], Answer]]


def text(
    content: str, *, usage: Mapping[str, Any] | None = USAGE, finish_reason: str = "stop", **message: Any
) -> Answer:
    """A completion with text; more fields of the message may be given."""
    body: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "served-model",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content, **message},
                "finish_reason": finish_reason,
            }
        ],
    }
    return Answer(body | ({"usage": dict(usage)} if usage is not None else {}))


def calls(*made: tuple[str, str, str], content: str | None = None, usage: Mapping[str, Any] | None = USAGE) -> Answer:
    """A completion with tool calls: tuples of id, name and arguments text."""
    wire = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in made]
    return text(content, usage=usage, finish_reason="tool_calls", tool_calls=wire)  # type: ignore[arg-type]


def chunk(delta: Mapping[str, Any] | None, finish_reason: str | None = None, **more: Any) -> dict[str, Any]:
    """One event of a stream; without a delta, one with no choices."""
    choices = [] if delta is None else [{"index": 0, "delta": dict(delta), "finish_reason": finish_reason}]
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "served-model",
        "choices": choices,
        **more,
    }


def events(*data: Any, done: bool = True, **options: Any) -> Answer:
    """A stream of these events as they are (dicts become JSON), and `[DONE]`."""
    return Answer(events=(*data, "[DONE]") if done else data, **options)


def error(
    status: int, message: str = "it went wrong", *, code: str | None = None, retry_after: float | None = None
) -> Answer:
    """An error as providers send it."""
    headers = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
    return Answer({"error": {"message": message, "type": "error", "code": code}}, status=status, headers=headers)


class ChatServer:
    """The server; a context manager. `url` is what clients take as their base, `requests` what came in."""

    def __init__(self, script: Script = ()) -> None:
        self.requests: list[Seen] = []
        self._script: Iterator[Answer | Callable[[Seen], Answer]] = iter(script)
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.owner = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def script(self, *answers: Answer | Callable[[Seen], Answer]) -> None:
        """Replace what is left of the script."""
        with self._lock:
            self._script = iter(answers)

    def answer(self, seen: Seen) -> Answer:
        with self._lock:
            self.requests.append(seen)
            found = next(self._script, None)
        if found is None:
            return error(418, f"the script has no answer for request {len(self.requests)}")
        return found(seen) if callable(found) else found

    def wait(self, seconds: float) -> None:
        """Sleep, but not past the end of the server."""
        self._closing.wait(seconds)

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    owner: ChatServer
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are part of the game."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.close_connection = True
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        seen = Seen(self.path, {key.lower(): value for key, value in self.headers.items()}, body)
        answer = self.server.owner.answer(seen)
        self.server.owner.wait(answer.delay)
        if answer.events is None and body.get("stream") and "choices" in answer.body and not answer.cut:
            answer = replace(answer, events=tuple(_streamed(answer.body, body)))
        if answer.events is None:
            self._send_json(answer)
        else:
            self._send_events(answer, answer.events)

    def _send_json(self, answer: Answer) -> None:
        data = json.dumps(answer.body).encode()
        self._send_head(answer, {"content-type": "application/json", "content-length": str(len(data))})
        self.wfile.write(data[: len(data) // 2] if answer.cut else data)

    def _send_events(self, answer: Answer, data: tuple[Any, ...]) -> None:
        self._send_head(answer, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
        for number, item in enumerate(data):
            if number:
                self.server.owner.wait(answer.pause)
            line = f"data: {item if isinstance(item, str) else json.dumps(item)}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
        if not answer.cut:
            self.wfile.write(b"0\r\n\r\n")

    def _send_head(self, answer: Answer, headers: Mapping[str, str]) -> None:
        self.send_response(answer.status)
        for key, value in {**headers, **answer.headers, "connection": "close"}.items():
            self.send_header(key, value)
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


def _streamed(body: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[Any]:
    """A completion as a stream: its thinking and its text by words, each call in two pieces, the usage last."""
    (choice,) = body["choices"]
    message = choice["message"]
    yield chunk({"role": "assistant", "content": ""})
    for word in re.findall(r"\S*\s*", message.get("reasoning_content") or ""):
        yield chunk({"reasoning_content": word})
    for word in re.findall(r"\S*\s*", message["content"] or ""):
        yield chunk({"content": word})
    for index, call in enumerate(message.get("tool_calls") or ()):
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        half = len(arguments) // 2
        head = {"index": index, "id": call["id"], "type": "function"}
        yield chunk({"tool_calls": [{**head, "function": {"name": name, "arguments": arguments[:half]}}]})
        yield chunk({"tool_calls": [{"index": index, "function": {"arguments": arguments[half:]}}]})
    yield chunk({}, choice["finish_reason"])
    if "usage" in body and (request.get("stream_options") or {}).get("include_usage"):
        yield chunk(None, usage=body["usage"])
    yield "[DONE]"
