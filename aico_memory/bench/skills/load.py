"""Users with skills of their own and a history of thumbs, published in bulk."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from aico_memory.client import AsyncMemoryClient
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.domain.behavioral.dimensions import DIMENSIONS

Progress = Callable[[str], None]
INTENTS = ("question", "request", "learning", "casual", "technical", "code_review", "emotional", "planning", "creative",
           "decision", "summary", "statement")  # fmt: skip
SENTIMENTS = ("positive", "neutral", "negative")
TIMES = ("morning", "afternoon", "evening", "night")
# Users whose records are under way at the same time, and after how many the worker is waited for.
_TOGETHER, _WAVE = 4, 100
_FLUSH_SECONDS = 900.0
_TOPICS = {
    kind: topic_of(kind).name
    for kind in (
        behavioral_pb2.ConsentChanged,
        behavioral_pb2.PutSkill,
        behavioral_pb2.SkillSelectionRequest,
        behavioral_pb2.FeedbackEvent,
    )
}


def situation(rng: random.Random) -> dict[str, str]:
    """A situation that a caller knows: then nobody has to be asked for it."""
    return {"intent": rng.choice(INTENTS), "sentiment": rng.choice(SENTIMENTS), "time_of_day": rng.choice(TIMES)}


def history(user: str, own: int, thumbs: int, rng: random.Random) -> Iterator[tuple[type[Any], dict[str, Any]]]:
    """What one user has published so far: consent, skills of their own, and selections with a thumb on each."""
    yield behavioral_pb2.ConsentChanged, {"user_id": user, "behavioral": True}
    for number in range(own):
        style = [round(rng.random(), 3) for _ in DIMENSIONS]
        words = {"skill_id": f"{user}_{number}", "name": f"Way {number}", "template": f"Answer in the way {number} of {user}."}
        yield behavioral_pb2.PutSkill, {"user_id": user, **words, "intents": rng.sample(INTENTS, 2), "dimensions": style}
    for number in range(thumbs):
        request = {"user_id": user, "request_id": f"{user}-before-{number}"}
        yield behavioral_pb2.SkillSelectionRequest, {**request, "message_text": "Tell me about it", **situation(rng)}
        judged = {**request, "message_id": f"m{number}", "reward": rng.choice((1, 1, -1))}
        yield behavioral_pb2.FeedbackEvent, judged


async def load(
    client: AsyncMemoryClient, users: Sequence[str], own: int, thumbs: int, rng: random.Random, say: Progress
) -> None:  # fmt: skip
    """Publish everybody's history and wait until it is applied."""
    room = asyncio.Semaphore(_TOGETHER)

    async def one(user: str, seed: int) -> None:
        async with room:
            # In the order of the list: the records of one user go out one after the other, their answers are not waited for.
            steps = history(user, own, thumbs, random.Random(seed))
            await asyncio.gather(*(client.publish(_TOPICS[kind], fields, user_id=user) for kind, fields in steps))

    for at in range(0, len(users), _WAVE):
        await asyncio.gather(*(one(user, rng.getrandbits(32)) for user in users[at : at + _WAVE]))
        say(f"{at + len(users[at : at + _WAVE])} of {len(users)} users published")
        await client.flush(_FLUSH_SECONDS)
