"""What a user's message says about the work before it. English; silence where it is not plain."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Saying = Literal["undo", "correction", "thanks", "approval"]
LOOKED_AT = 400
"""Characters: what a user thinks of the work stands at the front of a message."""

_POLITE = r"(?:please|pls|ok(?:ay)?|hm+|sorry|actually|can you|could you|now|just|then|and|no)"
_UNDO = re.compile(
    rf"^(?:{_POLITE}[,.!]?\s+)*"
    r"(?:undo|revert|roll\s?back|discard|put (?:it|that|this) back)\b[^.\n]*"
    r"|\b(?:please|pls)\s+(?:undo|revert|roll\s?back|discard)\b[^.\n]*",
    re.I,
)
_CORRECTION = re.compile(
    r"^(?:no|nope|nah)[,.!:]?\s+"
    r"(?:that|this|it|you|i (?:said|meant|asked|want)|not|wrong|still|don'?t (?!worry|bother|need))"
    r"[^.\n]*"
    r"|^wrong\b[^.\n]*"
    r"|\b(?:that|this|it|which)(?:'s| is| was)\s+"
    r"(?:still |just |completely |simply |all |totally )?"
    r"(?:wrong|incorrect|broken|not (?:right|correct|working|what i))\b[^.\n]*"
    r"|\b(?:is|are|'s) still (?:wrong|broken|failing|off|missing|crashing|happening|not)\b[^.\n]*"
    r"|\bnot what i (?:asked|wanted|meant|said)\b[^.\n]*"
    r"|^(?:it|this|that)?\s*(?:still )?(?:doesn'?t|does not|didn'?t|did not|isn'?t)\s+"
    r"(?:work|help|fix|compile|build|run|pass)\w*[^.\n]*"
    r"|\b(?:it|this|that) still "
    r"(?:doesn'?t|does not|fails|crashes|breaks|throws|shows|isn'?t)\b[^.\n]*"
    r"|^still (?:not|fail\w*|broken|wrong|the same|gett?ing|get|see\w*|an? error|crash\w*)\b[^.\n]*"
    r"|\b(?:the )?same (?:error|problem|issue|bug|failure)\b[^.\n]*"
    r"|\byou (?:broke|misunderstood|ignored|forgot|missed|(?:deleted|changed) the wrong)\b[^.\n]*"
    r"|^(?:now )?i(?:'m| am)? (?:still |now )?(?:get|getting|see|seeing|got) "
    r"(?:this|that|the same|errors?|an? (?:\w+ )?(?:error|exception|traceback))\b[^.\n]*"
    r"|\b(?:worse than before|even worse|now it'?s worse)\b[^.\n]*",
    re.I,
)
_THANKS = re.compile(
    r"\b(?:thanks|thank you|thx|ty|cheers|perfect(?:ly)?|great|awesome|excellent|nice|lovely"
    r"|brilliant|wonderful|amazing|fantastic|superb|lgtm|looks (?:good|great|right|perfect)"
    r"|(?:that|it|this|everything|all)(?: all)? works?|works(?: now| great| perfectly)?"
    r"|that(?:'s| is) (?:it|right|correct|better|perfect|great)"
    r"|(?:good|great|nice) (?:job|work)|well done|exactly what i (?:wanted|needed|meant))\b"
    r"|\U0001f44d|\U0001f389",
    re.I,
)
_APPROVAL = re.compile(
    r"\b(?:commit|merge|ship|push)\s+"
    r"(?:it|this|that|these|them|everything|all|the changes?|your changes?)\b"
    r"|^(?:please |ok(?:ay)?,? |now )*(?:commit|merge|push|ship it)\b"
    r"|\b(?:open|create|make) (?:a|the) (?:pr|pull request)\b",
    re.I,
)
_RESERVE = re.compile(
    r"\b(?:but|however|except|although|though|unless|wait|not|no|never|wrong|broken|bug|error|fail\w*"
    r"|still|instead|almost|nearly|revert|undo|before)\b|n't\b|n\u2019t\b|\?",
    re.I,
)
_FILLER = re.compile(
    r"\b(?:so|very|much|a lot|lot|you|for|your|the|all|that|this|it|its|is|and|really|again|now"
    r"|help|claude|codex|job|work|yes|yep|yeah|ok|okay|cool|good|man|mate|many|everyone|guys|done|fine"
    r"|indeed|just|absolutely|super|quick|fix|fixed)\b|[^\w]+",
    re.I,
)


class Said(NamedTuple):
    """What a message says, and the words that say it."""

    saying: Saying
    quote: str


def saying(message: str, asked: bool = False) -> Said | None:
    """What a message says about the work before it; None where it is not plain.

    Args:
        message: of the user.
        asked: whether the agent had just asked something: `no` and `great` are answers then.
    """
    text = message.strip()[:LOOKED_AT].replace("\u2019", "'")
    if found := _UNDO.search(text):
        return Said("undo", _verbatim(message, found))
    if (found := _CORRECTION.search(text)) and not found.group().rstrip().endswith("?"):
        answer = asked and re.match(r"(?:no|nope|nah)\b", found.group(), re.I)
        return None if answer else Said("correction", _verbatim(message, found))
    if asked and not re.search(r"\bthank", text, re.I):
        return None
    if _RESERVE.search(text):
        return None
    if (found := _APPROVAL.search(text)) and len(text.split()) <= 12:
        return Said("approval", _verbatim(message, found))
    if (found := _THANKS.search(text)) and not _FILLER.sub("", _THANKS.sub("", text)):
        return Said("thanks", _verbatim(message, found))
    return None


def _verbatim(message: str, found: re.Match[str]) -> str:
    """The words as they stand in the message: one sentence at most."""
    return message.strip()[found.start() : found.end()].strip()
