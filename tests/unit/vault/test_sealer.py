"""Sealing values."""

import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.errors import WrongKey
from aico_memory.vault.sealer import NONCE_BYTES, TAG_BYTES, AeadSealer, PlainSealer

KEY = bytes(range(32))


@given(plaintext=st.binary(max_size=300), context=st.binary(max_size=40))
def test_what_is_sealed_opens_as_it_was(plaintext, context):
    sealed = AeadSealer(KEY).seal(plaintext, context)
    assert len(sealed) == NONCE_BYTES + len(plaintext) + TAG_BYTES
    assert AeadSealer(KEY).open(sealed, context) == plaintext


@given(plaintext=st.binary(max_size=60), data=st.data())
def test_a_changed_bit_anywhere_is_found(plaintext, data):
    sealed = bytearray(AeadSealer(KEY).seal(plaintext, b"context"))
    sealed[data.draw(st.integers(0, len(sealed) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(WrongKey):
        AeadSealer(KEY).open(bytes(sealed), b"context")


@given(plaintext=st.binary(max_size=60), cut=st.integers(1, 80))
def test_a_cut_value_is_found(plaintext, cut):
    sealed = AeadSealer(KEY).seal(plaintext)
    with pytest.raises(WrongKey):
        AeadSealer(KEY).open(sealed[:-cut])


def test_another_key_or_context_does_not_open():
    sealed = AeadSealer(KEY).seal(b"words", b"here")
    with pytest.raises(WrongKey):
        AeadSealer(KEY[::-1]).open(sealed, b"here")
    with pytest.raises(WrongKey):
        AeadSealer(KEY).open(sealed, b"there")


def test_nonces_never_repeat_across_threads():
    sealer = AeadSealer(KEY)
    start = threading.Barrier(4)
    nonces: list[bytes] = []

    def seal_many() -> None:
        start.wait()
        nonces.extend([sealer.seal(b"")[:NONCE_BYTES] for _ in range(3000)])

    threads = [threading.Thread(target=seal_many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(nonces)) == len(nonces) == 12_000


def test_a_forked_child_does_not_use_its_parents_nonces():
    sealer = AeadSealer(KEY)
    sealer.seal(b"")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, b"".join(sealer.seal(b"")[:NONCE_BYTES] for _ in range(20)))
        os._exit(0)
    os.waitpid(child, 0)
    drawn = os.read(reader, 20 * NONCE_BYTES)
    os.close(reader)
    os.close(writer)
    theirs = {drawn[at : at + NONCE_BYTES] for at in range(0, len(drawn), NONCE_BYTES)}
    ours = {sealer.seal(b"")[:NONCE_BYTES] for _ in range(600)}
    assert len(theirs) == 20 and not theirs & ours


def test_where_encryption_is_off_values_pass_as_they_are():
    assert PlainSealer().open(PlainSealer().seal(b"words", b"a"), b"b") == b"words"
