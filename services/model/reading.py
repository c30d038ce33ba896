"""Which words answer a question: the span reader as the model service serves it."""

from __future__ import annotations

import numpy as np

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import model_pb2
from aico_memory.domain.recall.reading.passage import MARKS, Passage
from aico_memory.domain.recall.reading.picking import Run
from aico_memory.errors import InvalidMessage
from aico_memory.models.span_reader import SpanReader

# Words of one request: the network cuts what finds no room, and nobody waits for more.
MAX_WORDS = 2_000


def read_words(event: Event, reader: SpanReader) -> model_pb2.ReadWords:
    """The runs of words that answer. Raises InvalidMessage and ModelUnavailable."""
    request: model_pb2.ReadRequest = event.message
    reading = reader(passage_in(request))
    recipe = reader.recipe
    return model_pb2.ReadWords(
        runs=[_told(run) for run in reading.runs], others=[_told(run) for run in reading.others], answers=reading.answers,
        several=reading.several, reader=recipe.name, languages=recipe.languages,
    )  # fmt: skip


def _told(run: Run) -> model_pb2.WordRun:
    return model_pb2.WordRun(first=run.first, last=run.last, chance=run.chance, cut=run.cut)


def passage_in(request: model_pb2.ReadRequest) -> Passage:
    """The passage of a request, whose messages stay with whoever asked. Raises InvalidMessage."""
    count, width = len(request.words), len(MARKS)
    if not 0 < count <= MAX_WORDS:
        raise InvalidMessage(f"ReadRequest.words has {count} words; allowed are 1 to {MAX_WORDS}")
    if len(request.message) != count or len(request.marks) != count * width:
        raise InvalidMessage(
            f"ReadRequest has {count} words, {len(request.message)} messages and {len(request.marks)} marks",
            f"Give a message and {width} marks for each word.",
        )
    message = np.array(request.message, dtype=np.int64) - 1
    marks = np.frombuffer(request.marks, dtype=np.int8).reshape(count, width)
    if (np.diff(message) < 0).any():
        raise InvalidMessage(
            "ReadRequest.message does not rise", "Give the question's words first, then the messages in order."
        )
    if (marks < 0).any() or (marks >= np.array(MARKS)).any():
        raise InvalidMessage("ReadRequest.marks holds a value that no mark has", f"There are {MARKS} values of each.")
    return Passage(tuple(request.words), message, marks, ())
