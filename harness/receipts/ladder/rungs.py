"""Texts of the rungs: controls of the length of the skill, and the skill itself.

Length is counted in tokens of the body of SKILL.md, by the tokenizer of the project. A text counts
as equally long within 5 %.
"""

from __future__ import annotations

import random
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import BaseModel, TypeAdapter, ValidationError

from harness.agents import EXAMPLES_SECTION, NEAREST_SECTION, split_examples, worked_example
from harness.core import BadInput, Task, Value, first_fault, read_json
from harness.evals import LoadedSuite
from harness.evolve import MemoryItem
from harness.receipts.ladder.examples import Example
from harness.receipts.units import cut
from harness.skills import Skill, count_tokens, new_skill
from harness.tasks import output_file

TOLERANCE = 0.05
DRAWS = 60
"""Orders of the examples that are tried for one set; the one nearest to the length is taken."""
SHORTEST, LEAST_WORDS = 8, 20
"""Where no reply fits: how many of the shortest are drawn from, and words of their task."""
MODULE_USE = r"^\s*(?:from|import)\s+(?:{names})\b"
FORMS = {
    "em": "Answer with the bare answer: no sentence around it, no explanation.",
    "exact": "Answer with the bare answer, written exactly as it should be: nothing before or "
    "after it.",
    "f1": "Answer with the few words that answer the question, not with a sentence.",
    "contains": "The answer must hold the term or number that is asked for.",
    "numeric": "Answer with the number alone: no unit, no calculation.",
    "math": "End with the result alone.",
}
PROGRAM_FORM = "Reply with one complete Python program in one ```python block, and nothing else."
FILE_FORMS = {
    "output.xlsx": "The result is the workbook `output.xlsx`: save it under that name, with values "
    "and not with formulas, in the cells that the task names.",
    "output.csv": "The result is the file `output.csv`: a header, then one row a line, with commas "
    "between the cells.",
    "output.json": "The result is the file `output.json`: one JSON document, nothing else.",
}


class LessonRecord(BaseModel):
    """Lessons of an analyst's record, the part that is needed."""

    items: tuple[MemoryItem, ...] = ()


class DrawnSet(Value):
    """Worked examples of about a length.

    Attributes:
        body: of the skill that holds them.
        tokens: of the body.
        length: by which it was chosen: tokens as the model counts them where examples have weights.
        examples: ids of the tasks, in their order.
    """

    body: str
    tokens: int
    length: int
    examples: tuple[str, ...]


def control(skill: Skill, body: str) -> Skill:
    """A skill of the same name and description that has this text and no files."""
    name = skill.name or skill.directory or "skill"
    header = skill.header or new_skill(name, name).header
    return replace(
        skill, header=header, body=f"\n{body.strip()}\n", files={},
        executable=frozenset(),
    )  # fmt: skip


def tokens_of(skill: Skill | None) -> int:
    """Tokens of what a skill adds to a prompt: its body."""
    return body_tokens(skill.body.strip()) if skill is not None else 0


def body_tokens(body: str) -> int:
    """Tokens that a text adds to a prompt; of examples of which a task sees the nearest, a mean."""
    tokens, (heading, *lines) = count_tokens(body), body.split("\n")
    if not heading.startswith(EXAMPLES_SECTION) or heading == EXAMPLES_SECTION:
        return tokens
    examples = split_examples("\n".join([EXAMPLES_SECTION, *lines]))[1]
    return round(tokens * len(split_examples(body)[1]) / len(examples))


def near(tokens: int, target: int) -> bool:
    """Return True if a length counts as equal."""
    return abs(tokens - target) <= TOLERANCE * target


def filled(head: str, pieces: Iterable[str], tokens: int) -> str:
    """A head and as many pieces, one a line, as the length has room for; the last one is cut."""
    text = head
    for piece in pieces:
        part = shortened(piece, lambda words: count_tokens(f"{text}\n{words}") <= tokens)  # noqa: B023  # called at once
        if part:
            text = f"{text}\n{part}"
        if part != piece:
            break
    return text


def shortened(text: str, fits: Callable[[str], bool]) -> str:
    """The longest run of first words that fits; "" if not even one does."""
    words = text.split(" ")
    count = bisect_left(
        range(1, len(words) + 1), True, key=lambda end: not fits(" ".join(words[:end]))
    )
    return " ".join(words[:count])


def placebo(tokens: int) -> str:
    """Neutral text of ours of this length: sentences about a town by the sea."""
    sentences = (Path(__file__).parent / "placebo.txt").read_text("utf-8").splitlines()
    rounds = 1 + tokens // count_tokens("\n".join(sentences))
    return filled("# Notes\n", sentences * rounds, tokens)


def all_lessons(evolution: Path) -> list[str]:
    """Every lesson of an evolution in its order, each once.

    Raises:
        BadInput: if the folder holds no evolution, or one without a lesson.
    """
    path = evolution / "records.json"
    if not path.is_file():
        raise BadInput(
            f"--lessons: expected the folder of an evolution (with records.json), found none at "
            f"{str(evolution)!r}"
        )
    try:
        records = TypeAdapter(list[LessonRecord]).validate_python(read_json(path))
    except ValidationError as error:
        raise BadInput(f"{path}: {first_fault(error, 'records')}") from error
    lines = [item.line for record in records for item in record.items]
    if not (lessons := [line for line in dict.fromkeys(lines) if line]):
        raise BadInput(f"--lessons: the records of {str(evolution)!r} hold no lesson")
    return lessons


def lesson_list(lessons: Sequence[str], tokens: int) -> str:
    """The plain list of lessons, cut to this length."""
    return filled("# Lessons\n", [f"- {lesson}" for lesson in lessons], tokens)


def format_rule(suite: LoadedSuite, agent: str, answered: Sequence[Task]) -> str:
    """Describe the form of an answer, as the agent, the checks and answers of other splits tell.

    Args:
        suite: whose tasks will be attempted; only their checks are looked at.
        agent: its spec.
        answered: tasks of other splits, for the length of their answers.
    """
    checks = {task.check or ("em" if task.answer is not None else "") for task in suite.tasks}
    outputs = {output_file(task) for task in suite.tasks}
    rules = [PROGRAM_FORM] if agent == "graph:program" else []
    if outputs <= FILE_FORMS.keys():
        rules += [FILE_FORMS[name] for name in sorted(outputs)]
    elif agent == "graph:program":
        rules.append("The program prints the answer alone.")
    rules += [FORMS[check] for check in sorted(checks & FORMS.keys())]
    texts = [task.answer for task in answered if isinstance(task.answer, str)]
    lengths = sorted(len(text.split()) for text in texts)
    if lengths and checks <= FORMS.keys():
        most = lengths[int(0.9 * (len(lengths) - 1))]
        rules.append(f"Use at most {most} word{'s' if most > 1 else ''}, on one line.")
    rules = rules or ["Give the final answer alone, in the form that the task asks for."]
    return "\n".join(["# Answer format", "", *(f"- {rule}" for rule in rules)])


def prose_of(skill: Skill) -> Skill:
    """The skill without its scripts, and without the parts that name or import them."""
    parsed = cut(skill)
    stems = [Path(path).stem for path in skill.files if path.startswith("scripts/")]
    if not stems:
        return skill
    uses = re.compile(MODULE_USE.format(names="|".join(map(re.escape, stems))), re.MULTILINE)
    gone = {
        unit.number
        for unit in parsed.units
        if any(path.startswith("scripts/") for path in unit.files) or uses.search(unit.text)
    }
    part = parsed.render([unit.number for unit in parsed.units if unit.number not in gone])
    files = {path: data for path, data in part.files.items() if not path.startswith("scripts/")}
    return replace(part, files=files, executable=part.executable & files.keys())


def example_body(examples: Iterable[Example]) -> str:
    """Worked examples in the form that agents of one call lift out as turns."""
    texts = [worked_example(example.prompt.strip(), example.reply) for example in examples]
    return "\n\n".join([EXAMPLES_SECTION, *texts])


def nearest_examples(pool: Sequence[Example], tokens: int) -> str:
    """All examples, of which a task sees the nearest: as many as have at least this length."""
    body, length = example_body(pool), count_tokens(example_body(())) + sum(map(cost, pool))
    nearest = -(-tokens * len(pool) // length)
    return body.replace(EXAMPLES_SECTION, NEAREST_SECTION % min(nearest, len(pool)), 1)


def draw_sets(pool: Sequence[Example], tokens: int, count: int, seed: int) -> list[DrawnSet]:
    """Different random sets of examples of about this length.

    Whole examples are taken in a random order as long as there is room. If that leaves a set too
    short, a further example is added with the text of its task shortened, never its reply. If not
    even one reply fits, one of the shortest is taken with the beginning of its task: then the set
    is longer than asked for.

    Args:
        pool: verified examples, one a task.
        tokens: of each set.
        count: of the sets; fewer come back where the pool gives no more that differ.
        seed: of the draws.
    """
    rng = random.Random(seed)
    sets: dict[str, DrawnSet] = {}
    for _ in range(3 * count):
        drawn = drawn_set(rng.sample(list(pool), len(pool)), tokens)
        for _ in range(DRAWS):
            if drawn.length >= tokens * (1 - TOLERANCE):
                break
            again = drawn_set(rng.sample(list(pool), len(pool)), tokens)
            drawn = min(drawn, again, key=lambda row: abs(row.length - tokens))
        sets.setdefault(drawn.body, drawn)
        if len(sets) == count:
            break
    return list(sets.values())


def cost(example: Example) -> int:
    """Tokens that a worked example adds to a text, times its weight."""
    text = worked_example(example.prompt, example.reply)
    return round(example.weight * count_tokens(f"\n\n{text}"))


def drawn_set(order: Sequence[Example], tokens: int) -> DrawnSet:
    """The first examples of an order that fit, and one with its task shortened to fit."""
    most = tokens * (1 + TOLERANCE)
    selected: list[Example] = []
    length = count_tokens(example_body(()))
    for example in order:
        if length + (more := cost(example)) <= most:
            selected.append(example)
            length += more
        if length >= tokens * (1 - TOLERANCE):
            break
    if length < tokens * (1 - TOLERANCE):
        for example in order:
            if example in selected:
                continue
            room = most - length
            prompt = shortened(
                example.prompt,
                lambda text: cost(example.model_copy(update={"prompt": text})) <= room,  # noqa: B023  # called at once
            )
            if prompt:
                selected.append(example.model_copy(update={"prompt": prompt}))
                length += cost(selected[-1])
                break
    if not selected:
        short = sorted(
            order, key=lambda row: (cost(row.model_copy(update={"prompt": ""})), row.task)
        )[:SHORTEST]
        example = next(example for example in order if example in short)
        prompt = " ".join(example.prompt.split(" ")[:LEAST_WORDS])
        selected = [example.model_copy(update={"prompt": prompt})]
        length += cost(selected[0])
    body = example_body(selected)
    return DrawnSet(
        body=body, tokens=count_tokens(body), length=length,
        examples=tuple(example.task for example in selected),
    )  # fmt: skip
