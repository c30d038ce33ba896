"""What a conversation has in mind: what its answers used, and what was seen in it again."""

from aico_memory.contracts.v1 import working_pb2
from tests.unit.working.worker import NOON, SECOND, Worker, swept, touch


def in_mind(worker: Worker, session="s") -> dict[str, tuple[int, bool]]:
    page = worker.ask(working_pb2.ReadBuffer(user_id="ada", session_id=session))
    return {item.id: (item.access_count, item.promotion_candidate) for item in page.items}


def test_what_an_answer_used_comes_to_mind_and_seen_again_becomes_a_candidate(worker):
    touch(worker, ("tea", 0.3), ("rome", 0.7))
    assert in_mind(worker) == {"tea": (1, False), "rome": (1, True)}
    touch(worker, ("tea", 0.3), at=NOON + SECOND)
    assert in_mind(worker) == {"tea": (2, True), "rome": (1, True)}
    assert in_mind(worker, session="t") == {}


def test_a_session_holds_nine_items_until_it_ends(worker):
    touch(worker, *((f"m{number}", number / 20) for number in range(12)))
    assert set(in_mind(worker)) == {f"m{number}" for number in range(3, 12)}
    worker.apply(worker.event(working_pb2.SessionEnded(user_id="ada", session_id="s")))
    assert in_mind(worker) == {}


def test_touches_without_a_session_or_an_id_leave_nothing(worker):
    touch(worker, ("tea", 0.5), session="")
    touch(worker, ("", 0.5))
    assert worker.handlers.status()["buffers"] == 0


def test_long_contents_are_cut_before_they_are_kept_in_mind():
    worker = Worker(buffer_characters=5)
    touch(worker, ("tea", 0.5))
    page = worker.ask(working_pb2.ReadBuffer(user_id="ada", session_id="s"))
    assert page.items[0].content == "about"


def test_a_buffer_that_nobody_touches_for_a_day_is_cleared(worker):
    touch(worker, ("tea", 0.5))
    swept(worker, 23)
    assert in_mind(worker)
    swept(worker, 24)
    assert not in_mind(worker)


def test_who_reads_the_turns_is_told_what_is_in_mind_where_that_is_asked(worker):
    touch(worker, ("tea", 0.3), ("rome", 0.7))
    asked = working_pb2.ReadMessages(user_id="ada", session_id="s", limit=3)
    assert list(worker.ask(asked).in_mind) == []
    asked.in_mind = True
    assert set(worker.ask(asked).in_mind) == {"tea", "rome"}
    asked.session_id = ""
    assert list(worker.ask(asked).in_mind) == []


def test_what_came_to_mind_at_several_moments_is_followed_moment_by_moment(worker) -> None:
    moments = [[(f"m{(5 * place + number) % 14}", number / 20) for number in range(8)] for place in range(6)]
    for place, moment in enumerate(moments):
        touch(worker, *moment, session="apart", at=NOON + place)
    together = [
        working_pb2.BufferItem(id=one, content=f"about {one}", importance=importance, last_access_us=NOON + place)
        for place, moment in enumerate(moments)
        for one, importance in moment
    ]
    worker.ask(working_pb2.BufferTouched(user_id="ada", session_id="together", items=together, at_us=NOON + 5))
    apart, after = (in_mind(worker, session) for session in ("apart", "together"))
    assert len(after) == 9
    assert after == apart
