"""Counting tokens with the embedding model's tokenizer, without the model."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from aico_memory.models.weights import TOKENIZER_FILE, choose_weights

ESTIMATE = "estimate"
_WORDS = re.compile(r"[^\W\d_]+|\d|\S")
# A word of this many letters or fewer is taken for one token; longer ones for one more per so many letters.
LETTERS_PER_TOKEN = 4
_DENSE = 0x2E80
# The same memories come again and again: so many lines are remembered with their tokens.
_KEPT = 4096
# Ways of cutting a text that begin anew at each end of a line: the tokens of lines add up to those of the text.
_BY_LINE = frozenset({"BertPreTokenizer", "Whitespace", "WhitespaceSplit"})


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
    encoded = lru_cache(_KEPT)(lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids))
    cutter = json.loads(tokenizer.to_str())["pre_tokenizer"] or {}
    if cutter.get("type") not in _BY_LINE:
        return TokenCounter(weights.model, encoded)
    return TokenCounter(weights.model, lambda text: sum(map(encoded, text.split("\n"))))


def estimate_tokens(text: str) -> int:
    """An estimate on the high side: a token per four letters of a word, per digit, sign, and Han, kana or Hangul letter."""
    total = 0
    for word in _WORDS.findall(text):
        dense = sum(ord(letter) >= _DENSE for letter in word)
        total += dense + -(-(len(word) - dense) // LETTERS_PER_TOKEN)
    return total
