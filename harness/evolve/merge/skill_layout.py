"""Layout of rules: the heading that each is filed under, SKILL.md or the reference file.

A heading is the skill's own, a topic (a noun that many titles share, such as "formula"), or a
phase that any agent's work goes through. English words; rules in other languages go under one
heading. Trace2Skill (section 2.3) asks for prevalent patterns in SKILL.md and low-support
observations in references.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from harness.core import Edit
from harness.evolve.merge.coverage import by_coverage
from harness.evolve.merge.lessons import Lesson, of_edit, support
from harness.evolve.merge.similarity import tfidf_similarities
from harness.evolve.merge.wording import content_words, says_something, specific
from harness.evolve.rules import Rule
from harness.evolve.types import Discarded, Size
from harness.skills import Skill, count_tokens, sections

PHASES: dict[str, str] = {
    "Look before you change": "inspect explore discover examine discovery inspection existence"
    " exist structure dimensions assume header preview list locate detect detection identify"
    " understand before mapping search assumption",
    "Stay in scope and preserve the rest": "preserve preservation overwrite original source copy"
    " backup scope boundary boundaries range specified in-place merged retain untouched protect"
    " protection clear stale safety directory separate separation delete deletion",
    "Handle types, gaps and text": "type types none null empty blank string numeric isinstance"
    " date convert conversion coerce normalize case whitespace mixed missing nan regex substring"
    " try except fallback error defensive tolerance",
    "Build it robustly": "dynamic hardcode hardcoded programmatically iterate loop reference"
    " template reverse library openpyxl pandas index offset helper buffer memory style format"
    " object attribute api",
    "Check before you finish": "verify verification validate validation after saving reload re-read"
    " confirm compare count log report summary output completion coverage expected post-save"
    " evaluate result",
}  # fmt: skip
FALLBACK = "Other rules"
# Heading of the section that a new skill begins with.
GUIDE = "How to use this skill"
# Smallest and largest share of the titles that hold a topic.
TOPIC_SHARE = (0.15, 0.45)
EXISTING_SIMILARITY = 0.12
_NO_TOPIC_WORDS = (
    "pattern validate validation verify verification output cell handl handle access check target"
    " type data string preservation preserve dynamic safe operation result execution before after"
    " construction multi aware reference source range row column sheet workbook sheets"
)
_NO_TOPIC = frozenset(_NO_TOPIC_WORDS.split())
REFERENCE = "references/further-rules.md"
REFERENCE_RULES: dict[Size, int] = {"compact": 0, "standard": 60, "full": 200}
# The one section of a compact skill, and the tokens of the body of a new one.
RULES, COMPACT_TOKENS = "Rules", 230
# Share of the places of SKILL.md that rare rules have before all others.
RESERVED = 0.25
# Rules whose lessons a rule may cover, the best supported, and lessons of each.
COMPARED, LESSONS = 1000, 20
Place = Literal["main", "unquoted", "rare", "praise", "more"]
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
    places: dict[str, list[tuple[Lesson, Edit]]] = {
        "main": [], "unquoted": [], "rare": [], "praise": [], "more": [],
    }  # fmt: skip
    for edit in merged:
        for lesson in of_edit(edit):
            rule = rested.get(lesson.for_readers(), Rule(content=""))
            places[_place(rule, edit.support, min_support)].append((lesson, edit))
    lines = skill.text.split("\n")
    own = {
        section.title: "\n".join(lines[section.content : section.end])
        for section in sections(lines)
        if section.level == 2
    }
    reserved = min(len(places["rare"]), int(RESERVED * max_rules))
    first = [*places["main"], *covering(places["unquoted"], rested, tasks, own), *places["praise"]]
    main = first[: max_rules - reserved]
    rare = places["rare"][: max_rules - len(main)]
    strong = [*main, *rare]
    if size == "compact":
        orders = {rule.content: rule.outcome.order or len(merged) for rule in rules}
        strong.sort(key=lambda pair: orders.get(pair[0].for_readers(), len(merged)))
        strong = fitting(skill, strong)
    placed = set(map(id, strong))
    unplaced = [*first, *places["rare"], *places["more"]]
    unplaced = [pair for pair in unplaced if id(pair) not in placed]
    further = [pair for pair in unplaced if says_something(pair[0].text)]
    further.sort(key=lambda pair: not specific(pair[0].text))
    edits = _edits("SKILL.md", strong, own, RULES if size == "compact" else "")
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
    chosen: list[tuple[Lesson, Edit]] = []
    for rule in rules:
        longer = f"{text}{rule[0].for_readers()}\n"
        if count_tokens(longer) <= COMPACT_TOKENS:
            chosen.append(rule)
            text = longer
    return chosen


def covering(
    rules: Sequence[tuple[Lesson, Edit]],
    rested: Mapping[str, Rule],
    tasks: Mapping[str, str],
    own: Mapping[str, str],
) -> list[tuple[Lesson, Edit]]:
    """Rules in the order in which they get a place: support, then what the skill has least of.

    Args:
        rules: to order.
        rested: content -> what a rule rests on, of these rules and the others.
        tasks: trajectory id -> task id.
        own: headings of the seed -> text of their sections.
    """
    unquoted = [rule for rule in rested.values() if not rule.quoted][:COMPARED]
    headings = file_under([lesson for lesson, _ in rules], own)
    places = by_coverage(
        [lesson.wording for lesson, _ in rules],
        [edit.support for _, edit in rules],
        ["" if heading == FALLBACK else heading for heading in headings],
        [member for rule in unquoted for member in rule.members[:LESSONS]],
        tasks,
    )
    return [rules[place] for place in places]


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
    alone = rule.outcome.standing == "cause" and not rule.outcome.passed
    compared = rule.outcome.of_failed + rule.outcome.of_passed > 0
    if support >= min_support and (rule.related or alone or not (compared and rule.signs)):
        return "main"
    return "rare" if alone and rule.related else "more"


def _edits(
    file: str, rules: Sequence[tuple[Lesson, Edit]], own: Mapping[str, str], section: str = ""
) -> list[Edit]:
    """One edit a rule, so that each line has its sources.

    Every edit is an `add_section`, which appends where the section is already there. A new
    section is placed behind the nearest one that comes before it in the order of the work. Edits
    are applied best supported first, and that is their order here.
    """
    rules = sorted(rules, key=lambda pair: -pair[1].support)
    lessons = [lesson for lesson, _ in rules]
    headings = [section] * len(rules) if section else file_under(lessons, own)
    new_headings = order([heading for heading in headings if heading not in own])
    present = list(own)
    edits: list[Edit] = []
    for (lesson, edit), heading in zip(rules, headings, strict=True):
        after = ""
        if heading not in present:
            earlier = [
                name for name in new_headings[: new_headings.index(heading)] if name in present
            ]
            seeds = [name for name in present if name not in new_headings]
            after = next(iter(earlier[-1:] or seeds[-1:]), "")
            present.append(heading)
        edits.append(
            Edit(
                file=file,
                op="add_section",
                target_section=f"## {heading}",
                after_section=after,
                content=lesson.for_readers(),
                sources=edit.sources,
                support=edit.support,
            )
        )
    return edits


def file_under(rules: Sequence[Lesson], existing: Mapping[str, str] | None = None) -> list[str]:
    """A heading for every rule.

    Args:
        rules: the rules, best supported first.
        existing: headings of the skill -> text of their sections; used where they fit.
    """
    # How the skill is read is no place for a rule.
    existing = {name: text for name, text in (existing or {}).items() if name != GUIDE}
    names = [name for name, text in existing.items() if text.strip()]
    own: dict[int, str] = {}
    if names and rules:
        texts = [rule.wording for rule in rules] + [f"{name}. {existing[name]}" for name in names]
        scores = tfidf_similarities(texts[: len(rules)], texts[len(rules) :])
        for index, best in enumerate(scores.argmax(axis=1)):
            if scores[index, int(best)] >= EXISTING_SIMILARITY:
                own[index] = names[int(best)]
    # The skill's own heading for a phase: the first that begins with the same word.
    same = {
        phase: name
        for phase in PHASES
        for name in reversed(list(existing))
        if name.casefold().split()[:1] == phase.casefold().split()[:1]
    }
    phase_stems = {phase: frozenset(content_words(text)) for phase, text in PHASES.items()}
    # Topics: stem -> heading of the nouns, three at most, that a fair share of the titles hold.
    low, high = (share * len(rules) for share in TOPIC_SHARE)
    counts = Counter(stem for rule in rules for stem in set(content_words(rule.title)))
    excluded = _NO_TOPIC.union(*phase_stems.values())
    common = [
        stem
        for stem, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        if max(low, 3) <= count <= high and stem.isalpha() and stem not in excluded
    ]
    title_words = [word for rule in rules for word in re.findall(r"[^\W\d_]+", rule.title)]
    topics: dict[str, str] = {}
    for stem in common[:3]:
        nouns = [word.lower() for word in title_words if content_words(word) == (stem,)]
        noun = max(sorted(set(nouns)), key=nouns.count)
        topics[stem] = (noun if noun.endswith("s") else f"{noun}s").capitalize()
    headings: list[str] = []
    for index, rule in enumerate(rules):
        title, text = content_words(rule.title), set(content_words(rule.text))
        heading = own.get(index) or next((topics[stem] for stem in topics if stem in title), "")
        if not heading:
            scores_of = {
                phase: 2 * len(stems & set(title)) + len(stems & text)
                for phase, stems in phase_stems.items()
            }
            heading = max(scores_of, key=lambda phase: scores_of[phase])
            heading = heading if scores_of[heading] else FALLBACK
        headings.append(same.get(heading, heading))
    return headings


def order(headings: Sequence[str]) -> list[str]:
    """Distinct headings: phases in the order of the work, topics between building and checking."""
    phases = list(PHASES)
    distinct = list(dict.fromkeys(headings))

    def place(heading: str) -> tuple[float, int]:
        if heading in PHASES:
            return float(phases.index(heading)), 0
        return (99.0 if heading == FALLBACK else len(phases) - 1.5), distinct.index(heading)

    return sorted(distinct, key=place)
