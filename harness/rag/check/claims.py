"""Claims of an answer, found by rule and without a model, each with its span.

The detector of checkable spans knows nothing of what was extracted, so that extracting less lowers
the coverage instead of raising the score (MARCH's "say less, err less").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from harness.rag.check.numbers import Period, Quantity, read, sentences, words
from harness.rag.check.types import STATEMENT_TYPES, Claim, ClaimType

NEGATION = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|fail(?:s|ed)? to"
    r"|lack(?:s|ed)?|den(?:y|ies|ied)|refus(?:e|es|ed)|\w+n['\u2019]t)\b",
    re.IGNORECASE,
)
_COMPARISON = re.compile(
    r"\b(?:than|more|less|fewer|most|least|larger|smaller|higher|lower|greater|earlier|later|before"
    r"|after|older|younger|longer|shorter|faster|slower|better|worse|first|last|exceed(?:s|ed)?"
    r"|outperform(?:s|ed)?|same as|twice|\w{3,}est)\b",
    re.IGNORECASE,
)
_EXISTENCE = re.compile(
    r"\bthere (?:is|are|was|were|exists?|has been|have been)\b|\b(?:exists?|existed|contains?"
    r"|contained|includes?|included)\b",
    re.IGNORECASE,
)
_DERIVED = re.compile(
    r"\b(?:total(?:ed|led)?|sum|combined|average|mean|median|ratio|difference|net of|growth|grew"
    r"|increas(?:e|ed)|decreas(?:e|ed)|ris(?:e|en)|rose|f[ae]ll|declin(?:e|ed)|share of|percent of"
    r"|proportion|times (?:as|that|the)|twice|doubled|halved)\b",
    re.IGNORECASE,
)
_CELL = re.compile(
    r"\b(?:in|for|of|during) (?:fiscal |FY|the )?\s?(?:year )?(?:19|20)\d\d\b|\brow\b|\bcolumn\b",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(
    r"[;:,)\u2013\u2014]\s+|\s+\(|\s+(?=(?:and|but|while|whereas|which|who|so|because|although"
    r"|though|after|before|when|where)\b)",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"\?\s*$")
_OPINION = re.compile(
    r"^(?:i (?:think|believe|hope|am sorry|cannot|can't|don't)|sure|certainly|of course|let me|here"
    r" (?:is|are)|please|note that this|hope this|(?:(?:many )?thank(?:s(?! to)| you)"
    r"|(?:vielen )?dank|merci|gracias)\b(?!.*\d))\b",
    re.IGNORECASE,
)
_GREETING = re.compile(
    r"(?:dear|hello|hi|hey|good (?:morning|afternoon|evening)|sehr geehrte\w*|liebe[rs]?|guten "
    r"(?:tag|morgen)|bonjour|ch[eè]re?|estimad[oa]s?|hola)\b[^,:!.?\d\n]{0,60}(?:[,:!]\s*|$)",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"(?:^|[.!?]\s|\n)\s*(?:(?:kind|best|warm) (?:regards|wishes)|regards|(?:yours )?sincerely"
    r"|yours (?:truly|faithfully)|(?:mit )?(?:freundlich|viel|best)en? gr[uü](?:ß|ss)en?"
    r"|cordialement|(?:un )?saludos?)\b[^\d.?!]{0,150}\Z",
    re.IGNORECASE,
)
# A line of its own above others: marked as a heading, or without any verb or stop.
_MARKED_HEADING = re.compile(r"#{1,6}\s.*[^.!?]|(\*\*|__)[^*_]*[^*_.!?](\1):?")
_HEADING = re.compile(r"(?![-*\u2022\u2013|]\s)(?:[^.!?;|]*:|[^.!?;,:|]{1,80})")
_RULE = re.compile(r"\s*\|?\s*\n[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-*:?[ \t]*)+(?:\n|\Z)")
_ABOVE_TABLE = re.compile(r"(?:\A|\n)(?:[^|\n]*\n)?\Z")
VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|will|can|could|does|did|\w{3,}ed)\b", re.IGNORECASE
)
_LIST_MARK = re.compile(r"\(?(?:\d{1,3}|[a-z])[.)]|[-*\u2022\u2013]")
_NAME = re.compile(
    r"(?<![\w'])(?:[A-Z][\w'\u2019&.-]*|[A-Z]{2,})"
    r"(?:[ ](?:(?:of|the|de|la|del|von|van|der|den|and|&|al|bin|di|du)[ ]){0,2}"
    r"(?=[A-Z0-9])[A-Z0-9][\w'\u2019&.-]*)*"
)
_COMMON = (
    "a an the this that these those it its he she they we i you his her their our my your "
    "there here in on at by for from to of with without and or but if when while where after "
    "before since until as so because although though however also both each every all some "
    "any no not many most more less few several one two three four five six seven eight nine "
    "ten first second third another other such what which who whom whose why how yes "
    "according during despite under over about between among through overall additionally "
    "moreover furthermore finally then thus hence therefore meanwhile instead later today now "
    "only even just still january february march april may june july august september october "
    "november december monday tuesday wednesday thursday friday saturday sunday fiscal net "
    "total sales revenue is are was were has had have do does did q1 q2 q3 q4 fy h1 h2 usd "
    "eur gbp pm am "
)
_ORDINARY = frozenset(_COMMON.split())
_VALUE_LEAD = "Which number (with its unit, if it has one) do the documents state for: "
_LEAD = {
    "number": _VALUE_LEAD,
    "cell": _VALUE_LEAD,
    "derived": "Which number (with its unit, if it has one) follows from the documents for: ",
    "date": "Which date or time do the documents state for: ",
    "entity": "Which name do the documents state for: ",
}
_NAMING = ("'s", "\u2019s", " was born", " said", " is a", " was a")
MOST_KEYWORDS = 8
"""Keywords of a question."""


def checkable(answer: str) -> list[Claim]:
    """Numbers, dates and names of `answer`, and the sentences that state something; in order.

    A bare value has nothing else to be wrong about: its sentence is no statement of its own.
    """
    claims: list[Claim] = []
    for start, end in statements(answer):
        sentence = answer[start:end]
        name_spans = names(sentence)
        values = [  # but for the 4 of "Line 4", which is part of a name
            value
            for value in read(sentence)
            if not value.text.isdigit()
            or not any(a < value.start and value.end == b for a, b in name_spans)
        ]
        letters = list(sentence)
        for value in values:
            letters[value.start : value.end] = " " * (value.end - value.start)
        spans: list[tuple[int, int, ClaimType]] = []
        if words("".join(letters)):
            spans.append((0, len(sentence), _kind_of_sentence(sentence)))
        number = "cell" if _CELL.search(sentence) else "number"
        number = "derived" if _DERIVED.search(sentence) else number
        for value in values:
            kind = "date" if isinstance(value, Period) else number
            spans.append((value.start, value.end, kind))
        for first, last in name_spans:
            if not any(first < value.end and value.start < last for value in values):
                spans.append((first, last, "entity"))
        claims += [
            Claim(
                text=sentence[first:last],
                type=kind,
                start=start + first,
                end=start + last,
                sentence=sentence,
            )
            for first, last, kind in spans
        ]
    return sorted(claims, key=lambda claim: (claim.start, -claim.end))


def statements(answer: str) -> list[tuple[int, int]]:
    """Spans of the sentences that state something: no question, no courtesy, no bare heading, and
    neither salutation nor signature of a letter."""
    closing = _CLOSING.search(answer)
    spans = sentences(answer[: closing.start() + 1] if closing else answer)
    starts = (
        greeting.end() if (greeting := _GREETING.match(answer, *span)) else span[0]
        for span in spans
    )
    return [
        (start, end)
        for start, (_, end) in zip(starts, spans, strict=True)
        for text in [answer[start:end]]
        if not _QUESTION.search(text) and not _OPINION.match(text)
        if re.search("[a-z]", text) or read(text) or names(text)
        if not _is_heading(answer, start, end)
    ]


def _is_heading(answer: str, start: int, end: int) -> bool:
    """Return True for a line that only says what the lines below it are about, and for the mark of
    a list."""
    first, last = answer.rfind("\n", 0, start) + 1, answer.find("\n", end)
    text = answer[start:end].strip()
    if _RULE.match(answer, end):  # of a table: the names of its columns
        return True
    if "|" in text and not read(text) and _ABOVE_TABLE.search(answer, 0, first):
        below = answer[last + 1 :].split("\n")[0] if last >= 0 else ""
        return below.count("|") == text.count("|") and bool(read(below))
    if _LIST_MARK.fullmatch(text):
        return bool(answer[end:].strip())
    if last < 0 or not answer[last:].strip() or answer[first:last].strip() != text:
        return False
    plain = _HEADING.fullmatch(text) and not VERB.search(text)
    valued = any(isinstance(value, Quantity) for value in read(text))
    return bool(_MARKED_HEADING.fullmatch(text) or (plain and not valued))


def clauses(sentence: str, least: int = 2) -> list[tuple[int, int]]:
    """Spans of the clauses of a sentence, in order.

    A part that says too little to be looked up alone, such as a member of a list, belongs to its
    neighbour.

    Args:
        sentence: the text.
        least: content words and values that make a part a clause of its own.
    """
    values = read(sentence)
    ends = [
        match.end()
        for match in _CLAUSE_END.finditer(sentence)
        if not any(value.start < match.end() < value.end for value in values)
    ]
    spans: list[tuple[int, int]] = []
    start = 0
    for end in [*ends, len(sentence)]:
        inside = sum(start <= value.start and value.end <= end for value in values)
        if len(words(sentence[start:end])) + inside >= least:
            spans.append((start, end))
            start = end
        elif spans and end == len(sentence):
            spans[-1] = (spans[-1][0], end)
    return spans or [(0, len(sentence))]


def _kind_of_sentence(sentence: str) -> ClaimType:
    """Return the kind of statement that a sentence makes; the rarest kind that applies."""
    if NEGATION.search(sentence):
        return "negation"
    plain = re.sub(r"(?<=\d),(?=\d)", "", sentence)
    if plain.count(",") >= 2 and re.search(r",? (?:and|or) [^,]+$", plain):
        return "list"
    if _COMPARISON.search(sentence):
        return "comparison"
    return "existence" if _EXISTENCE.search(sentence) else "relation"


def coverage(answer: str, claims: Sequence[Claim]) -> float:
    """Share of the checkable spans that a claim of their kind covers, 0 to 1; 1 without any.

    A value or name counts only where a claim spans no more than it and what belongs to it: a
    claim about a whole sentence asks about none of its values in particular.
    """
    spans = checkable(answer)
    covered = 0
    for span in spans:
        length = span.end - span.start
        longest = len(answer) if span.type in STATEMENT_TYPES else 3 * length + 10
        covered += any(
            2 * (min(span.end, claim.end) - max(span.start, claim.start)) >= length
            and claim.end - claim.start <= longest
            for claim in claims
        )
    return covered / len(spans) if spans else 1.0


def extract(answer: str, question: str = "") -> list[Claim]:
    """Claims of `answer` in the order of their spans.

    Every sentence that states something is one claim of its kind (relation, comparison, negation,
    existence, list); every number, date and name in it is one more, so that a wrong value is found
    where the rest of its sentence is right. A number is a `derived` claim where the sentence
    speaks of computing, a `cell` claim where it names a period.

    Args:
        answer: the text to check.
        question: what the user asked.
    """
    return [
        span.model_copy(update={"asked": question, "question": neutral, "value": value})
        for span in checkable(answer)
        for neutral, value in [question_for(span)]
    ]


def names(sentence: str) -> list[tuple[int, int]]:
    """Spans of names of people, places, works and organisations, by their capitals.

    A capital at the start of the sentence alone makes none. "March" and "Net sales" are none;
    "The Hague" is one without its article.
    """
    first = re.search(r"\w", sentence)
    spans: list[tuple[int, int]] = []
    for match in _NAME.finditer(sentence):
        start, end = _trimmed(sentence, *match.span())
        name, following = sentence[start:end], sentence[end:]
        # One capitalised word that opens a sentence may be any word, unless it recurs within it.
        ordinary = (
            first is not None
            and start == first.start()
            and " " not in name
            and name[1:].islower()
            and not following.startswith(_NAMING)
            and name not in following
        )
        if re.search("[A-Za-z]", name) and not ordinary:
            spans.append((start, end))
    return spans


def _trimmed(sentence: str, start: int, end: int) -> tuple[int, int]:
    """Ordinary words at the ends off, and the full stop of the sentence."""
    while match := re.match(r"([\w'\u2019&.-]+)[ ]?", sentence[start:end]):
        if match[1].lower().strip(".") not in _ORDINARY:
            break
        start += match.end()
    text = sentence[start:end]
    if text.endswith((".", "-", "'", "&")) and not re.search(r"\b[A-Z]\.$", text):
        end -= 1
    if sentence[start:end].endswith(("'s", "\u2019s")):
        end -= 2
    return start, end


def question_for(claim: Claim) -> tuple[str, str]:
    """(neutral question, value that it must be answered with) for a claim.

    The documents must decide, so the question holds neither the value nor its wording, neither the
    sentence nor a yes or no to agree with: names, periods and content words alone.
    """
    keywords = ", ".join(keywords_of(claim)[:MOST_KEYWORDS]) or "the subject of the documents"
    if claim.type in STATEMENT_TYPES:
        return f"What do the documents say about: {keywords}?", claim.sentence
    return f"{_LEAD[claim.type]}{keywords}?", claim.text


def keywords_of(claim: Claim) -> list[str]:
    """Names, periods and content words of the sentence, in order, but for the claimed value."""
    return list(_keywords(claim.sentence, "" if claim.type in STATEMENT_TYPES else claim.text))


@lru_cache(maxsize=1024)  # a response's questions are worded again and again
def _keywords(sentence: str, value: str) -> tuple[str, ...]:
    mentions, spans = read(sentence), names(sentence)
    spans += [(period.start, period.end) for period in mentions if isinstance(period, Period)]
    occupied = [*spans, *((mention.start, mention.end) for mention in mentions)]
    for match in re.finditer(r"[A-Za-z][\w'-]+", sentence):
        start, end = match.span()
        if words(match[0]) and not any(first < end and start < last for first, last in occupied):
            spans.append((start, end))
    keywords = dict.fromkeys(sentence[start:end] for start, end in sorted(spans))
    withheld = set(re.findall(r"\w+", value.lower()))  # a keyword with a word of it gives it away
    return tuple(
        keyword for keyword in keywords if withheld.isdisjoint(re.findall(r"\w+", keyword.lower()))
    )
