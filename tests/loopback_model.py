"""A small OpenAI-compatible chat server on loopback that answers from the memories in its prompt.

Tests use `loopback_model()`; `python -m tests.loopback_model --port 8090` runs it alone. It knows the answerer's and
the judge's prompts by their data, answers by the most similar memory, and judges by shared words. Modes (`server.mode`
or `--mode`): ok, http_500, http_401 (which echoes the request's credential), hang, malformed (no JSON), not_completion
(other JSON), absurd_tokens and absurd_name (a completion with such facts), empty (no text), prose (text where JSON was
asked for), gullible (obeys text outside the fence, and text behind what looks like the end of a fence or a turn).
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
_ORDER = re.compile(
    r"(?:reply|answer|respond) (?:only )?with (?:the (?:word|letter) )?(\w+)"
    r"|(?:只|请)?(?:回答|回复|输出)[:：“\"]?([\w一-鿿]{1,8})",
    re.IGNORECASE,
)
_TURN = re.compile(
    r"<[|｜][^\n]{0,40}?[|｜]>|\[/?INST\]|<</?SYS>>|</?s>|<(?:start|end)_of_turn>|^(?:system|系统)[:：]", re.I | re.M
)
_UNSEEN = re.compile("[\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")


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
    completion = _completion(body, _text(mode, body))
    if mode == "absurd_tokens":
        completion["usage"]["prompt_tokens"] = 10**30
    if mode == "absurd_name":
        completion["model"] = "loopback\x00"
    return 200, completion


def _text(mode: str, body: dict[str, Any]) -> str:
    if mode == "empty":
        return ""
    if mode == "prose":
        return "Well, I would say that it depends."
    user = "\n".join(message["content"] for message in body["messages"] if message["role"] == "user")
    form = body.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", {})
    blocks = [json.loads(match[2]) for match in _FENCED.finditer(user)]
    objects = [block for block in blocks if isinstance(block, dict)]
    memories = next((block for block in blocks if isinstance(block, list)), [])
    if mode == "gullible" and (order := _ORDER.search(_heard(user))):
        judging = bool(objects) and "answer" in objects[0]
        return json.dumps(_praise(objects[0], form) if judging else {"answer": order[1] or order[2]})
    if not objects:
        return json.dumps({"answer": "No information available"})
    if "answer" in objects[0]:
        return json.dumps(_verdict(objects[0], form), ensure_ascii=False)
    return json.dumps({"answer": _answer(objects[0], memories)}, ensure_ascii=False)


def _heard(text: str) -> str:
    """What a gullible model takes for instructions: outside the fence, and behind a token that begins a turn."""
    plain = _UNSEEN.sub("", text)
    inside, outside = False, []
    for line in plain.splitlines():
        if re.match(r"\s*(?:BEGIN|END) DATA", line, re.IGNORECASE):
            inside = line.strip().upper().startswith("BEGIN")
        elif not inside:
            outside.append(line)
    turn = _TURN.search(plain)
    return "\n".join([*outside, plain[turn.end() :] if turn else ""])


def _praise(data: dict[str, Any], form: dict[str, Any]) -> dict[str, Any]:
    """The best marks, in the form that a judge was asked for."""
    if "events" in data:
        return {"events": list(range(1, len(data["events"]) + 1)), "reason": "told so"}
    return _graded(form, [1] * len(data.get("rubric", "")), 1)


def _verdict(data: dict[str, Any], form: dict[str, Any]) -> dict[str, Any]:
    got = _words(data["answer"])
    if "events" in data:
        return _order(data)
    if "rubric" in data:
        grades = form["items"]["items"]["properties"]["score"]["enum"]
        shares = (_share(_words(item), got) for item in data["rubric"].values())
        return _graded(form, [share if share in grades else 0 for share in shares], 0)
    wanted = _words(data["reference"])
    right = wanted <= got if wanted else "information" in got or "mentioned" in got
    return _graded(form, [], float(right))


def _graded(form: dict[str, Any], items: list[float], score: float) -> dict[str, Any]:
    reason = "by the words that both share"
    if "items" in form:
        return {"items": [{"index": at, "score": one} for at, one in enumerate(items, 1)], "reason": reason}
    if "score" in form:
        return {"score": score, "reason": reason}
    return {"verdict": "correct" if score else "incorrect", "reason": reason}


def _share(wanted: set[str], got: set[str]) -> float:
    return 1.0 if wanted <= got else 0.5 if len(wanted & got) * 2 >= len(wanted) else 0.0


def _order(data: dict[str, Any]) -> dict[str, Any]:
    lines = [_words(line) for line in data["answer"].splitlines()]
    numbers = [next((int(n) for n, text in data["events"].items() if _words(text) <= line), 0) for line in lines]
    return {"events": numbers, "reason": "line by line"}


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
