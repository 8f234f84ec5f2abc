"""Layout of rules: SKILL.md or the reference file, and the heading that each is filed under.

A heading is the skill's own where one fits, else one for all rules. Trace2Skill (section 2.3) asks
for prevalent patterns in SKILL.md and low-support observations in references.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from harness.core import Edit
from harness.evolve.merge.coverage import by_coverage
from harness.evolve.merge.lessons import Lesson, of_edit, support
from harness.evolve.merge.similarity import tfidf_similarities
from harness.evolve.merge.wording import says_something, specific
from harness.evolve.rules import Rule
from harness.evolve.types import Discarded, Size
from harness.skills import Skill, count_tokens, sections

# Heading of the section that a new skill begins with.
GUIDE = "How to use this skill"
EXISTING_SIMILARITY = 0.12
REFERENCE = "references/further-rules.md"
REFERENCE_RULES: dict[Size, int] = {"compact": 0, "standard": 60, "full": 200}
# The section of rules that fit none of the seed's, and the tokens of the body of a compact skill.
RULES, COMPACT_TOKENS = "Rules", 230
# Share of the places of SKILL.md that rare rules have before all others.
RESERVED = 0.25
# Rules whose lessons a rule may cover, the best supported, and lessons of each.
COMPARED, LESSONS = 1000, 20
Place = Literal["main", "unquoted", "rare", "praise", "more"]
REFERENCE_INTRO = (
    "# Further rules\n\n"
    "Each was learned from one or two tasks only: evidence that it helps is thin. Read the "
    "rules that fit when those in SKILL.md are not enough."
)
LINK = f"- [{REFERENCE}]({REFERENCE}): further rules, learned from fewer tasks."


def assemble(
    skill: Skill,
    merged: Sequence[Edit],
    tasks: Mapping[str, str],
    rules: Sequence[Rule] = (),
    *,
    min_support: int,
    max_rules: int,
    size: Size = "standard",
) -> tuple[tuple[Edit, ...], tuple[Discarded, ...]]:
    """The final edits, and what found no place.

    Rules with `min_support` distinct tasks go to SKILL.md, the best supported first, and so do rare
    ones that explain failures which those do not; they have a share of the `max_rules` places
    before all others. The rest goes to a reference file that SKILL.md links, those first that say
    when they apply or name what they are about. A compact skill has what fits 230 tokens, causes
    first, and no reference. Edits that are no rules (replacements, new files) stay as they are if
    they have the support.

    Args:
        skill: the seed, whose sections are used where they fit.
        merged: merged edits with `sources` and `support`, best supported first.
        tasks: trajectory id -> task id.
        rules: what they rest on, judged by the runs.
        min_support: distinct tasks that a rule of SKILL.md needs.
        max_rules: rules that SKILL.md gains at most.
        size: how much is written of the rules.
    """
    rested = {rule.content: rule for rule in rules}
    groups: dict[str, list[tuple[Lesson, Edit]]] = {
        "main": [], "unquoted": [], "rare": [], "praise": [], "more": [],
    }  # fmt: skip
    for edit in merged:
        for lesson in of_edit(edit):
            rule = rested.get(lesson.for_readers(), Rule(content=""))
            groups[_place(rule, edit.support, min_support)].append((lesson, edit))
    lines = skill.text.split("\n")
    own_sections = {
        section.title: "\n".join(lines[section.content : section.end])
        for section in sections(lines)
        if section.level == 2
    }
    reserved = min(len(groups["rare"]), int(RESERVED * max_rules))
    first = [
        *groups["main"],
        *covering(groups["unquoted"], rested, tasks, own_sections),
        *groups["praise"],
    ]
    main = first[: max_rules - reserved]
    rare = groups["rare"][: max_rules - len(main)]
    strong = [*main, *rare]
    if size == "compact":
        orders = {rule.content: rule.outcome.order or len(merged) for rule in rules}
        strong.sort(key=lambda pair: orders.get(pair[0].for_readers(), len(merged)))
        strong = fitting(skill, strong)
    placed = set(map(id, strong))
    unplaced = [*first, *groups["rare"], *groups["more"]]
    unplaced = [pair for pair in unplaced if id(pair) not in placed]
    further = [pair for pair in unplaced if says_something(pair[0].text)]
    further.sort(key=lambda pair: not specific(pair[0].text))
    edits = _edits("SKILL.md", strong, own_sections, RULES if size == "compact" else "")
    discarded: list[Discarded] = []
    for edit in merged:
        if of_edit(edit):
            continue
        if edit.support >= min_support:
            edits.append(edit)
        else:
            reason = f"support {edit.support}: below {min_support} distinct tasks"
            discarded.append(Discarded.of(edit, reason))
    room = REFERENCE_RULES[size]
    referenced = further[:room]
    reference = _edits(REFERENCE, referenced, {})
    if referenced and REFERENCE not in skill.files:
        sources = tuple(sorted({source for _, edit in referenced for source in edit.sources}))
        count = support(sources, tasks)
        create = Edit(
            file=REFERENCE, op="create", content=REFERENCE_INTRO, sources=sources, support=count
        )
        link = Edit(
            file="SKILL.md",
            op="add_section",
            target_section="## References",
            content=LINK,
            sources=sources,
            support=count,
        )
        reference = [create, *reference, link]
    full = f"{REFERENCE} is full" if room else f"a compact skill has {COMPACT_TOKENS} tokens"
    discarded += [
        Discarded.of(edit, f"support {edit.support}, and {full}") for _, edit in further[room:]
    ]
    empty = [pair for pair in unplaced if not says_something(pair[0].text)]
    discarded += [Discarded.of(edit, "a rule without content") for _, edit in empty]
    return (*edits, *reference), tuple(discarded)


def fitting(skill: Skill, rules: Sequence[tuple[Lesson, Edit]]) -> list[tuple[Lesson, Edit]]:
    """The rules that a compact skill has room for, the best first.

    The body of a new skill counts; what a person wrote into a seed does not.
    """
    title, _, written = skill.body.strip().partition("\n")
    text = f"{'' if written.strip() else title}\n\n## {RULES}\n\n"
    fitted: list[tuple[Lesson, Edit]] = []
    for rule in rules:
        longer = f"{text}{rule[0].for_readers()}\n"
        if count_tokens(longer) <= COMPACT_TOKENS:
            fitted.append(rule)
            text = longer
    return fitted


def covering(
    rules: Sequence[tuple[Lesson, Edit]],
    rested: Mapping[str, Rule],
    tasks: Mapping[str, str],
    sections: Mapping[str, str],
) -> list[tuple[Lesson, Edit]]:
    """Rules in the order in which they get a place: support, then what the skill has least of.

    Args:
        rules: to order.
        rested: content -> what a rule rests on, of these rules and the others.
        tasks: trajectory id -> task id.
        own: headings of the seed -> text of their sections.
    """
    unquoted = [rule for rule in rested.values() if not rule.quoted][:COMPARED]
    order = by_coverage(
        [lesson.wording for lesson, _ in rules],
        [edit.support for _, edit in rules],
        file_under([lesson for lesson, _ in rules], sections),
        [member for rule in unquoted for member in rule.members[:LESSONS]],
        tasks,
    )
    return [rules[index] for index in order]


def _place(rule: Rule, support: int, min_support: int) -> Place:
    """Place a rule; a rare one explains failures alone, and no passed run shows it.

    So does one with support, but no word in common with what it quotes, where runs were compared:
    it may be about nothing.
    Praise of passed runs may be of a habit of all: unless it was measured, it comes after the rest.
    Where lessons quote nothing, nothing tells blame from praise but support.
    """
    if rule.members and not rule.quoted:
        return "unquoted" if support >= min_support else "more"
    if rule.praise and rule.outcome.standing == "not measured":
        return "praise" if support >= min_support else "more"
    explains = rule.outcome.standing == "cause" and not rule.outcome.passed
    compared = rule.outcome.of_failed + rule.outcome.of_passed > 0
    if support >= min_support and (rule.related or explains or not (compared and rule.signs)):
        return "main"
    return "rare" if explains and rule.related else "more"


def _edits(
    file: str, rules: Sequence[tuple[Lesson, Edit]], sections: Mapping[str, str], section: str = ""
) -> list[Edit]:
    """One edit a rule, so that each line has its sources.

    Every edit is an `add_section`, which appends where the section is already there. Edits are
    applied best supported first, and that is their order here.
    """
    rules = sorted(rules, key=lambda pair: -pair[1].support)
    lessons = [lesson for lesson, _ in rules]
    headings = [section] * len(rules) if section else file_under(lessons, sections)
    last = next(reversed([*sections]), "")
    edits: list[Edit] = []
    for (lesson, edit), heading in zip(rules, headings, strict=True):
        edits.append(
            Edit(
                file=file,
                op="add_section",
                target_section=f"## {heading}",
                after_section="" if heading in sections else last,
                content=lesson.for_readers(),
                sources=edit.sources,
                support=edit.support,
            )
        )
    return edits


def file_under(rules: Sequence[Lesson], existing: Mapping[str, str]) -> list[str]:
    """A heading for every rule.

    Args:
        rules: the rules, best supported first.
        existing: headings of the skill -> text of their sections; used where they fit.
    """
    # How the skill is read is no place for a rule.
    names = [name for name, text in existing.items() if name != GUIDE and text.strip()]
    headings = [RULES] * len(rules)
    if names and rules:
        texts = [rule.wording for rule in rules] + [f"{name}. {existing[name]}" for name in names]
        scores = tfidf_similarities(texts[: len(rules)], texts[len(rules) :])
        for index, best in enumerate(scores.argmax(axis=1)):
            if scores[index, int(best)] >= EXISTING_SIMILARITY:
                headings[index] = names[int(best)]
    return headings
