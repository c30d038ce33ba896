"""The benchmark through a real deployment: messages published by the client, questions asked as searches."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

import yaml

from aico_memory.bench.patience import PATIENT, PatientAsking
from aico_memory.bench.retrieval.data import Collection, Question, Said
from aico_memory.bench.retrieval.scoring import DEPTH
from aico_memory.client import MemoryClient
from aico_memory.domain.retrieval.ranking import Profile
from aico_memory.models.ranking_tables import FOLDER
from aico_memory.paths import Home
from aico_memory.runtime.environment import environment

Progress = Callable[[str], None]
_BATCH = 200
_FLUSH_SECONDS = 3600.0


class Deployment:
    """A deployment that holds the collections it was given."""

    def __init__(self, client: MemoryClient) -> None:
        self._client = client
        # Event id -> id of the message in its set.
        self._said: dict[str, str] = {}
        self.asking = PatientAsking()

    def remember(self, collection: Collection, progress: Progress) -> None:
        """Publish every message and wait until it can be found."""
        for session, said in _runs(collection.messages):
            events = self._client.add(list(map(_message, said)), user_id=collection.name, session_id=session)
            self._said.update((event, message.id) for event, message in zip(events, said, strict=True))
        progress(f"{collection.name}: waiting until everything is indexed")
        self._client.flush(_FLUSH_SECONDS)

    def said(self, events: Iterable[str]) -> list[str]:
        """The ids in their set of the messages that these events were."""
        return [self._said[event] for event in events if event in self._said]

    def ranked(self, collection: Collection, questions: Sequence[Question], profile: str) -> Iterator[list[str]]:
        """For each question the ids of the messages found, best first, each once."""

        def ask(question: Question) -> list[str]:
            found = self.asking.whole(lambda: self._client.search(question.text, collection.name, top_k=DEPTH, profile=profile))
            ids = (self._said[event] for hit in found["results"] for event in hit["evidence"][:1] if event in self._said)
            return list(dict.fromkeys(ids))

        yield from map(ask, questions)


@contextmanager
def deployed(profiles: Mapping[str, Profile]) -> Iterator[Deployment]:
    """A fresh deployment that knows these ranking profiles beside the shipped ones; it ends with the block.

    A busy machine may miss a deadline; what is measured here is what is found, not how soon.
    """
    with environment(PATIENT), tempfile.TemporaryDirectory(prefix="bench-retrieval-") as folder:
        home = Home(Path(folder) / "home")
        ranking = home.config / FOLDER
        ranking.mkdir(parents=True)
        for name, profile in profiles.items():
            content = {"scale": profile.scale, "offset": profile.offset, "weights": dict(profile.weights)}
            (ranking / f"{name}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
        command = (sys.executable, "-m", "aico_memory.cli", "--home", str(home.root))
        try:
            subprocess.run([*command, "up", "--detach", "--timeout", "300"], check=True, stdout=subprocess.DEVNULL)
            with MemoryClient.connect(home=home.root) as client:
                yield Deployment(client)
        finally:
            subprocess.run([*command, "down"], check=False, stdout=subprocess.DEVNULL)


def _runs(messages: Sequence[Said]) -> Iterator[tuple[str, list[Said]]]:
    """Messages that follow each other in one session, `_BATCH` at most."""
    for session, run in groupby(messages, key=lambda message: message.session):
        said = list(run)
        for start in range(0, len(said), _BATCH):
            yield session, said[start : start + _BATCH]


def _message(said: Said) -> dict[str, object]:
    named = {"name": said.name} if said.name else {}
    return {"role": "user", "content": said.text, "timestamp": said.at, **named}
