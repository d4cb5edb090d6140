"""A small OpenAI-compatible chat server on loopback that answers from the memories in its prompt.

Tests use `loopback_model()`; `python -m tests.loopback_model --port 8090` runs it alone. It knows the answerer's and
the judge's prompts by their data, answers by the most similar memory, and judges by shared words. Modes (`server.mode`
or `--mode`): ok, http_500, http_401 (which echoes the request's credential), hang, malformed (no JSON), not_completion
(other JSON), absurd_tokens and absurd_name (a completion with such facts), empty (no text), prose (text where JSON was
asked for), gullible (obeys text outside the fence).
"""

import argparse
import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL_NAME = "loopback-1"
MODES = (
    *("ok", "http_500", "http_401", "hang", "malformed", "not_completion", "absurd_tokens", "absurd_name"),
    *("empty", "prose", "gullible"),
)
_FENCED = re.compile(r"BEGIN DATA (\w+)\n(.*?)\nEND DATA \1", re.DOTALL)
_WORD = re.compile(r"[一-鿿]|\w+")
_ORDER = re.compile(r"(?:reply|answer) (?:only )?with (?:the word )?(\w+)", re.IGNORECASE)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256  # many calls begin at once


class LoopbackModel:
    """The server; `requests` holds what was asked, `calls` counts it, `mode` may be changed at any time."""

    def __init__(self, port: int = 0, mode: str = "ok", *, hang_s: float = 30.0) -> None:
        self.mode = mode
        self.hang_s = hang_s
        self.requests: list[dict[str, Any]] = []
        self.released = threading.Event()
        self._http = _Server(("127.0.0.1", port), _handler(self))
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def calls(self) -> int:
        return len(self.requests)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self.released.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(5)


@contextmanager
def loopback_model(port: int = 0, mode: str = "ok", *, hang_s: float = 30.0) -> Iterator[LoopbackModel]:
    """Run the server for the length of a `with` block."""
    server = LoopbackModel(port, mode, hang_s=hang_s)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _handler(server: LoopbackModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.requests.append(body)
            if not self.path.endswith("/chat/completions"):
                return self._send(404, {"error": {"message": "no such path"}})
            if server.mode == "hang":
                server.released.wait(server.hang_s)
            status, reply = _reply(server.mode, body, self.headers.get("Authorization", ""))
            return self._send(status, reply)

        def _send(self, status: int, reply: object) -> None:
            data = reply if isinstance(reply, bytes) else json.dumps(reply, ensure_ascii=False).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            try:
                self.wfile.write(data)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def log_message(self, *args: object) -> None:
            """Keep the tests' output quiet."""

    return Handler


def _reply(mode: str, body: dict[str, Any], credential: str) -> tuple[int, object]:
    if mode == "http_500":
        return 500, {"error": {"message": "the model fell over"}}
    if mode == "http_401":
        return 401, {"error": {"message": f"bad credential {credential}"}}
    if mode == "malformed":
        return 200, b'{"choices": [{"message": {"content": "half'
    if mode == "not_completion":
        return 200, {"choices": "none"}
    completion = _completion(body, _text(mode, body["messages"]))
    if mode == "absurd_tokens":
        completion["usage"]["prompt_tokens"] = 10**30
    if mode == "absurd_name":
        completion["model"] = "loopback\x00"
    return 200, completion


def _text(mode: str, messages: list[dict[str, str]]) -> str:
    if mode == "empty":
        return ""
    if mode == "prose":
        return "Well, I would say that it depends."
    prompt = messages[-1]["content"]
    if mode == "gullible":
        order = _ORDER.search(_FENCED.sub("", "\n".join(m["content"] for m in messages if m["role"] == "user")))
        if order:
            return json.dumps({"answer": order[1], "verdict": "correct", "reason": "told so"})
    fence = _FENCED.search("\n".join(message["content"] for message in messages if message["role"] == "user"))
    if fence is None:
        return json.dumps({"answer": "No information available"})
    data = json.loads(fence[2])
    if isinstance(data, dict):
        return json.dumps(_verdict(data), ensure_ascii=False)
    asked = json.loads(prompt[prompt.rindex("\n\n") :])
    return json.dumps({"answer": _answer(asked, data)}, ensure_ascii=False)


def _verdict(data: dict[str, str]) -> dict[str, str]:
    wanted, got = _words(data["reference"]), _words(data["answer"])
    right = wanted <= got if wanted else "information" in got or "mentioned" in got
    return {"verdict": "correct" if right else "incorrect", "reason": "by the words that both share"}


def _answer(asked: dict[str, Any], memories: list[dict[str, str]]) -> str:
    wanted = _words(asked["question"])
    best = max(memories, key=lambda memory: len(wanted & _words(memory["content"])), default=None)
    if best is None:
        return "No information available"
    said = best["content"].partition(": ")[2] or best["content"]
    options: dict[str, str] = asked.get("options", {})
    if options:
        return max(options, key=lambda letter: len(_words(options[letter]) & _words(said)))
    return said[:200]


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}


def _completion(body: dict[str, Any], text: str) -> dict[str, Any]:
    prompt = "".join(message["content"] for message in body["messages"])
    return {
        "id": "chatcmpl-loopback",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL_NAME,
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {
            "prompt_tokens": len(_WORD.findall(prompt)),
            "completion_tokens": len(_WORD.findall(text)),
            "total_tokens": len(_WORD.findall(prompt + text)),
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8090)
    parser.add_argument("--mode", choices=MODES, default="ok")
    chosen = parser.parse_args()
    with loopback_model(chosen.port, chosen.mode) as server:
        print(f"{MODEL_NAME} in mode {server.mode} at {server.base_url}, Ctrl-C stops it", flush=True)
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
