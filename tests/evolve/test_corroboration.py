"""Evidence counts for the rule that it speaks for."""

from __future__ import annotations

from harness.evolve.merge.evidence import corroborated, signs_of
from harness.evolve.merge.lessons import Lesson
from harness.evolve.merge.similarity import measure, similar_groups

CANCELLED = (
    "Skip cancelled orders in every sum.",
    "Leave cancelled orders out of the sum.",
    "Never add cancelled orders to a sum.",
)
SHOUT = "Write the names of customers in capital letters."
IDLE = "Think step by step and stay calm."


Judged = tuple[list[list[int]], dict[int, str]]
"""Groups of lessons, and why the others support nothing."""


def _judged(*said: tuple[str, str]) -> tuple[Judged, list[Lesson]]:
    """Lessons with a quote each, every one of another task."""
    lessons = [Lesson(title="", text=text, sources=(f"t{n}",)) for n, (text, _) in enumerate(said)]
    citations = {(f"t{n}", text): (quote,) for n, (text, quote) in enumerate(said) if quote}
    by = measure("lexical")
    groups = similar_groups([one.wording for one in lessons], by)
    signs = signs_of(lessons, citations, {})
    return corroborated(groups, lessons, signs, by), lessons


def _texts(found: Judged, lessons: list[Lesson]) -> list[set[str]]:
    return [{lessons[at].text for at in group} for group in found[0]]


def test_without_quotes_nothing_changes() -> None:
    said = [(CANCELLED[0], ""), (CANCELLED[0], ""), (IDLE, ""), (IDLE, "")]
    found, lessons = _judged(*said)
    assert _texts(found, lessons) == [{CANCELLED[0]}, {IDLE}]
    assert found[1] == {}


def test_an_invention_that_quotes_the_signs_of_others_supports_nothing() -> None:
    skipped = [(text, "row 4 counted, though cancelled") for text in CANCELLED for _ in range(3)]
    small = [(SHOUT, "customer: Farrant"), (SHOUT, "customer: Farrant")] * 3
    idle = [(IDLE, "Then row 9 counted, though cancelled."), (IDLE, "I copied customer: Farrant")]
    found, lessons = _judged(*skipped, *small, *idle)
    assert not any(IDLE in texts for texts in _texts(found, lessons))
    assert sorted(lessons[at].text for at in found[1]) == [IDLE, IDLE]
    assert "from many more tasks" in found[1][len(lessons) - 1]


def test_quotes_of_its_own_keep_a_rule() -> None:
    skipped = [(CANCELLED[0], "row 4 counted, though cancelled")] * 6
    idle = [(IDLE, "a quote that nobody else has"), (IDLE, "another one of that kind")]
    found, lessons = _judged(*skipped, *idle)
    assert {IDLE} in _texts(found, lessons) and found[1] == {}


def test_paraphrases_that_stand_alone_meet_at_their_sign() -> None:
    apart = [
        ("Put a zero as none.", "so 0 it is"),
        ("An empty count reads: nothing.", "so 0 it is"),
    ]
    found, lessons = _judged(*apart, (SHOUT, "customer: Farrant"))
    assert {text for text, _ in apart} in _texts(found, lessons)


def test_a_lone_paraphrase_joins_the_rule_of_its_sign() -> None:
    rule = [(CANCELLED[0], "row 4 counted, though cancelled")] * 3
    found, lessons = _judged(
        *rule, ("What was called off is void.", "row 7 counted, though cancelled")
    )
    assert _texts(found, lessons) == [{CANCELLED[0], "What was called off is void."}]


def test_a_dissenting_opinion_from_the_same_sign_is_left_out() -> None:
    odd = "Ask a customer politely for letters."
    sign = "row 4 counted, though cancelled"
    agreed = [(text, sign) for text in CANCELLED]
    other = [(f"{SHOUT[:-1]} {word}.", "customer: Farrant") for word in ("always", "too", "now")]
    found, lessons = _judged(*agreed * 2, *other, *[(odd, sign)] * 3)
    assert not any(odd in texts for texts in _texts(found, lessons))
    assert {"conclude something else" in reason for reason in found[1].values()} == {True}


def test_the_order_of_lessons_does_not_matter() -> None:
    said = [(text, "row 4 counted, though cancelled") for text in CANCELLED] * 2
    said += [(IDLE, "row 2 counted, though cancelled"), (SHOUT, "customer: Farrant")] * 2
    one, lessons = _judged(*said)
    two, turned = _judged(*said[::-1])
    as_sets = [sorted(map(sorted, _texts(*pair))) for pair in ((one, lessons), (two, turned))]
    assert as_sets[0] == as_sets[1]
