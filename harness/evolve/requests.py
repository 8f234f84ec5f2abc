"""Requests in prompts: the words that many of them use, and the kinds of their files.

English, without a tagger; the word lists lie in `requests.yaml`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path

from harness.core import Value, read_yaml
from harness.evolve.merge.wording import stem

PROMPT = 1500  # characters of a prompt that are read
# A word is what users say where so many tasks hold it, at least this share and this number of them;
# a label is one of most, a question one that is asked often.
SHARE, FEWEST = 0.04, 2
MOST, OFTEN = 0.5, 0.1
_LABEL = re.compile(r"(?m)(?:^(?:[#*-] *)?|(?<=[.;] ))([A-Z][a-z]{3,12}(?: [a-z]+){0,2}):(?=\s)")
_QUESTION = re.compile(r"\b(?:how (?:many|much|often|long)|who|when|where|which|what|why)\b")
_ENDING = re.compile(r"[\w)\]]\.([a-z]{2,5})\b", re.IGNORECASE)
_TOKEN = re.compile(r"[^\W\d_]+(?:['\u2019][a-z]+)?|[.!?:;\n]|\S")
_ASKING = re.compile(r"[^.?!:\n]+\?")


class FileKind(Value):
    """Files of some endings: what they are, and what a skill about them is not for."""

    endings: tuple[str, ...]
    kind: str
    not_for: str


class Rival(Value):
    """Another skill of a library: its description, and requests for it."""

    description: str
    requests: tuple[str, ...]


class Requests(Value):
    """Content of `requests.yaml`: kinds of files, requests of others, and words by their use."""

    files: tuple[FileKind, ...]
    not_for: str
    rivals: tuple[Rival, ...]
    strangers: tuple[str, ...]
    articles: str
    before_verbs: str
    no_verbs: str
    no_nouns: str
    stop_words: str

    @cached_property
    def by_ending(self) -> dict[str, FileKind]:
        """Ending -> the kind of file."""
        return {ending: kind for kind in self.files for ending in kind.endings}

    @cached_property
    def words(self) -> dict[str, frozenset[str]]:
        """Name of a list of words -> the words."""
        names = ("articles", "before_verbs", "no_verbs", "no_nouns", "stop_words")
        lists = {name: frozenset(getattr(self, name).split()) for name in names}
        return lists | {"stop_words": lists["stop_words"] | lists["articles"]}


@cache
def requests() -> Requests:
    """Read `requests.yaml`."""
    return Requests.model_validate(read_yaml(Path(__file__).with_name("requests.yaml")))


class Words(Value):
    """Words of the prompts of tasks, most frequent first: verbs, nouns, names in capitals.

    Attributes:
        verbs: what is asked for: calculate, delete.
        nouns: of what: column, row.
        terms: abbreviations: VBA.
        labels: of the parts of most prompts: text, question.
        questions: what is asked, where most prompts are questions: who, how many.
    """

    verbs: tuple[str, ...] = ()
    nouns: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()


def file_endings(document: str) -> set[str]:
    """Endings of the files that a text names, of the kinds that are known here."""
    endings = (match.lower() for match in _ENDING.findall(document))
    return {ending for ending in endings if ending in requests().by_ending}


def words_of(prompts: Sequence[str], terms: frozenset[str] = frozenset()) -> Words:
    """The words that several prompts use, by what they are used as.

    Without a tagger: what follows "to", or begins a sentence before an article, is asked for; the
    last word of content behind an article is what it is asked of. A word with a capital inside of
    a sentence is a name.
    """
    uses: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    forms: dict[str, Counter[str]] = defaultdict(Counter)
    modified: dict[str, list[tuple[str, int]]] = defaultdict(list)
    lists = requests().words
    for number, prompt in enumerate(prompts):
        for label in set(_LABEL.findall(prompt[:PROMPT])):
            uses["label"][label.lower()].add(number)
        for sentence in _ASKING.findall(prompt.lower()):
            for question in _QUESTION.findall(sentence)[:1]:
                uses["question"][question].add(number)
        tokens = [".", *_TOKEN.findall(prompt[:PROMPT]), "."]
        words = [token.lower() for token in tokens]
        article = False
        for index in range(1, len(tokens) - 1):
            token, (before, word, after) = tokens[index], words[index - 1 : index + 2]
            article = before in lists["articles"] or (article and _has_content(before))
            begins = before in ".!?:;\n"
            if not _has_content(word):
                continue
            key = _key(word)
            if token.isupper():
                uses["term"][token].add(number)
            elif token[0].isupper() and not begins:
                uses["name"][key].add(number)
            else:
                forms[key][word] += 1
                if (before in lists["before_verbs"] and after.isalpha()) or (
                    begins and after in lists["articles"]
                ):
                    uses["verb"][key].add(number)
                elif before in lists["articles"] and not _has_content(after):
                    uses["noun"][key].add(number)
                elif article and not _has_content(after):
                    modified[key].append((_key(before), number))
    # "the blank rows", but not "the person sits": what is a noun elsewhere modifies none here.
    nouns = frozenset(uses["noun"])
    for key, pairs in modified.items():
        uses["noun"][key] |= {number for modifier, number in pairs if modifier not in nouns}
    least = max(FEWEST, SHARE * len(prompts))

    def common(use: str, against: str, banned: frozenset[str]) -> tuple[str, ...]:
        """Words of that use, most tasks first."""
        counts = {
            key: len(tasks)
            for key, tasks in uses[use].items()
            if len(tasks) >= least
            and len(tasks) > len(uses[against].get(key, ()))
            and len(tasks) > len(uses["name"].get(key, ()))
            and not {key, *forms[key]} & (banned | terms)
        }
        keys = sorted(counts, key=lambda key: (-counts[key], key))
        words = (_form(forms[key], plural=use == "noun") for key in keys)
        return tuple(word for word in words if use == "verb" or not word.endswith(("ed", "ing")))

    def usual(use: str, share: float) -> tuple[str, ...]:
        """List words that at least that share of the prompts holds, most first."""
        rows = [(-len(tasks), text) for text, tasks in uses[use].items()]
        return tuple(
            text for count, text in sorted(rows) if -count >= max(FEWEST, share * len(prompts))
        )

    asking = sum("?" in prompt for prompt in prompts)
    return Words(
        verbs=common("verb", "noun", lists["no_verbs"]),
        nouns=common("noun", "verb", lists["no_nouns"]),
        terms=tuple(term for term in usual("term", SHARE) if len(term) < 7),
        labels=usual("label", MOST),
        questions=usual("question", OFTEN) if 2 * asking > len(prompts) else (),
    )


def _has_content(word: str) -> bool:
    return len(word) > 2 and word.isalpha() and word not in requests().words["stop_words"]


def _key(word: str) -> str:
    """One key for the forms of a word; of short ones, too."""
    key = stem(word).rstrip("e")
    return key[:-1] if key.endswith("s") and len(key) == 4 else key


def _form(forms: Counter[str], plural: bool) -> str:
    """The form that users say most, of nouns the plural if they say it."""
    plurals = [form for form in forms if form.endswith("s") and form[:-1] in forms]
    return plurals[0] if plural and plurals else forms.most_common(1)[0][0]
