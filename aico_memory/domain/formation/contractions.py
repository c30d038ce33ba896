"""English contractions, written out."""

from __future__ import annotations

import re

from aico_memory.domain.formation.wording import squeeze

_CONTRACTIONS = (
    (re.compile(r"\b(master|bachelor)'s\b", re.I), r"\1s"),
    (re.compile(r"\b(w)on't\b", re.I), r"\1ill not"), (re.compile(r"\bcan'?t\b|\bcannot\b", re.I), "can not"),
    (re.compile(r"\bain't\b", re.I), "am not"), (re.compile(r"n't\b", re.I), " not"),
    (re.compile(r"\b(I)'m\b|\b(I)m\b(?= [a-z])", re.I), "I am"), (re.compile(r"'re\b", re.I), " are"),
    (re.compile(r"'ve\b", re.I), " have"), (re.compile(r"'ll\b", re.I), " will"), (re.compile(r"\b(I|we|you|he|she|they)'d\b", re.I), r"\1 would"),  # noqa: E501
    (re.compile(r"'s (got|been|moved|gone|switched|started|left|lost|become|had|changed|retired|died|passed|quit|bought|sold|swapped|dropped|stopped|joined|decided|finished|adopted|traded|replaced|given|taken|picked|packed|turned|graduated)\b", re.I), r" has \1"),  # noqa: E501
    (re.compile(r"\b(he|she|it|that|there|what|who|where|here|everyone|everybody|everything|someone|somebody|nobody)'s\b", re.I), r"\1 is"),  # noqa: E501
    # "At the dentist's", never "at the children's hospital", "in my brother's flat": a noun follows whose that is.
    (re.compile(r"\b(at|in|with) (a|an|the|my|our) (\w+(?: (?-i:[A-Z])\w+)?)'s(?=$|[^\w ]| (?:(?-i:[A-Z\d§])|(?:in|on|at|for|with|and|but|so|or|now|again|today|tomorrow|tonight|yesterday|this|next|last|every|from|until|till|since|near|by|because|where|who|which|while|after|before|when|then|too|as|to|if|instead|all|twice|once)\b))", re.I), r"\1 \2 \3"),  # noqa: E501
    (re.compile(r"(?<=\w)'s (?=(?:a|an|the|now|not|in|at|(?!(?:wedding|meeting|evening|morning|training|building|thing|things|clothing|ring|king|spring|string|wing|ceiling|reading|painting|offering|housewarming|christening|hearing|viewing|fitting|screening|darling|sibling|being|outing|earring|feeling|drawing|parking|clothing|cooking|spelling)\b)\w+ing|no|allergic|vegan|vegetarian|veggie|from|on|called|named|pregnant|married|engaged|single|due|with|just|also|still|currently|postponed|cancelled|really|always|under|behind|next|near|inside|upstairs|downstairs|all|\d+(?=$|[,.!]| now| years))\b)", re.I), " is "),  # noqa: E501
    (re.compile(r"(?<=\w)'s (?=(?:\w+ed|done|gone|off|over|sold|ready|back)(?:$|[,.;!]| (?:now|and|so|but|because|again)\b))", re.I), " is "),  # noqa: E501
    (re.compile(r"\b(gon)na\b", re.I), "going to"), (re.compile(r"\bwanna\b", re.I), "want to"),
    (re.compile(r"\b(?:have|has|had) got (?!(?:to|into|rid|shot|back|over|used|hooked|married|engaged|divorced|hired|fired|promoted|better)\b)", re.I), "have "),  # noqa: E501
)  # fmt: skip


# "At St Mary's in Leeds", "from Luigi's on Mill Road": the name of a place, and no "is".
_PLACE = re.compile(
    r"(?P<name>\b(?:[Aa]t|[Ff]rom|[Tt]o|[Ff]or|[Ii]nto|[Nn]ear)(?: the)?(?: (?:[A-Z][\w.]*))*? [A-Z]\w+"
    r"|\b(?:St|Saint)\.? [A-Z]\w+)'s"
)
_KEPT = "\ue000"


def expand(text: str) -> str:
    """Contractions written out."""
    text = _PLACE.sub(rf"\g<name>{_KEPT}s", text)
    for expression, replacement in _CONTRACTIONS:
        text = expression.sub(replacement, text)
    return squeeze(text.replace(_KEPT, "'"))
