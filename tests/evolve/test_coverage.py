"""Equally supported rules are ordered by how much they add to what the skill says already."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.core import Edit, Patch
from harness.evolve.merge.coverage import by_coverage
from harness.evolve.merge.skill_layout import assemble
from harness.evolve.rules import Member, Outcome, Rule
from harness.skills import apply_patch, new_skill

SORT = "Sort the rows by date before you number them."
SORT_AGAIN = "Before you number the rows, sort them by date."
ROUND = "Round prices to two digits."
LESSONS = [
    Member(wording="Rows must be sorted by date, then numbered.", sources=("a",)),
    Member(wording="Number the rows once they are sorted by date.", sources=("b",)),
    Member(wording="Prices have two digits: round them.", sources=("c",)),
]


def order(wordings: list[str], support: list[int], sections: list[str]) -> list[str]:
    numbers = by_coverage(wordings, support, sections, LESSONS, {})
    return [wordings[number] for number in numbers]


def test_one_idea_in_other_words_comes_after_another_idea() -> None:
    assert order([SORT, SORT_AGAIN, ROUND], [2, 2, 2], ["x"] * 3)[1] == ROUND


def test_a_section_with_fewer_rules_comes_first() -> None:
    assert order([SORT, SORT_AGAIN, ROUND], [3, 2, 2], ["x", "y", "x"]) == [SORT, SORT_AGAIN, ROUND]


def test_what_fits_no_section_comes_after_its_equals() -> None:
    assert order([SORT, ROUND], [2, 2], ["", "x"]) == [ROUND, SORT]
    assert order([SORT, ROUND], [3, 2], ["", "x"]) == [SORT, ROUND]


def test_tasks_count_the_same_however_many_lessons_they_taught() -> None:
    chatty = [Member(wording=f"Round prices to {n} digits.", sources=("a",)) for n in range(9)]
    other = [Member(wording=SORT, sources=(name,)) for name in ("b", "c")]
    assert by_coverage([ROUND, SORT], [2, 2], ["x", "x"], [*chatty, *other], {}) == [1, 0]


@given(
    st.lists(
        st.tuples(
            st.sampled_from([SORT, SORT_AGAIN, ROUND, "!"]),
            st.integers(1, 4),
            st.sampled_from(["", "x", "y"]),
        )
    )
)
def test_every_rule_has_a_place_and_support_comes_first(rows: list[tuple[str, int, str]]) -> None:
    texts, support = [text for text, _, _ in rows], [count for _, count, _ in rows]
    numbers = by_coverage(texts, support, [section for *_, section in rows], LESSONS, {})
    assert sorted(numbers) == list(range(len(rows)))
    counts = [support[number] for number in numbers]
    assert counts == sorted(counts, reverse=True)


def placed(*rules: tuple[str, int, bool], max_rules: int) -> str:
    """SKILL.md from rules (text, support, whether praise) that quote nothing."""
    edits: list[Edit] = []
    rested: list[Rule] = []
    for text, support, praise in rules:
        sources = tuple(f"{text} {n}" for n in range(support))
        content = f"- {text}"
        edits.append(
            Edit(
                file="SKILL.md", op="append_to_section", target_section="Lessons",
                content=content, sources=sources, support=support,
            )
        )  # fmt: skip
        member = Member(wording=text, sources=sources)
        rested.append(Rule(content=content, praise=praise, members=(member,), outcome=Outcome()))
    seed = new_skill("tables", "Rules.", "\n# Tables\n")
    final, _ = assemble(seed, edits, {}, rested, min_support=2, max_rules=max_rules)
    return apply_patch(seed, Patch(edits=final)).skill.text


def test_where_nothing_is_quoted_better_supported_praise_precedes_blame() -> None:
    text = placed((ROUND, 2, False), (SORT, 5, True), max_rules=1)
    assert SORT in text
    assert ROUND not in text
