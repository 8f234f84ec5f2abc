"""Claims of lessons about what code does, each run as a small program in a sandbox.

A lesson is refuted if running shows that something it takes for granted is not so: what a call
does (`claim_shapes.yaml`), a name or a parameter (`api_names`), the code that it brings, or the
program that its analyst wrote beside it. What no program can settle is no claim here.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal

from harness.core import BadInput, Edit, Patch, Value, read_yaml, temporary_work_folder
from harness.evolve.merge import claim_runner
from harness.evolve.merge.api_names import (
    OBJECTS,
    advised_against,
    free_names,
    name_claims,
    objects_of,
    prelude,
)
from harness.evolve.merge.lessons import Lesson, of_edit
from harness.evolve.rules import Claim, ClaimCheck, ClaimResult
from harness.evolve.types import Discarded, Sifted
from harness.skills import Execute

# Programs that share one start of the sandbox.
TOGETHER = 40
# Characters before a match that a negation or a hedge may stand in.
BEFORE = 25
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\s[\u2013\u2014]\s?|\u2014")
_NEGATION = re.compile(
    r"\b(?:not|never|no|cannot|without|instead of|rather than|fails? to)\b"
    r"(?! (?:just|only|merely))|n't\b",
    re.IGNORECASE,
)
_ADVICE = re.compile(
    r"(?:\bdo not|\bdon't|\bnever) (?:rely|trust|use|depend|count)\b", re.IGNORECASE
)
_HEDGE = re.compile(
    r"\b(?:assum\w*|guarantee\w*|may|might|could|whether|unless|depend\w*)\b", re.IGNORECASE
)
_ERROR = re.compile(r"\b[A-Z]\w*Error\b")
_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
# A call of the object itself is one of a method of that name: `cell(row=1)`. A method with empty
# brackets is named, not called: `wb.save()`.
_CALLED = re.compile(rf"(?<![.\w])(?:{'|'.join(OBJECTS)})\(|^[\w.]+\(\)")
# A type in the place of a value stands for one: `cell(row=int)`.
_TYPES = re.compile(r"[=(,]\s*(?:int|str|float|list|dict)\b(?!\()")
_INLINE = re.compile(r"`([^`\n]+)`")


class Shape(Value):
    """One statement about code that a sentence may make: see `claim_shapes.yaml`.

    Attributes:
        name: the statement.
        says: patterns of a sentence that asserts it.
        denies: patterns of one that asserts the opposite.
        about: words of which the sentence must hold one.
        unless: a pattern that must not stand in the sentence.
        turns: whether a negation turns the claim round.
        program: judges it.
    """

    name: str
    about: tuple[str, ...]
    says: tuple[str, ...]
    denies: tuple[str, ...] = ()
    unless: str = ""
    turns: bool = True
    program: str


def check(
    lessons: Sequence[Lesson], execute: Execute | None, programs: Mapping[str, str] | None = None
) -> ClaimCheck:
    """Find the claims of every lesson and run their programs.

    Args:
        lessons: to check.
        execute: runs a command in a sandbox; None where there is none.
        programs: text of a lesson -> the program that its analyst wrote.
    """
    claims = [
        (number, claim)
        for number, lesson in enumerate(lessons)
        for claim in claims_of(lesson, (programs or {}).get(lesson.text, ""))
    ]
    if not claims:
        return ClaimCheck()
    if execute is None:
        return ClaimCheck(note=f"{len(claims)} claims were not run: there is no sandbox")
    try:
        ends, packages = _run([claim for _, claim in claims], execute)
    except BadInput as error:  # no back end of the sandbox runs on this machine
        return ClaimCheck(note=f"{len(claims)} claims were not run: {error}")
    results = [
        _judged(number, lessons[number], claim, ends[claim.program]) for number, claim in claims
    ]
    unjudged = [result.printed for result in results if result.verdict == "not judged"]
    note = ""
    if 2 * len(unjudged) > len(results):
        reason = Counter(unjudged).most_common(1)[0][0].rpartition("\n")[2]
        note = f"{len(unjudged)} of {len(results)} claims were not judged: {reason}"
    return ClaimCheck(results=tuple(results), packages=packages, note=note)


def sift(
    patches: Sequence[Patch], execute: Execute | None, programs: Mapping[str, str] | None = None
) -> tuple[tuple[Patch, ...], Sifted]:
    """Patches without the lessons that running refutes, and what was run.

    An edit stays as it is where none of its lessons is refuted.

    Args:
        patches: whose lessons are checked.
        execute: as for :func:`check`.
        programs: as for :func:`check`.
    """
    rows = [(lesson, edit) for patch in patches for edit in patch.edits for lesson in of_edit(edit)]
    checked = check([lesson for lesson, _ in rows], execute, programs)
    refuted = checked.refuted()
    discarded = tuple(
        Discarded(
            content=result.content, reason=result.reason, sources=result.sources,
            support=rows[number][1].support, claim=result,
        )
        for number, result in sorted(refuted.items())
    )  # fmt: skip
    number = 0
    sifted: list[Patch] = []
    for patch in patches:
        remaining: list[Edit] = []
        for edit in patch.edits:
            lessons = of_edit(edit)
            true = [lessons[i] for i in range(len(lessons)) if number + i not in refuted]
            number += len(lessons)
            if len(true) == len(lessons):
                remaining.append(edit)
            elif true:
                content = "\n".join(lesson.markdown() for lesson in true)
                remaining.append(edit.model_copy(update={"content": content}))
        sifted.append(patch.model_copy(update={"edits": tuple(remaining)}))
    return tuple(sifted), Sifted(discarded=discarded, checked=checked)


def claims_of(lesson: Lesson, program: str = "") -> list[Claim]:
    """The claims of one lesson, each once.

    Args:
        lesson: its sentences, inline code and fenced code are read.
        program: what its analyst wrote to check it.
    """
    claims: dict[tuple[str, bool], Claim] = {}
    objects = objects_of(f"{lesson.wording} {lesson.code}")
    for sentence in _SENTENCE.split(lesson.text):
        stated = behaviour_claims(sentence)
        name_checks = (
            Claim(sentence=sentence, kind="name", **claim._asdict())
            for claim in name_claims(sentence, lesson.wording)
        )
        for claim in (*stated, *name_checks):
            claims.setdefault((claim.subject, claim.asserted), claim)
        for code in _inline_code(sentence, objects):
            claims[code, True] = _runs(sentence, "its code runs", code, "code")
    for code in _fenced_code(lesson.code, objects):
        claims[code, True] = _runs(lesson.text, "its code runs", code, "code")
    if program:
        subject = "the program of its analyst ends without an error"
        claims[program, True] = _runs(lesson.text, subject, program, "analyst")
    return list(claims.values())


def _runs(sentence: str, subject: str, program: str, kind: Literal["code", "analyst"]) -> Claim:
    return Claim(sentence=sentence, subject=subject, asserted=True, program=program, kind=kind)


@lru_cache(maxsize=20_000)  # lessons of many runs repeat sentences
def behaviour_claims(sentence: str) -> tuple[Claim, ...]:
    """Extract a sentence's claims about the behaviour of code."""
    return tuple(_behaviour_claims(sentence))


def _behaviour_claims(sentence: str) -> Iterator[Claim]:
    lowered = sentence.lower()
    for shape, says, denies in _shapes():
        if not any(word in lowered for word in shape.about):
            continue
        if shape.unless and re.search(shape.unless, sentence, re.IGNORECASE):
            continue
        opposite = ((match, False) for pattern in denies for match in pattern.finditer(sentence))
        matches = ((match, True) for pattern in says for match in pattern.finditer(sentence))
        for match, asserted in (*opposite, *matches):
            context = sentence[max(0, match.start() - BEFORE) : match.end()]
            if _HEDGE.search(context):
                continue
            if not asserted:  # "do not rely on it, which ..." denies once
                context = _ADVICE.sub("", context)
            turned = shape.turns and len(_NEGATION.findall(context)) % 2 == 1
            fields = match.groupdict()
            if "error" in fields:
                fields["error"] = " or ".join(dict.fromkeys(_ERROR.findall(sentence)))
            yield Claim(
                sentence=sentence,
                subject=_filled(shape.name, fields),
                asserted=asserted != turned,
                program=_filled(shape.program, fields),
                kind="behaviour",
            )
            break


def _fenced_code(text: str, objects: frozenset[str]) -> Iterator[str]:
    """Python blocks that need no more than the objects that lessons are about, made first.

    A block that does not parse is yielded as it is: running it says so.
    """
    for tag, block in _FENCE.findall(text):
        code = textwrap.dedent(block)
        try:
            names = free_names(code)
        except SyntaxError as error:
            sketch = "expected an indented block" in str(error)  # a comment in place of a body
            if tag in ("py", "python") and not sketch:
                yield code
            continue
        if names <= objects:
            yield f"{prelude(names)}\n{code}"


def _inline_code(sentence: str, objects: frozenset[str]) -> Iterator[str]:
    """Code between backticks that needs the same; a fragment or a formula does not parse."""
    for match in _INLINE.finditer(sentence):
        try:
            names = free_names(match[1])
        except SyntaxError:
            continue
        # A name alone says nothing that `api_names` does not look up.
        acts = re.search(r"[=(\[]", match[1]) and not advised_against(sentence, match.start())
        acts = acts and not _CALLED.search(match[1]) and not _TYPES.search(match[1])
        if acts and names and names <= objects:
            yield f"{prelude(names)}\n{match[1]}\n"


@cache
def _shapes() -> list[tuple[Shape, list[re.Pattern[str]], list[re.Pattern[str]]]]:
    """Every shape with its patterns; one with cases is one shape per case."""
    data: Any = read_yaml(Path(__file__).with_name("claim_shapes.yaml"))
    shapes: list[tuple[Shape, list[re.Pattern[str]], list[re.Pattern[str]]]] = []
    for row in data["shapes"]:
        for case in row.pop("cases", [{}]):
            fields = {name: str(text) for name, text in case.items()}
            texts = {name: _filled(row[name], fields) for name in ("name", "program")}
            words = data["words"] | fields
            texts["unless"] = _pattern(row.get("unless", ""), words)
            about = tuple(row["about"].lower().split())
            shape = Shape.model_validate({**row, **texts, "about": about})
            says, denies = (
                [re.compile(_pattern(text, words), re.IGNORECASE) for text in patterns]
                for patterns in (shape.says, shape.denies)
            )
            shapes.append((shape, says, denies))
    return shapes


def _pattern(text: str, words: Mapping[str, str]) -> str:
    """A pattern with its words (which may name words) and gaps filled in."""
    return _filled(_filled(text, words), words).replace("\u2026", ".{0,60}?")


def _filled(text: str, fields: Mapping[str, str]) -> str:
    """A text with the fields that it names in braces; other braces stay as they are."""
    return re.sub(r"\{(\w+)\}", lambda match: fields.get(match[1], match[0]), text)


def _run(claims: Iterable[Claim], execute: Execute) -> tuple[dict[str, Any], dict[str, str]]:
    """Run every program once: program -> how it ended, and versions of packages.

    What a model wrote never shares a start of the sandbox with programs of ours.
    """
    kinds = {claim.program: claim.kind for claim in claims}
    generated = sorted(text for text, kind in kinds.items() if kind in ("behaviour", "name"))
    ends: dict[str, Any] = {}
    packages: dict[str, str] = {}
    runner = Path(claim_runner.__file__).read_bytes()
    for programs in (generated, sorted(kinds.keys() - set(generated))):
        for start in range(0, len(programs), TOGETHER):
            batch = programs[start : start + TOGETHER]
            rows = [{"program": text, "code": kinds[text] == "code"} for text in batch]
            files = {"claim_runner.py": runner, "programs.json": json.dumps(rows).encode()}
            with temporary_work_folder("claims-") as folder:
                finished = execute(["python3", "claim_runner.py"], workdir=folder, files=files)
            lines = finished.stdout.splitlines()
            if finished.exit_code == 0 and lines:
                answer = json.loads(lines[-1])
                packages |= answer["packages"]
                ends |= zip(batch, answer["ends"], strict=True)
            else:
                reason = (finished.stderr.splitlines() or ["a limit ended it"])[-1]
                ends |= {text: {"holds": None, "printed": "", "error": reason} for text in batch}
    return ends, packages


def _judged(number: int, lesson: Lesson, claim: Claim, end: Mapping[str, Any]) -> ClaimResult:
    holds = None if end["holds"] is None else bool(end["holds"]) == claim.asserted
    return ClaimResult(
        lesson=number,
        content=lesson.wording,
        sources=lesson.sources,
        claim=claim,
        verdict="not judged" if holds is None else "holds" if holds else "refuted",
        printed="\n".join(filter(None, (end["printed"], end["error"]))),
    )
