"""The operator's own chat model, behind an OpenAI-compatible endpoint.

It has a client of its own: no proxy from the environment, no redirect, no retry behind the caller's back. The guard
for participants' addresses isn't in its way, and configuring a model can't weaken that guard. Importing `openai` takes
seconds on a small machine, so only who has a model configured imports this module.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from time import perf_counter
from typing import Annotated, Any, Final

import msgspec
import openai

from benchmarks.judging.chat import ChatMessage, ChatReply, ChatSettings
from benchmarks.judging.faults import ModelFault
from contract.words import gettext_noop

__all__ = ["OpenAIChat"]

_TRANSIENT_STATUS: Final = frozenset({408, 409, 425, 429})
_MAX_GOT: Final = 200

_Tokens = Annotated[int, msgspec.Meta(ge=0, le=100_000_000)]
"""What one call can have used; other numbers are no count and fit into no column."""


class _Message(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _Message


class _Usage(msgspec.Struct):
    prompt_tokens: _Tokens = 0
    completion_tokens: _Tokens = 0


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    model: Annotated[str, msgspec.Meta(pattern=r"^[^\x00-\x1f]*$")] = ""
    usage: _Usage | None = None


class OpenAIChat:
    """A ChatModel over the `openai` package; it belongs to one event loop and is closed with `aclose()`.

    `structured` asks for replies by JSON schema, for endpoints that know `response_format`. The key is never part of
    an error. Raises ModelFault for a refused connection, a time-out, a status other than 200, a body that is no chat
    completion, and an empty reply.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str,
        *,
        timeout_s: float = 120.0,
        settings: ChatSettings | None = None,
        structured: bool = True,
    ) -> None:
        self.model = model
        self.settings = settings or ChatSettings(timeout_s=timeout_s)
        self._structured = structured
        self._api_key = api_key
        self._client = openai.AsyncOpenAI(
            base_url=base_url,
            api_key=api_key or "none",
            timeout=self.settings.timeout_s,
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(trust_env=False, follow_redirects=False),
        )

    def __repr__(self) -> str:
        return f"OpenAIChat(model={self.model!r})"

    async def __aenter__(self) -> "OpenAIChat":
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        schema: Mapping[str, Any] | None = None,
        settings: ChatSettings | None = None,
    ) -> ChatReply:
        """Return the model's reply; see ChatModel."""
        chosen = settings or self.settings
        prompt = [{"role": message.role, "content": message.content} for message in messages]
        began = perf_counter()
        completion = _read(await self._call(prompt, schema, chosen))
        latency_ms = (perf_counter() - began) * 1000
        usage = completion.usage or _Usage()
        return ChatReply(
            text=_text(completion),
            model=completion.model or self.model,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            latency_ms=latency_ms,
            prompt_sha256=sha256(json.dumps(prompt, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest(),
        )

    async def _call(
        self, prompt: list[dict[str, str]], schema: Mapping[str, Any] | None, chosen: ChatSettings
    ) -> bytes:
        request: dict[str, Any] = {
            "model": self.model,
            "messages": prompt,
            "temperature": chosen.temperature,
            "seed": chosen.seed,
            "max_tokens": chosen.max_tokens,
        }
        if schema is not None and self._structured:
            request["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "reply", "strict": True, "schema": dict(schema)},
            }
        try:
            async with asyncio.timeout(chosen.timeout_s):
                response = await self._client.chat.completions.with_raw_response.create(**request)
                return bytes(response.content)
        except (TimeoutError, openai.APITimeoutError) as error:
            message = gettext_noop("The model did not answer within %(seconds)g s.")
            raise ModelFault("model_timeout", message, seconds=chosen.timeout_s) from error
        except openai.APIStatusError as error:
            raise self._status_fault(error) from error
        except openai.APIConnectionError as error:
            raise ModelFault("model_unreachable", gettext_noop("The model's address could not be reached.")) from error
        except (openai.OpenAIError, ValueError) as error:
            raise _malformed(type(error).__name__) from error

    def _status_fault(self, error: openai.APIStatusError) -> ModelFault:
        got = error.response.text[:_MAX_GOT]
        if self._api_key:
            got = got.replace(self._api_key, "[removed]")
        status = error.status_code
        message = gettext_noop("The model answered with HTTP status %(status)d instead of 200: %(got)s")
        return ModelFault(
            "model_status", message, transient=status >= 500 or status in _TRANSIENT_STATUS, status=status, got=got
        )


def _read(body: bytes) -> _Completion:
    try:
        return msgspec.json.decode(body, type=_Completion)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _malformed(str(error)[:_MAX_GOT]) from error


def _text(completion: _Completion) -> str:
    text = completion.choices[0].message.content if completion.choices else None
    if not text or not text.strip():
        raise ModelFault("model_empty", gettext_noop("The model's reply was empty."))
    return text


def _malformed(got: str) -> ModelFault:
    return ModelFault(
        "model_malformed", gettext_noop("Expected a chat completion as JSON, got something else: %(got)s"), got=got
    )
