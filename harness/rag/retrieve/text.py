"""Language, sentences and words of a text, with exact offsets."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Container, Iterator
from functools import cache, lru_cache
from itertools import chain
from typing import Any

from harness.core import require

_SAMPLE = 20_000
_SCRIPTS = {  # first word of a letter's Unicode name -> language, where the script decides
    "HIRAGANA": "ja",
    "KATAKANA": "ja",
    "HANGUL": "ko",
    "CJK": "zh",
    "THAI": "th",
    "GREEK": "el",
    "HEBREW": "he",
    "ARABIC": "ar",
    "DEVANAGARI": "hi",
    "BENGALI": "bn",
    "TAMIL": "ta",
    "GEORGIAN": "ka",
    "ARMENIAN": "hy",
    "CYRILLIC": "ru",
}
_FUNCTION_WORDS = {
    language: frozenset(function_words.split())
    for language, function_words in {
        "en": "the of and to is that was with are this from which what how who when does it for by "
        "a an at did do has have his were where",
        "de": "der die das und ist nicht ein eine mit von auf den dem zu wird auch für wie was "
        "sich",
        "nl": "het een van en is dat op niet voor met aan zijn wordt ook door bij naar hoe wat",
        "sv": "och att det som är på av för med inte den ett till har om vad hur kan från",
        "da": "og at det som er på af for med ikke den til har om hvad hvordan kan fra blev",
        "no": "og det som er på av for med ikke den til har om hva hvordan kan fra ble jeg",
        "fi": "ja on ei se että joka mutta kun oli hän ovat myös sekä tai kuin mitä miten",
        "fr": "le la les et des est une dans pour que qui sur pas du au par avec comment quelle "
        "de un",
        "es": "el los las y es una en por que con para del se su como más qué cuál "
        "de la un fue entre quién cuándo dónde sus ha",
        "pt": "o os as e é uma em por que com para do da não dos como mais foi quem de",
        "it": "il gli di che è una per con non della sono nel dei del alla come più chi la le un",
        "pl": "i w na z jest się nie do że to jak przez od po czy oraz",
        "cs": "a v na je se že s z do to jak pro od po byl jako které",
        "hu": "a az és hogy nem egy is ez van volt meg mint vagy csak",
        "tr": "ve bir bu için ile olarak olan de da en çok ne nasıl daha",  # noqa: RUF001  # Turkish has this letter
        "ro": "și în de la cu este pe nu din care pentru mai să sunt",
        "id": "yang dan di dari untuk dengan ini itu pada tidak adalah dalam akan",
        "vi": "và của là có trong cho không được các một những với này",
    }.items()
}
_UKRAINIAN = re.compile("[іїєґ]")
# Languages that write compound nouns as one word.
COMPOUNDING = frozenset({"de", "nl", "sv", "da", "no", "fi", "hu"})


@cache
def _script(letter: str) -> str:
    return unicodedata.name(letter, "?").split()[0].removesuffix("-")


def identify_language(text: str) -> str | None:
    """ISO 639-1 code, or None where too little speaks for one language.

    A table of figures or a part number has no language; a sentence of function words has. Reads
    the first 20,000 characters.
    """
    sample = text[:_SAMPLE].lower()
    # Letters of ASCII are Latin, a script of many languages: they need no look.
    excerpt = "" if sample.isascii() else sample[:2000]
    scripts = Counter(map(_script, filter(str.isalpha, excerpt)))
    letters = scripts.total()
    for (
        script,
        language,
    ) in _SCRIPTS.items():  # Japanese before Chinese: it uses both scripts
        if letters and scripts[script] >= letters / 10:
            return "uk" if language == "ru" and _UKRAINIAN.search(sample) else language
    counts = Counter(re.findall(r"[^\W\d_]+", sample))
    votes = Counter(
        {
            language: sum(map(counts.__getitem__, spoken & counts.keys()))
            for language, spoken in _FUNCTION_WORDS.items()
        }
    )
    (best, most), (_, second) = votes.most_common(2)
    enough = max(2, counts.total() / 20)
    return best if most >= enough and most > second else None


# Characters after which a sentence without an end is cut at a space.
LONGEST = 2000
_SUSPECT = 120
_WITHOUT_QUOTES = {ord(mark): " " for mark in "\"'`()[]{}\u00ab\u00bb\u2018\u201c\u201d\u201e"}
_LINE_END = re.compile(r"[ \t]*(?:\r\n|\n|\r)")
_ITEM = re.compile(r"\s*(?:[-*+•|>#]|\d{1,2}[.)]\s|[A-Z][\w .'-]{0,40}:\s)")
_CLOSING = "\"')]*_ \u201d\u2019"
_WRAPPED = range(45, 140)  # lengths of a line that a typesetter or editor broke
_WRAPPED_WIDE = range(15, 140)  # the same of Chinese, Japanese and Korean
_WIDE_END = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af、，,]$")  # noqa: RUF001  # full-width


def sentence_spans(text: str, language: str | None = None) -> list[tuple[int, int]]:
    """Character spans of the sentences of `text`, in order, without the space around them.

    Every character that is not white space lies in exactly one span. A line end closes a sentence
    unless the line was wrapped (the next one goes on in small letters, or this one is as long as
    a typeset line, does not end a sentence and no list item or heading follows). A sentence above
    :data:`LONGEST` characters is cut at a space where there is one.

    Args:
        text: any text; empty gives no span.
        language: ISO 639-1 code; default: as identified, else English.

    Raises:
        BadInput: if sentencex is not installed.
    """
    language = language or identify_language(text) or "en"
    return [
        span
        for block in _blocks(text)
        for sentence in _sentences(text, *block, language)
        for part in _cut(text, *sentence)
        if (span := stripped(text, *part))
    ]


def _sentences(text: str, start: int, end: int, language: str) -> Iterator[tuple[int, int]]:
    boundaries = require("sentencex", "splitting sentences needs sentencex").get_sentence_boundaries
    for boundary in boundaries(language, text[start:end]):
        begin, stop = start + boundary["start_index"], start + boundary["end_index"]
        plain = text[begin:stop].translate(_WITHOUT_QUOTES) if stop - begin > _SUSPECT else ""
        if plain == text[begin:stop] or not plain:
            yield begin, stop
            continue
        # A quotation mark or bracket without its partner would hold many sentences together.
        for inner in boundaries(language, plain):
            yield begin + inner["start_index"], begin + inner["end_index"]


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Stretches that no sentence crosses: paragraphs, and within them lines that end a record."""
    start = 0
    for match in _LINE_END.finditer(text):
        line_start = max(text.rfind("\n", 0, match.start()), text.rfind("\r", 0, match.start())) + 1
        if not _is_wrapped(text[line_start : match.start()], text[match.end() : match.end() + 60]):
            yield start, match.end()
            start = match.end()
    if start < len(text):
        yield start, len(text)


def _is_wrapped(line: str, following: str) -> bool:
    if (
        not following.strip()
        or following[0] in "\r\n"
        or _ITEM.match(following)
        or " | " in line
        or "\t" in line
        or (_ITEM.match(line) and len(line) not in _WRAPPED)
    ):
        return False
    first = following.lstrip()[0]
    if first.islower():
        return True
    if _WIDE_END.search(line.rstrip()):
        return len(line) in _WRAPPED_WIDE
    return len(line) in _WRAPPED and not line.rstrip(_CLOSING).endswith((".", "!", "?", ":"))


def _cut(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > LONGEST:
        space = max(text.rfind(mark, start, start + LONGEST) for mark in (" ", "\n", "\t"))
        middle = space + 1 if space > start else start + LONGEST
        yield start, middle
        start = middle
    yield start, end


def stripped(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The span without the white space at its ends; None if nothing else is in it."""
    part = text[start:end]
    first = start + len(part) - len(part.lstrip())
    last = start + len(part.rstrip())
    return (first, last) if first < last else None


# Name of these rules; an index made with others is refused.
TOKENISER = "words-1, snowball-english"

_CJK = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_RUN = re.compile(
    rf"[{_CJK}]+|\d+(?:[.,:]\d+)+|[^\W{_CJK}]+(?:[-'’.][^\W{_CJK}]+)*",  # noqa: RUF001
)
_IDEOGRAPH = re.compile(f"[{_CJK}]")
_JOINT = re.compile(
    r"[-_'’.]+|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"  # noqa: RUF001
    r"|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])"
)
_LEAST_COMPOUND, _LEAST_PART = 9, 4
_LINKS = ("", "s", "es", "n", "en", "e", "er")
# Frequent English words that carry no topic.
STOPWORDS = frozenset(
    [
        *("a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is"),
        *("it", "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there"),
        *("these", "they", "this", "to", "was", "will", "with"),
    ]
)


# Stems of words that ask, and say nothing of what is asked.
ASKING = frozenset(
    [
        *("what", "which", "who", "whom", "whose", "when", "where", "whi", "how", "do", "doe"),
        *("did", "were", "have", "has", "had", "can", "could", "would", "should", "mani", "much"),
    ]
)


def words(text: str) -> list[str]:
    """Tokens of a text, in order, in lower case.

    CJK runs give overlapping bigrams. `boundary-layer`, `getUserName` and `A320` give their parts
    and the whole without joints; numbers with separators stay whole. English plurals lose their
    s (Harman 1991, "How effective is suffixing?").
    """
    return list(chain.from_iterable(map(_tokens, _runs(text))))


def _runs(text: str) -> list[str]:
    return _RUN.findall(text if text.isascii() else unicodedata.normalize("NFKC", text))


@lru_cache(maxsize=1 << 18)  # a text repeats its words
def _tokens(run: str) -> tuple[str, ...]:
    if not run.isascii() and _IDEOGRAPH.match(run):
        return tuple(run[start : start + 2] for start in range(max(1, len(run) - 1)))
    if run[0].isdigit() and not re.search(r"[^\W\d]", run):
        return (run,)
    parts = [part for part in _JOINT.split(run) if part]
    tokens = [_singular(part.lower()) for part in parts]
    tokens = [
        word for word in tokens if word not in STOPWORDS and (len(parts) == 1 or len(word) > 1)
    ]
    if len(parts) > 1:
        tokens.append(_singular("".join(parts).lower()))
    return tuple(tokens)


def terms(text: str) -> list[str]:
    """Tokens as the lexical index keeps them: :func:`words`, those of plain letters stemmed.

    The stemmer is Snowball's for English (Porter 2001); words of other languages pass through it
    the same way in documents and queries, so they still meet.

    Raises:
        BadInput: if PyStemmer is not installed.
    """
    return list(chain.from_iterable(map(_stems, _runs(text))))


def asked_terms(question: str) -> list[str]:
    """Terms of a question without the words that ask, where there are others."""
    every = terms(question)
    return [term for term in every if term not in ASKING] or every


@lru_cache(maxsize=1 << 18)
def _stems(run: str) -> tuple[str, ...]:
    stem = _stemmer().stemWord
    plain = ((word, word.isascii() and word.isalpha()) for word in _tokens(run))
    return tuple(stem(word) if letters else word for word, letters in plain)


@cache
def _stemmer() -> Any:
    return require("Stemmer", "the lexical index needs PyStemmer").Stemmer("english")


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies") and word[-4] not in "ae":
        return f"{word[:-3]}y"
    if len(word) > 3 and word.endswith("es") and word[-3] not in "aeo":
        return word[:-1]
    if len(word) > 3 and word.endswith("s") and word[-2] not in "us":
        return word[:-1]
    return word


def compound_parts(word: str, vocabulary: Container[str]) -> list[str]:
    """Words of the vocabulary that `word` is put together from, with linking letters between.

    The split with the longest first part wins; empty where the word is short or no split covers
    it, so that nothing is guessed.
    """
    if len(word) < _LEAST_COMPOUND or not word.isalpha():
        return []
    return _split(word, vocabulary)


def _split(word: str, vocabulary: Container[str]) -> list[str]:
    for end in range(len(word) - _LEAST_PART, _LEAST_PART - 1, -1):
        if word[:end] not in vocabulary:
            continue
        for link in _LINKS:
            tail = word[end + len(link) :]
            if word.startswith(link, end) and len(tail) >= _LEAST_PART:
                parts = [tail] if tail in vocabulary else _split(tail, vocabulary)
                if parts:
                    return [word[:end], *parts]
    return []
