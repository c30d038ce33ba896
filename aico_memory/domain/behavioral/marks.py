"""Intent by the marks of a text, in any language: what is used when the model service does not answer.

Far weaker than the classifiers there, and named as the one that answered.
"""

from __future__ import annotations

import re
from typing import Final

NAME: Final = "builtin-marks"
# Question marks of Latin, Greek, Arabic, CJK, Ethiopic and Armenian scripts.
_QUESTION = re.compile(r"[?\u037e\u061f\uff1f\u1367\u055e]")
_CODE = re.compile(r"```|^\s*(?:def|class|import|from|fn|func|SELECT|#include)\s|[{};]\s*$|\w+\(\w*\)", re.MULTILINE)
_REVIEW = re.compile(r"\breview\b|\bpull request\b|\bdiff\b", re.IGNORECASE)


def intent_by_marks(text: str) -> str:
    """code_review, technical, question or statement, by code marks and question marks only."""
    if _CODE.search(text):
        return "code_review" if _REVIEW.search(text) else "technical"
    return "question" if _QUESTION.search(text) else "statement"
