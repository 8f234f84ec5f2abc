"""Reading a line of a skill apart from how it is set: plain text, sentences, asides, polarity.

Markdown is taken off, contractions are spelled out and quoted punctuation gets its name. A use of
an action is then asked for, forbidden, or neither: what stands in a condition, in the past, in a
description of the table or as a mere permission asks for nothing.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Literal

Force = Literal["asked", "forbidden", "allowed", "none"]
# Words that a negation reaches forward within its clause.
REACH = 11
# Words that a negating determiner (`no`, `without`) reaches.
SHORT_REACH = 4

_NAMES = {";": "semicolon", ",": "comma", ".": "dot", "/": "slash", "-": "hyphen", "|": "pipe"}
_QUOTED = re.compile(
    r"""(?:[`"'“”\u2018\u2019«»]\s*|\()([;,./|-])(?:\s*[`"'“”\u2018\u2019«»]|\))"""
)
_CODE = re.compile(r"`[^`]*\w;[^`]*`|\*\w[^*]*;[^*]*\w\*|\"\w[^\"]*;[^\"]*\w\"")
_MARKER = re.compile(r"^[\s>]*(?:#+\s+)?(?:(?:[-*+•\u2013]|\d+[.)])\s+)?(?:\[[ xX✓]?\]\s*)?")
_REWRITES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), new)
    for pattern, new in (
        (r"\*\*|`|[\"“”«»]|(?<!\w)[*_]+|(?<=\w)\*+(?!\w)|(?<=\w)_+(?!\w)|\*(?=\W|$)", ""),
        (r"\s*(?:->|=>|→|⇒|⟶|➜)\s*", " → "), (r"≠|!=", " is not "), (r"&", " and "),
        (r"\bcan't\b|\bcannot\b", "can not"), (r"\bwon't\b", "will not"), (r"n't\b", " not"),
        (r"\b(it|there|that|here|he|she|what|who)'s\b", r"\1 is"), (r"'re\b", " are"),
        (r"'ll\b", " will"), (r"'ve\b", " have"), (r"\be\.\s?g\.,?", "such as"),
        (r"\bi\.\s?e\.,?", "that is"), (r"\betc\.", "etc"), (r"\bvs\.?(?!\w)", "versus"),
        (r"(?<=\d),(?=\d{3}\b)", ""), (r", (?=(?:or|nor)\b)", " "), (r"\s+", " "),
    )
)  # fmt: skip
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\s*;\s+")
_BASE = (
    "give|write|use|report|list|convert|put|express|sort|subtract|state|show|answer|say|round|"
    "present|format|treat|count|leave|exclude|skip|ignore|take|make|keep|add|deduct|separate|join|"
    "return|print|output|compare|look|go|find|pick|choose|name|remove|drop"
)
_CLAUSE = re.compile(
    r"[,:()→]|\s[\u2013—-]\s|—|\b(?:but|yet|because|since|so|unless|while|whereas|though"
    r"|although|then"
    r"|thus|therefore|hence|however|if|when|whenever|where|until|as long as|otherwise|whichever"
    rf"|and (?:then|instead|always|just|only|rather|please|(?=(?:not|never|{_BASE})\b)))\b"
)
_HEADER = re.compile(
    r"^(?:wrong|bad|incorrect|do not|avoid|forbidden|not allowed|never|no|not|prohibited)\s*[:→]"
)
_NO_NEGATION = re.compile(
    r"\b(?:no matter|no later|no more than|not only|not just|not until|nothing but|no other"
    r"|whether or not|not yet|if not|no particular order|no exceptions?|without (?:exception"
    r"|fail)s?"
    r"|not (?:strictly )?(?:more|less) than"
    r"|(?:there (?:is|are|was|were)|if|when|where|whenever|has|have|with|contains?|finds?) no"
    r"(?! (?:need|reason|point|requirement|use|call|obligation|necessity"
    r"|sense|cause|bearing|effect|influence|impact|role))"
    r"(?: \w+){1,2}|without (?:any|an?) \w+(?<!ing)|without (?:orders|matches|rows|entries"
    r"|regard|respect))\b"
)
_LONG = re.compile(
    r"\b(?:not|never|nor|neither|avoid\w*|refrain\w*|instead of|rather than|in place of|stop"
    r"|forget\w*|forgot|fail(?:s|ing)? to|neglect(?:s|ing)? to|exempt\w* from|exception to"
    r"|no (?:need|reason|point|requirement|use|call|obligation|necessity|sense|cause)"
    r"|unnecessary|needless|pointless|superfluous|abstain\w*|cease|forbid\w*|forbidden|prohibit\w*"
    r"|ban(?:ned)?|beware of|as opposed to|versus|nobody|no one|other\b.{0,20}\bthan|anything but"
    r"|refus\w*|hardly|(?:skip|forgo|omit|drop) (?:the )?(?=\w+ing\b)|waive\w*|spare yourself"
    r"|dispens\w+ with|resist|wrong to|mistake to|error to|incorrect to|nowhere|in no case"
    r"|under no circumstances?|deviat\w+ from|far from|prefer\w*\b.{1,40}\b(?:over|to)"
    r"|free (?:of|from))\b"
)
_SHORT = re.compile(r"\b(?:no(?! need| reason| point| requirement| use)|without|non|except\w*)\b")
_INSIDE = re.compile(
    r"\b(?:not|never|no|nor|without|except\w*|instead of|rather than|other than)\b"
)
_BAD = (
    r"wrong|incorrect|(?:an? |the )?(?:\w+ )?(?:error|mistake|fault|blunder)s?|forbidden|prohibited"
    r"|banned|invalid|unacceptable|unwanted|undesired|unnecessary|superfluous|pointless|optional"
    r"|needless|out of the question|rejected|to be avoided|disallowed|false|inadmissible|avoided"
    r"|malformed|incomplete|faulty|defective|useless|unusable|bad|not to be \w+"
    r"|not (?:\w+ )?(?:used|allowed|permitted|needed|necessary|required|wanted|applied|acceptable"
    r"|accepted|called for|asked for|desired|correct|valid|right|appropriate|an option|enough"
    r"|tolerated|welcome|compulsory|mandatory|obligatory|admissible|okay|ok|expected|the \w+)"
)
_AFTER = re.compile(
    rf"\b(?:is|are|be|was|were|as|considered|deemed|marked|get|gets"
    rf"|being)\s+(?:\w+ly\s+)?(?:{_BAD})\b"
    r"|\b(?:must|should|shall|may|can|need|will|do|does|ought)\s+(?:never"
    r"|not)\s+(?:to\s+)?(?:be\s+)?"
    r"(?:used?|allowed|permitted|applied|apply|chosen|accepted|appear|occur|written|happen|show"
    r"|done|serve|given|matter|count|exist|come up|remain|stay|shown|printed|reported|be present)\b"
    r"|\bha(?:s|ve) no place\b|\bnever\s+(?:used|allowed|permitted|applied|accepted|acceptable"
    r"|right|correct|appears?|occurs?)\b|\bneed not\b|\bdoes not apply\b|\bnot (?:an )?acceptable\b"
    r"|\b(?:leads?|led|results?|resulted) (?:to|in) (?:\w+ )?(?:mistakes|errors|wrong)"
    r"|\bcauses? errors"
    r"|\bexempt\w* from (?:it|this|that|them)\b"
)
_BLOCKS = re.compile(r"\b(?:that|which|who|whose|as|than|instead|rather|and)\b")
_PERMITS = re.compile(
    r"\b(?:may|might|could|can|optional(?:ly)?|free to|allowed to|permitted to|fine to|okay to"
    r"|acceptable to|if you (?:like|wish|want))\b(?! only| never)"
)
_ASIDE = re.compile(
    r"(?:(?<!as )\b(?:if|when|whenever|where|wherever|in case|suppose|even if|even when|even though"
    r"|even where"
    r"|although|though|regardless of|no matter|irrespective of|independent\w* of|despite"
    r"|in spite of|without (?:regard|respect) (?:to|for)|because|since|once(?= the| a| you| it"
    r"| all| every)|as long as)\b"
    r"|^as (?=\w+ (?:is|are)\b)|^should (?=the|an?|there|it|this|that|no|any|two|several|you"
    r"|some|nothing|one)\b)"
    r"(?P<body>.*?)(?=,|→|:|\bthen\b|[.!?]?$)"
)
_ASKED = re.compile(
    r"^(?:write|state|say|tell|report|give|show)(?: out| down)?\s+$|\bonly (?:\w+ )?$"
)
"""What makes a following `when` no condition: a question to be answered, or `only when`."""
_PAST = re.compile(r"\b(?:was|were|had been|got|used to)\s+(?:\w+ly\s+|also\s+|all\s+)?$")
_DIRECTS = re.compile(
    r"\b(?:must|should|shall|have to|has to|ought|need to|needs to|is to|are to|always|never"
    r"|do not|sure|ensure|remember|please|required|expected|wants?|expects?|requires?|only)\b"
)
_TELLS = re.compile(
    r"^(?:the |this |that |our |your |an? |all |input |raw )*(?:[\w-]+ ){0,2}?(?:table|column"
    r"|file|sheet"
    r"|field|data|database|system|source|export|spreadsheet|shop|warehouse|scales?|label"
    r"|raw numbers?)"
    r"(?: of the \w+| in the \w+| here)?,? (?:\w+ly |also )?(?:is|are|has|have|contains?|holds?"
    r"|shows?"
    r"|lists?|stores?|gives?|uses?|can|may|comes?|carries|includes?|names?|records?|stands?"
    r"|spells?)\b"
    r"|^(?:about \d|some|most|many|a few|few|half|sometimes|occasionally)\b"
    r"|\b(?:often|sometimes|usually|typically|occasionally|frequently|rarely)\b"
    r"|\b(?:is|are) (?:stored|saved|kept|recorded|entered|found|imported) (?:in|by|as|with)\b"
    r"|^in (?:the|this) (?:\w+ )?(?:table|column|file|sheet|data)\b|\bas (?:everyone|you) knows?\b"
)


@dataclass(frozen=True)
class Sentence:
    """One sentence of a line, in lower case.

    Attributes:
        text: the sentence.
        asides: spans of conditions, concessions and reasons, in characters.
        tells: whether it describes what is, and asks for nothing.
    """

    text: str
    asides: tuple[tuple[int, int], ...]
    tells: bool

    def force(self, start: int, end: int) -> Force:
        """Read the force that the sentence gives to the action named in `text[start:end]`."""
        text = self.text
        if self.tells or _PAST.search(text[:start]):
            return "none"
        if any(first <= start < last for first, last in self.asides):
            return "none"
        begin = max((clause.end() for clause in _CLAUSE.finditer(text, 0, start)), default=0)
        if header := _HEADER.match(text):
            begin = 0 if begin <= header.end() else begin
        before = _NO_NEGATION.sub("", text[begin:start])
        if re.search(r"\bnor\b", before):
            before = re.sub(r"\bneither\b", "", before)
        negations = _count(_LONG, before, REACH) + _count(_SHORT, before, SHORT_REACH)
        inside = _NO_NEGATION.sub("", text[start:end])
        negations += len(_INSIDE.findall(inside)) or int(_AFTER.search(inside) is not None)
        negations += self._rejected(end)
        if negations % 2:
            return "forbidden"
        return "allowed" if _PERMITS.search(before) and not negations else "asked"

    def _rejected(self, end: int) -> int:
        """1 if what follows an action says that it is wrong or not wanted, else 0."""
        following = self.text[end:]
        ends = [
            mark.start() for mark in (_CLAUSE.search(following), _BLOCKS.search(following)) if mark
        ]
        rejection = _AFTER.search(following)
        return int(rejection is not None and rejection.start() <= min(ends, default=len(following)))


def _count(pattern: re.Pattern[str], before: str, reach: int) -> int:
    """Negations in the text whose reach covers its end."""
    return sum(
        len(before[negation.end() :].split()) <= reach for negation in pattern.finditer(before)
    )


def plain(line: str) -> str:
    """The line in lower case without Markdown, contractions or quoted punctuation."""
    text = line.replace("\u2019", "'").replace("\u2018", "'")
    text = _CODE.sub(lambda match: match[0].replace(";", " semicolon "), text)
    text = _QUOTED.sub(lambda match: f" {_NAMES[match[1]]} ", _MARKER.sub("", text)).lower()
    for pattern, new in _REWRITES:
        text = pattern.sub(new, text)
    return text.strip()


@functools.lru_cache(maxsize=65536)
def sentences(line: str) -> tuple[Sentence, ...]:
    """The sentences of a line; its last mark is not part of it."""
    parts = (part.strip().rstrip(".!?") for part in _SENTENCE.split(plain(line)))
    read: list[Sentence] = []
    for text in filter(None, parts):
        # Without a comma nobody knows where a leading condition ends.
        asides = tuple(
            aside.span()
            for aside in _ASIDE.finditer(text)
            if aside.span() != (0, len(text)) and not _ASKED.search(text[: aside.start()])
        )
        tells = _TELLS.search(text) is not None and not _DIRECTS.search(text)
        read.append(Sentence(text, asides, tells))
    return tuple(read)
