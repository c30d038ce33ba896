"""Counting tokens with the embedding model's tokenizer, without the model."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from aico_memory.models.weights import TOKENIZER_FILE, choose_weights

ESTIMATE = "estimate"
_WORDS = re.compile(r"[^\W\d_]+|\d|\S")
# A word of this many letters or fewer is taken for one token; longer ones for one more per so many letters.
LETTERS_PER_TOKEN = 4
_DENSE = 0x2E80


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """Counts tokens; `name` says by what."""

    name: str
    count: Callable[[str], int]


def token_counter(configured_model: str) -> TokenCounter:
    """The tokenizer of the model that answers on this machine, else the estimate."""
    try:
        weights = choose_weights(configured_model)
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(weights.folder / TOKENIZER_FILE))
    except Exception:
        # No model, no package, or a file that cannot be read, for which tokenizers raises bare Exception.
        return TokenCounter(ESTIMATE, estimate_tokens)
    # A packaged tokenizer may cut and pad every text to one length: all counts would be 128.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return TokenCounter(weights.model, lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids))


def estimate_tokens(text: str) -> int:
    """An estimate on the high side: a token per four letters of a word, per digit, sign, and Han, kana or Hangul letter."""
    total = 0
    for word in _WORDS.findall(text):
        dense = sum(ord(letter) >= _DENSE for letter in word)
        total += dense + -(-(len(word) - dense) // LETTERS_PER_TOKEN)
    return total
