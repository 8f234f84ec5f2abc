"""Right answers that a model wrote stay as they are, however it cites."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from harness.rag.ask import Answer, Citation
from harness.rag.ask.answering import check_citations

FORMS = ["{0}", "{0} litres", "The {1} holds {0} litres.", "It holds {0}.\n\nSee {2}."]
WORDS = st.text("abcdefghijklmnop", min_size=3, max_size=9)
NUMBERS = st.lists(st.integers(0, 9), max_size=3).map(lambda numbers: f" {numbers}" * bool(numbers))


def _uncited(text: str) -> str:
    return " ".join(re.sub(r"\s*\[[\d, ]+\]", "", text).split())


@settings(max_examples=500, deadline=None)
@given(WORDS, st.integers(0, 9999), WORDS, NUMBERS, st.sampled_from(FORMS))
def test_a_planted_right_answer_is_never_replaced(
    thing: str, litres: int, other: str, cited: str, form: str
) -> None:
    text = f"The {other} is empty. The {thing} holds {litres} litres. Nothing else is known."
    passages = (Citation(number=1, doc="a", source="a", start=0, end=len(text), text=text),)
    read = Answer(
        question=f"How much does the {thing} hold?", context="retrieve", arm="lexical",
        budget=99, tokens=9, tokenizer="estimate", passages=passages,
    )  # fmt: skip
    reply = form.format(litres, thing, other) + cited
    answer, citations, _ = check_citations(reply, read)
    assert _uncited(answer) == _uncited(reply)
    assert all(citation.number == 1 for citation in citations)
    assert set(re.findall(r"\[(\d+)", answer)) <= {"1"}
