"""The description of a new skill: when a client should open it, in the words of those who ask.

A client shows its model names and descriptions and nothing else, so a skill that describes itself
in its own words is never opened. The words come from the prompts of the tasks that taught the
skill: what is asked for (verbs), of what (nouns), in which files. A word that one task alone
uses, a name, a number or a term of the benchmark is not taken. Several candidates are made of
half of the prompts; the one that opens best for the other half, and least for requests that
belong to other skills, is chosen: by `harness skill trigger` with a model where there is one,
else by shared words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from textwrap import shorten
from typing import Any

from harness.core import (
    LimitReached,
    Trajectory,
    Unreachable,
    Usage,
    Value,
    plugins,
    render,
)
from harness.evolve.analysts.json_reply import ask_json
from harness.evolve.merge.similarity import tfidf_similarities
from harness.evolve.merge.wording import content_words, residue, stem
from harness.evolve.requests import FEWEST, Words, file_endings, requests, words_of
from harness.models import Model
from harness.skills import header_text, lint_text, new_skill, validate

LONGEST = 500  # characters of a description; clients refuse more than 1,024
QUERY = 400  # characters of a prompt that is asked
# A model is shown so many prompts, and asked as many for each candidate, and as many of others; of
# the candidates by rule it judges the best by words.
QUERIES, BY_RULE = 8, 3
FILE_SHARE = 0.15
NEARLY = 0.05  # merits that differ less are the same: one prompt in twenty
# Below such a merit a request is shown, of so many characters at most and so many words at least.
UNCLEAR, REQUEST, WORDY = 0.5, 120, 3
FEWEST_LABELS = 3  # of the parts of requests that say nothing else in common
SHARED = 2  # words that a description and a request share before a client opens the skill

_INNER_NAME = re.compile(r"(?<=[a-z,;] )(?:[A-Z]\w*|\d\w*)")


class Candidate(Value):
    """A description, and how it did.

    Attributes:
        text: the description.
        recall: share of prompts of the tasks that open the skill.
        wrong: share of requests for others, or for none, that open it.
    """

    text: str
    recall: float = 0.0
    wrong: float = 0.0

    @property
    def merit(self) -> float:
        """Recall minus false openings (Youden's J)."""
        return self.recall - self.wrong


class Described(Value):
    """The description that a skill gets, and among what it was chosen.

    Attributes:
        text: the description, "" if the tasks say too little.
        by: `words`, or the model that was asked.
        candidates: all of them, the best first.
        usage: of the model's calls.
    """

    text: str = ""
    by: str = "words"
    candidates: tuple[Candidate, ...] = ()
    usage: Usage = Usage()


Measure = Callable[..., Coroutine[Any, Any, tuple[list[Candidate], Usage]]]
"""`(name, descriptions, prompts, rivals, strangers, model)`: how each description does."""


async def describe_tasks(
    name: str,
    trajectories: Iterable[Trajectory],
    terms: frozenset[str] = frozenset(),
    model: Model | None = None,
) -> Described:
    """Describe one trajectory of every task like :func:`describe`; by words if no model answers."""
    prompts: list[str] = []
    files: list[str] = []
    for trajectory in trajectories:
        prompts.append(trajectory.prompt)
        files += file_endings(f"{trajectory.prompt} {trajectory.harness.get('task')}")
    try:
        return await describe(name, prompts, files, terms, model)
    except (LimitReached, Unreachable):
        # A skill that is ready must not be lost for its description.
        return await describe(name, prompts, files, terms)


async def describe(
    name: str,
    prompts: Sequence[str],
    files: Iterable[str],
    terms: frozenset[str] = frozenset(),
    model: Model | None = None,
) -> Described:
    """The description of the skill `name` from the tasks that taught it.

    Args:
        name: of the skill.
        prompts: one a task, what its user asked.
        files: endings of the files of each task, such as `xlsx`, one a task and kind.
        terms: words of the benchmark that may not be in it.
        model: writes candidates of its own and chooses; None for shared words alone.

    Raises:
        Unreachable, LimitReached: from the model.
    """
    taught, unseen = list(prompts[::2]), list(prompts[1::2] or prompts)
    common = [
        ending
        for ending, count in Counter(files).most_common()
        if count >= max(FEWEST, FILE_SHARE * len(prompts))
    ]
    texts, usage = drafts(name, words_of(taught, terms), common), Usage()
    written: list[str] = []
    if model is not None and prompts:
        written, usage = await written_drafts(name, taught, common, terms, model)
        texts += written
    texts = [text for text in dict.fromkeys(map(header_text, texts)) if fits(name, text, terms)]
    if not texts:
        return Described(text=typical_request(name, prompts, terms), usage=usage)
    # A rival of the same kind would get what is meant for this skill.
    about = {*content_words(name.replace("-", " ")), *common}
    library = [
        rival
        for rival in requests().rivals
        if not about & {stem(word) for word in re.findall(r"\w+", rival.description.lower())}
    ]
    rivals = [rival.description for rival in library]
    foreign = [query for rival in library for query in rival.requests]
    foreign += requests().strangers
    by = "words"
    rows = ranked([by_words(text, unseen, rivals, foreign) for text in texts])
    if model is not None and "choose" in plugins.plugins("triggers"):
        measure: Measure = plugins.load("triggers", "choose")
        queries = [" ".join(prompt.split())[:QUERY] for prompt in unseen[:QUERIES]]
        tried = [row.text for row in rows if row.text not in written][:BY_RULE]
        tried += [text for text in written if text in texts]
        strangers = foreign[:: -(-len(foreign) // QUERIES)]
        measured, spent = await measure(name, tried, queries, rivals, strangers, model)
        usage += spent
        if measured:
            by, rows = model.spec, ranked(measured)
    if rows[0].merit < UNCLEAR and (example := typical_request(name, prompts, terms)):
        rows = [Candidate(text=example), *rows]  # words that hardly any other request has
    return Described(text=rows[0].text, by=by, candidates=tuple(rows), usage=usage)


def typical_request(name: str, prompts: Sequence[str], terms: frozenset[str]) -> str:
    """A description by the request that is most like all others, without its names and numbers.

    It is for tasks that share no words of their own, such as notes of customers; "" where there is
    hardly a request, or a term of the benchmark is left.
    """
    if len(prompts) < FEWEST:
        return ""
    texts = [header_text(prompt) for prompt in prompts]
    likeness = tfidf_similarities(texts).sum(axis=1)
    typical = _INNER_NAME.sub("…", min(zip(-likeness, texts, strict=True))[1])
    first, _, ending = typical.partition(" ")
    begin = sum(text.startswith(f"{first} ") for text in texts)
    if begin < FEWEST and not any(first.lower() in text.split() for text in texts):
        typical = f"… {ending}"  # perhaps a name: no other request begins with it, or has it inside
    quoted = shorten(typical.replace('"', ""), REQUEST, placeholder="…")
    title = name.replace("-", " ").capitalize()
    text = f'{title}. Use for requests like this: "{quoted.rstrip(".")}".'
    return text if len(quoted.split()) >= WORDY and fits(name, text, terms) else ""


def fits(name: str, text: str, terms: frozenset[str]) -> bool:
    """Return True if a description may be written: not refused, and no benchmark term in it."""
    problems = validate(new_skill(name, text))
    errors = any(problem.level == "error" for problem in problems)
    return not errors and not any(lint_text(text)) and not residue(text, terms)


def ranked(rows: Sequence[Candidate]) -> list[Candidate]:
    """The best candidates first.

    Of (nearly) equals one that says what it is not for; then the shorter, which costs less.
    """
    best = max(row.merit for row in rows)

    def place(row: Candidate) -> tuple[bool, bool, float]:
        worse = row.merit < best - NEARLY
        return worse, " Not for " not in row.text, -row.merit if worse else len(row.text)

    return sorted(rows, key=place)


def drafts(name: str, words: Words, files: Sequence[str]) -> list[str]:
    """Descriptions by rule, from short to rich; none where the prompts say too little."""
    kinds_by_ending = requests().by_ending
    kinds = list(dict.fromkeys(kinds_by_ending[ending].kind for ending in files))[:2]
    endings = ", ".join(f".{ending}" for ending in files[:3])
    where = f" in {_listed(kinds, 'and')} ({endings})" if kinds else ""
    excluded = kinds_by_ending[files[0]].not_for if files else requests().not_for
    excluded = f" Not for {excluded}."
    title = name.replace("-", " ").capitalize()
    if not words.nouns and not kinds:
        parts = f"{title}. Use for requests that give {_listed(words.labels[:6], 'and')}."
        return [parts + excluded, parts] if len(words.labels) >= FEWEST_LABELS else []
    asks, labels = _listed(words.questions[:4], "or"), _listed(words.labels[:3], "and")
    texts: list[str] = []
    for verbs, nouns in ((0, 4), (4, 4), (6, 8), (10, 14)):
        actions = _listed(words.verbs[:verbs], "or")
        objects = _listed(words.nouns[:nouns], "or") or "data"
        also = f", also with {_listed(words.terms[:3], 'or')}" if verbs > 4 and words.terms else ""
        inputs = f"; the request gives its {labels}" if labels else ""
        triggers = [
            f"Use when the user asks to {actions} {objects}{where}" if actions else "",
            f"Use when a question asks {asks}, about {objects}{where}" if asks else "",
            "" if actions or asks else f"Use when a request is about {objects}{where}",
        ]
        for trigger in filter(None, triggers):
            texts += [f"{title}. {trigger}{also}{inputs}.{end}" for end in (excluded, "")]
    return [text for text in dict.fromkeys(texts) if len(text) <= LONGEST]


def by_words(
    text: str, queries: Sequence[str], rivals: Sequence[str], foreign: Sequence[str]
) -> Candidate:
    """Measure a description with a client that opens what shares most words with a request."""

    def rate(queries: Sequence[str]) -> float:
        opened = sum(opens(text, query[:QUERY], rivals) for query in queries)
        return opened / len(queries) if queries else 0.0

    return Candidate(text=text, recall=rate(queries), wrong=rate(foreign))


def opens(description: str, request: str, rivals: Sequence[str]) -> bool:
    """Return True if a request shares two words or more with a description, with no rival more.

    What a description says that it is not for counts against it.
    """
    words = set(content_words(request))

    def shared(text: str) -> int:
        positive, _, negative = text.partition(" Not for ")
        return len(words & set(content_words(positive))) - len(words & set(content_words(negative)))

    overlap = shared(description)
    return overlap >= SHARED and overlap >= max(map(shared, rivals), default=0)


def _listed(words: Sequence[str], last: str) -> str:
    """Words as a list in a sentence."""
    *head, tail = words or ("",)
    return f"{', '.join(head)} {last} {tail}" if head else tail


async def written_drafts(
    name: str, prompts: Sequence[str], files: Sequence[str], terms: frozenset[str], model: Model
) -> tuple[list[str], Usage]:
    """Candidates by a model; those with a word of one task alone are not taken."""

    def read(data: Mapping[str, Any]) -> list[str]:
        texts = data.get("descriptions")
        if not isinstance(texts, list) or not texts:
            raise ValueError('expected {"descriptions": ["...", "..."]}')
        return [" ".join(str(text).split()) for text in texts[:3]]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  # JSON

    excerpts = [" ".join(text.split())[:QUERY] for text in prompts[:QUERIES]]
    kinds = [requests().by_ending[ending].kind for ending in files]
    prompt = render("skill_describe", name=name.replace("-", " "), tasks=excerpts, kinds=kinds)
    texts, _, usage = await ask_json(model, prompt, read)
    # A name or number that is in the prompts, but in one of them alone.
    counts = Counter(word for text in prompts for word in set(re.findall(r"\w+", text.lower())))
    drafts = [
        text
        for text in texts or ()
        if 20 <= len(text) <= LONGEST
        and not set("<>") & set(text)
        and not any(0 < counts[word.lower()] < FEWEST for word in _INNER_NAME.findall(text))
    ]
    return drafts, usage
