"""Which language a text is written in, as far as retrieval needs it: by script, then by words."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache

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
    "en": "the of and to is that was with are this from which what how who when does it for by",
    "de": "der die das und ist nicht ein eine mit von auf den dem zu wird auch für wie was sich",
    "nl": "het een van en is dat op niet voor met aan zijn wordt ook door bij naar hoe wat",
    "sv": "och att det som är på av för med inte den ett till har om vad hur kan från",
    "da": "og at det som er på af for med ikke den til har om hvad hvordan kan fra blev",
    "no": "og det som er på av for med ikke den til har om hva hvordan kan fra ble jeg",
    "fi": "ja on ei se että joka mutta kun oli hän ovat myös sekä tai kuin mitä miten",
    "fr": "le la les et des est une dans pour que qui sur pas du au par avec comment quelle",
    "es": "el los las y es una en por que con para del se su como más qué cuál",
    "pt": "o os as e é uma em por que com para do da não dos como mais foi quem",
    "it": "il gli di che è una per con non della sono nel dei del alla come più chi",
    "pl": "i w na z jest się nie do że to jak przez od po czy oraz",
    "cs": "a v na je se že s z do to jak pro od po byl jako které",
    "hu": "a az és hogy nem egy is ez van volt meg mint vagy csak",
    "tr": "ve bir bu için ile olarak olan de da en çok ne nasıl daha",  # noqa: RUF001  # Turkish has this letter
    "ro": "și în de la cu este pe nu din care pentru mai să sunt",
    "id": "yang dan di dari untuk dengan ini itu pada tidak adalah dalam akan",
    "vi": "và của là có trong cho không được các một những với này",
}
_WORDS = {language: frozenset(words.split()) for language, words in _FUNCTION_WORDS.items()}
_LANGUAGES: dict[str, list[str]] = {}
for _language, _known in _WORDS.items():
    for _word in _known:
        _LANGUAGES.setdefault(_word, []).append(_language)
_UKRAINIAN = re.compile("[іїєґ]")
COMPOUNDING = frozenset({"de", "nl", "sv", "da", "no", "fi", "hu"})
"""Languages that write compound nouns as one word."""


@cache
def _script(letter: str) -> str:
    return unicodedata.name(letter, "?").split()[0].removesuffix("-")


def identify_language(text: str) -> str | None:
    """ISO 639-1 code, or None where too little speaks for one language.

    A table of figures or a part number has no language; a sentence of function words has. Reads
    the first 20,000 characters.
    """
    sample = text[:_SAMPLE].lower()
    scripts = Counter(map(_script, filter(str.isalpha, sample[:2000])))
    letters = sum(scripts.values())
    for script, language in _SCRIPTS.items():  # Japanese before Chinese: it uses both scripts
        if letters and scripts[script] >= letters / 10:
            return "uk" if language == "ru" and _UKRAINIAN.search(sample) else language
    words = Counter(re.findall(r"[^\W\d_]+", sample))
    votes: Counter[str] = Counter(dict.fromkeys(_WORDS, 0))
    for word in words.keys() & _LANGUAGES.keys():
        for language in _LANGUAGES[word]:
            votes[language] += words[word]
    (best, most), (_, second) = votes.most_common(2)
    enough = max(2, sum(words.values()) / 20)
    return best if most >= enough and most > second else None
