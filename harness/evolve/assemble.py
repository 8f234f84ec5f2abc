"""From rules with support to the edits of one patch: what goes where in the skill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.core import Edit
from harness.evolve.merge.deterministic import support
from harness.evolve.merge.lessons import Lesson, of_edit
from harness.evolve.merge.themes import GUIDE, file_under, order
from harness.evolve.types import Discarded
from harness.skills import Skill, sections

REFERENCE = "references/further-rules.md"
REFERENCE_RULES = 200
REFERENCE_INTRO = (
    "# Further rules\n\n"
    "Each was learned from one or two tasks only: evidence that it helps is thin. Read the "
    "section that fits when a rule in SKILL.md is not enough."
)
LINK = f"- [{REFERENCE}]({REFERENCE}): further rules, by the same themes, learned from fewer tasks."


def assemble(
    skill: Skill,
    merged: Sequence[Edit],
    tasks: Mapping[str, str],
    *,
    min_support: int,
    max_rules: int,
) -> tuple[tuple[Edit, ...], tuple[Discarded, ...]]:
    """The final edits, and what found no place.

    Rules with `min_support` distinct tasks go to SKILL.md, best first and at most `max_rules`;
    the others to a reference file that SKILL.md links. Edits that are no rules (replacements, new
    files) stay as they are if they have the support.

    Args:
        skill: the seed, whose sections are used where they fit.
        merged: merged edits with `sources` and `support`, best supported first.
        tasks: trajectory id -> task id.
    """
    rules = [(lesson, edit) for edit in merged for lesson in of_edit(edit)]
    others = [edit for edit in merged if not of_edit(edit)]
    strong = [pair for pair in rules if pair[1].support >= min_support]
    root, rest = strong[:max_rules], strong[max_rules:]
    rest += [pair for pair in rules if pair[1].support < min_support]
    own = own_sections(skill)
    edits = _edits("SKILL.md", root, own)
    discarded = [
        _discarded(edit, f"support {edit.support}: below {min_support} distinct tasks")
        for edit in others
        if edit.support < min_support
    ]
    edits += [edit for edit in others if edit.support >= min_support]
    referenced, dropped = rest[:REFERENCE_RULES], rest[REFERENCE_RULES:]
    if referenced and REFERENCE not in skill.files:
        edits += _reference(referenced, tasks)
    elif referenced:
        edits += _edits(REFERENCE, referenced, {})
    discarded += [
        _discarded(edit, f"support {edit.support}, and {REFERENCE} is full") for _, edit in dropped
    ]
    return tuple(edits), tuple(discarded)


def own_sections(skill: Skill) -> dict[str, str]:
    """Headings below the title of SKILL.md -> the text of their sections."""
    lines = skill.text.split("\n")
    return {
        section.title: "\n".join(lines[section.content : section.end])
        for section in sections(lines)
        if section.level == 2
    }


def _edits(file: str, rules: Sequence[tuple[Lesson, Edit]], own: Mapping[str, str]) -> list[Edit]:
    """One edit a rule, in the order in which they are applied, so that each line has its sources.

    Every edit is an `add_section`, which appends where the section is already there. A new
    section is placed behind the nearest one that comes before it in the order of the work.
    """
    # How the skill is read is no place for a rule.
    places = {heading: text for heading, text in own.items() if heading != GUIDE}
    headings = file_under([lesson for lesson, _ in rules], places)
    wanted = order([heading for heading in headings if heading not in own])
    present = list(own)
    found: list[Edit] = []
    for (lesson, edit), heading in zip(rules, headings, strict=True):
        found.append(
            Edit(
                file=file,
                op="add_section",
                target_section=f"## {heading}",
                after_section=_predecessor(heading, wanted, present),
                content=lesson.for_readers(),
                sources=edit.sources,
                support=edit.support,
            )
        )
        if heading not in present:
            present.append(heading)
    return found


def _predecessor(heading: str, wanted: Sequence[str], present: Sequence[str]) -> str:
    """The section to stand behind: the nearest earlier one there is, else the seed's last."""
    if heading in present or heading not in wanted:
        return ""
    earlier = [name for name in wanted[: wanted.index(heading)] if name in present]
    seeds = [name for name in present if name not in wanted]
    return earlier[-1] if earlier else (seeds[-1] if seeds else "")


def _reference(rules: Sequence[tuple[Lesson, Edit]], tasks: Mapping[str, str]) -> list[Edit]:
    """A new reference file, the link to it, and its rules."""
    sources = tuple(sorted({source for _, edit in rules for source in edit.sources}))
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
    return [create, *_edits(REFERENCE, rules, {}), link]


def _discarded(edit: Edit, reason: str) -> Discarded:
    return Discarded(
        content=edit.content or f"{edit.op} {edit.file} {edit.target_section}".strip(),
        reason=reason,
        sources=edit.sources,
        support=edit.support,
    )
