"""Register of existing tasks: duplicates, leaks of given suites, and splits by document."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import get_args

from harness.core import BadInput, Task, digest, grouped
from harness.evals import Split, load_suite
from harness.synth.types import Proposal
from harness.tasks.answers import normalise

ALIKE = 0.8
"""Share of common words (Jaccard) above which two questions with one answer are duplicates."""
SHARES: dict[Split, float] = {"train": 0.4, "test": 0.3, "selection": 0.3}
"""The gate needs as many tasks as an evaluation: with few, a skill that helps is not told apart."""


class Registry:
    """Questions by their words and answers.

    Two questions are the same if their words are, in order and normalised; or if they share an
    answer and 80 % of their words. A task with files of its own is another one where its files are.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._by_answer: dict[str, list[tuple[frozenset[str], str]]] = {}

    def add(self, question: str, answers: Iterable[str], name: str, files: str = "") -> None:
        """Know a task from now on, by a name for messages."""
        text = normalise(question)
        self._names.setdefault(f"{text}\0{files}", name)
        if not files:
            for answer in set(map(normalise, answers)):
                row = frozenset(text.split()), name
                self._by_answer.setdefault(answer, []).append(row)

    def same(self, question: str, answers: Iterable[str], files: str = "") -> str:
        """The name of a task that is the same; "" if there is none."""
        text = normalise(question)
        if name := self._names.get(f"{text}\0{files}"):
            return name
        words = frozenset(text.split())
        for answer in [] if files else sorted(set(map(normalise, answers))):
            for known_words, name in self._by_answer.get(answer, ()):
                if len(words & known_words) >= ALIKE * len(words | known_words):
                    return name
        return ""

    def add_proposal(self, proposal: Proposal) -> None:
        """Know a proposal."""
        self.add(proposal.question, proposal.answers, proposal.id, _files(proposal))

    def same_proposal(self, proposal: Proposal) -> str:
        """The name of a task that is the same as a proposal."""
        return self.same(proposal.question, proposal.answers, _files(proposal))


def _files(proposal: Proposal) -> str:
    return digest(proposal.files) if proposal.files else ""


def suite_tasks(reference: str) -> list[Task]:
    """The tasks of all splits of a suite.

    Raises:
        BadInput: if there is no such suite.
    """
    tasks = {task.id: task for task in load_suite(reference).tasks}
    for split in get_args(Split):
        with suppress(BadInput):
            tasks |= {task.id: task for task in load_suite(reference, split).tasks}
    return [*tasks.values()]


def known_suites(references: Iterable[str]) -> Registry:
    """The tasks of suites that nothing may leak from."""
    registry = Registry()
    for reference in references:
        for task in suite_tasks(reference):
            answers = task.answer if isinstance(task.answer, list) else [task.answer]
            name = f"{task.id} of {reference}"
            for files in {"", digest(task.files) if task.files else ""}:
                registry.add(task.prompt, [str(answer) for answer in answers], name, files)
    return registry


def split_by_origin(proposals: Sequence[Proposal]) -> dict[str, Split]:
    """Proposal id -> split; two that share a document, directly or over others, share a split.

    The largest groups go first, each to the split that lacks most of its share (most to train); the
    last ones to splits that have none.
    """
    from scipy.cluster.hierarchy import DisjointSet

    origins = {proposal.id: proposal.origin or (f"\0{proposal.id}",) for proposal in proposals}
    documents = DisjointSet(document for origin in origins.values() for document in origin)
    for first, *further in origins.values():
        for document in further:
            documents.merge(first, document)
    groups = grouped((documents[origin[0]], id_) for id_, origin in origins.items())
    splits: dict[str, Split] = {}
    counts = dict.fromkeys(SHARES, 0)
    ordered = sorted(groups.items(), key=lambda row: (-len(row[1]), digest(row[0])))
    for remaining, (_, members) in zip(range(len(ordered), 0, -1), ordered, strict=True):
        empty: list[Split] = [name for name in SHARES if not counts[name]]
        split = max(
            empty if remaining <= len(empty) else SHARES,
            key=lambda name: SHARES[name] * len(proposals) - counts[name],
        )
        counts[split] += len(members)
        splits |= dict.fromkeys(members, split)
    return splits
