"""One call of `/chat/completions`: a limit on the whole time, a bound on the answer.

Another try is made only where no answer was begun.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
from pydantic import BaseModel, ValidationError

from aico_memory.models.llm.endpoint import Endpoint
from aico_memory.settings.language_model import LanguageModelSettings

# Nothing of the answer was begun: asking again asks for nothing twice.
_UNBEGUN = frozenset({429, 502, 503, 504})
_OK, _MULTIPLE, _REDIRECTS = 200, 300, 400
_UNAUTHORISED = frozenset({401, 403})
_CHARACTERS_A_TOKEN = 4
# A token is no less than a byte, and a character no more than four of them.
_TOKENS_A_CHARACTER = 4
# Outcomes of calls that nobody took; what any other call sent counts as spent, whatever came of it.
UNSENT = frozenset({"refused"})


@dataclass(frozen=True, slots=True)
class Completion:
    """The answer's text and what it cost. Tokens are estimated where the endpoint counts none, and at most what can be."""

    text: str
    prompt_tokens: int
    answer_tokens: int
    attempts: int


class CallFailed(Exception):
    """No answer; `outcome` names why, `passing` says whether a later call may fare better. It holds no word of the call."""

    def __init__(self, outcome: str, *, passing: bool, attempts: int = 1, wait_seconds: float = 0.0) -> None:
        super().__init__(outcome)
        self.outcome = outcome
        self.passing = passing
        self.attempts = attempts
        self.wait_seconds = wait_seconds


class _Words(BaseModel):
    content: str | None = None


class _Choice(BaseModel):
    message: _Words
    finish_reason: str | None = None


class _Answer(BaseModel):
    choices: list[_Choice]
    # Only what it costs is told here: whatever stands in it, the answer is none the worse.
    usage: Any = None


class ChatEndpoint:
    """Asks one endpoint, from any thread, each call by itself. No proxy of the environment, no redirect is followed."""

    def __init__(self, endpoint: Endpoint, settings: LanguageModelSettings, stop: threading.Event) -> None:
        self._endpoint = endpoint
        self._settings = settings
        self._stop = stop

    def complete(self, messages: Sequence[Mapping[str, str]], name: str, schema: Mapping[str, Any]) -> Completion:
        """The model's answer. Raises CallFailed."""
        body = self._body(messages, name, schema)
        pause = self._settings.retry_seconds
        for attempt in range(1, self._settings.attempts + 1):
            try:
                answer = asyncio.run(self._within(body))
            except CallFailed as error:
                error.attempts = attempt
                again = error.outcome == "refused" or error.outcome in {f"http_{code}" for code in _UNBEGUN}
                pause = max(pause, error.wait_seconds)
                if not again or attempt == self._settings.attempts or pause > self._settings.retry_limit_seconds:
                    raise
                if self._stop.wait(pause):
                    raise
                pause *= 2
            else:
                return self._read(answer, body, attempt)
        raise AssertionError("every attempt returns or raises")

    def _body(self, messages: Sequence[Mapping[str, str]], name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
        settings = self._settings
        body: dict[str, Any] = {
            "model": settings.model, "messages": [dict(one) for one in messages], "temperature": settings.temperature,
            "max_tokens": settings.answer_tokens, "stream": False,
        }  # fmt: skip
        if settings.answers == "json_schema":
            body["response_format"] = {
                "type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": dict(schema)},
            }  # fmt: skip
        elif settings.answers == "json_object":
            body["response_format"] = {"type": "json_object"}
        return body

    async def _within(self, body: Mapping[str, Any]) -> bytes:
        """The bytes of the answer; the time limit is on all of it, so an answer that drips is cut off as well."""
        try:
            async with asyncio.timeout(self._settings.timeout_seconds):
                return await self._ask(body)
        except TimeoutError:
            raise CallFailed("timeout", passing=True) from None
        except (httpx.ConnectError, httpx.ConnectTimeout):
            raise CallFailed("refused", passing=True) from None
        except httpx.TimeoutException:
            raise CallFailed("timeout", passing=True) from None
        except (httpx.HTTPError, httpx.InvalidURL):
            # The text of these may hold the address with what stands in it: only the kind is told.
            raise CallFailed("connection_lost", passing=True) from None

    async def _ask(self, body: Mapping[str, Any]) -> bytes:
        settings = self._settings
        headers = {"Accept-Encoding": "identity"}
        if self._endpoint.key:
            headers["Authorization"] = f"Bearer {self._endpoint.key}"
        limits = httpx.Timeout(settings.timeout_seconds, connect=settings.connect_seconds)
        # Certificates are read for https alone: that takes longer than a call without them.
        secure = self._endpoint.url.startswith("https:")
        async with (
            httpx.AsyncClient(timeout=limits, trust_env=False, follow_redirects=False, verify=secure) as client,
            client.stream("POST", self._endpoint.url, json=body, headers=headers) as answer,
        ):
            if answer.status_code != _OK:
                raise _refusal(answer)
            received = bytearray()
            async for part in answer.aiter_bytes():
                received += part
                if len(received) > settings.answer_bytes:
                    raise CallFailed("answer_too_long", passing=False)
        return bytes(received)

    def _read(self, data: bytes, body: Mapping[str, Any], attempts: int) -> Completion:
        try:
            answer = _Answer.model_validate_json(data)
        except ValidationError:
            raise CallFailed("no_chat_answer", passing=False, attempts=attempts) from None
        if not answer.choices:
            raise CallFailed("no_chat_answer", passing=False, attempts=attempts)
        choice = answer.choices[0]
        if choice.finish_reason == "length":
            raise CallFailed("answer_cut", passing=False, attempts=attempts)
        text = choice.message.content or ""
        usage = answer.usage if isinstance(answer.usage, dict) else {}
        asked, answered = _characters(body["messages"]), len(text)
        most = max(self._settings.answer_tokens, answered * _TOKENS_A_CHARACTER)
        return Completion(
            text, _counted(usage.get("prompt_tokens"), asked, asked * _TOKENS_A_CHARACTER),
            _counted(usage.get("completion_tokens"), answered, most), attempts,
        )  # fmt: skip


def estimated_tokens(messages: Sequence[Mapping[str, str]]) -> int:
    """About how many tokens a conversation has, where nobody counts them."""
    return _estimated(_characters(messages))


def _characters(messages: Sequence[Mapping[str, str]]) -> int:
    return sum(len(one["content"]) for one in messages)


def _estimated(characters: int) -> int:
    return characters // _CHARACTERS_A_TOKEN + 1


def _counted(told: object, characters: int, most: int) -> int:
    """What the endpoint counted, and no more than can be; estimated where it counted nothing."""
    return min(told, most) if isinstance(told, int) and not isinstance(told, bool) and told > 0 else _estimated(characters)


def _refusal(answer: httpx.Response) -> CallFailed:
    status = answer.status_code
    if status in _UNAUTHORISED:
        return CallFailed("unauthorised", passing=True)
    if _MULTIPLE <= status < _REDIRECTS:
        return CallFailed("redirected", passing=True)
    return CallFailed(f"http_{status}", passing=True, wait_seconds=_retry_after(answer.headers.get("Retry-After", "")))


def _retry_after(value: str) -> float:
    """Seconds that the endpoint asks to wait: a number, or a date (RFC 9110, 10.2.3); 0 where it asks for none.

    Of many digits it is infinite: whoever waits has a limit of their own.
    """
    try:
        return max(0.0, float(value)) if value.strip().isdigit() else max(0.0, _until(value))
    except (ValueError, TypeError, OverflowError):
        return 0.0


def _until(value: str) -> float:
    moment = parsedate_to_datetime(value)
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.timestamp() - datetime.fromtimestamp(time.time(), UTC).timestamp()
