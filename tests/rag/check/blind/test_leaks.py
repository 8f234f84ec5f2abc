"""No request to a Checker gives anything away: 10,000 generated cases and the known tricks."""

from __future__ import annotations

import random
import re

import pytest

from harness.rag.check.blind import (
    BlindRequest,
    Leaked,
    Vault,
    blinded,
    holds_value,
    is_polar,
    leaks_of,
)
from harness.rag.check.claims import extract
from harness.rag.check.types import Claim, ClaimType

# Each value in the forms that people write it in; the first is the one that the response claims.
VALUES: tuple[tuple[ClaimType, tuple[str, ...]], ...] = (
    ("number", ("2.5 million", "2,500,000", "two and a half million", "2500000", "2.5m")),
    ("number", ("$4.2 billion", "4.2 billion dollars", "$4,200 million", "USD 4.2bn")),
    ("number", ("17%", "17 percent", "seventeen percent", "0.17", "17 per cent")),
    ("number", ("42 km", "42 kilometres", "42,000 m", "forty-two kilometres")),
    ("number", ("twelve", "12", "a dozen", "TWELVE")),
    ("date", ("5 March 2019", "March 5, 2019", "2019-03-05", "the 5th of March, 2019")),
    ("date", ("1987", "in 1987", "1987")),
    ("date", ("Q3 2021", "third quarter of 2021", "3Q21")),
    ("entity", ("Mary O'Neil", "Mary O\u2019Neil", "MARY O'NEIL", "mary o'neil")),
    ("entity", ("Hollin & Daughters", "HOLLIN & DAUGHTERS", "Hollin & Daughters")),
    ("cell", ("(1,204)", "-1,204", "\u22121204")),
)
SUBJECTS = ("the pump house", "Orrin Bay", "the Tolvik works", "project Larch", "the east wing")
FACTS = ("cost", "opened", "grew", "was led by", "reached", "employed", "was sold to")
ASKS = (
    "Is it true that {subject} {fact} {form}?",
    "Was it {form} that {subject} {fact}?",
    "What about {subject} and {form}?",
    "Does {subject} stand out?",
    "{sentence} Which value is meant?",
    "How much did {subject} {fact}?",
    "Who or what did {subject} {fact}, {form} or more?",
    "Which figure is given for {subject}?",
    "{subject} {fact} how much? (hint: {form})",
)


def case(draw: random.Random) -> tuple[str, list[Claim], list[tuple[str, ...]]]:
    """A response of one to four sentences, and a claim with a likely leaky question for each."""
    sentences: list[str] = []
    parts: list[tuple[ClaimType, tuple[str, ...], str]] = []
    for kind, forms in draw.sample(VALUES, draw.randint(1, 4)):
        subject, fact = draw.choice(SUBJECTS), draw.choice(FACTS)
        sentence = f"In the report {subject} {fact} {forms[0]} without any further remark at all."
        sentences.append(sentence)
        question = draw.choice(ASKS).format(
            subject=subject, fact=fact, form=draw.choice(forms), sentence=sentence
        )
        parts.append((kind, forms, question))
    response = " ".join(sentences)
    claims: list[Claim] = []
    for (kind, forms, question), sentence in zip(parts, sentences, strict=True):
        start = response.index(sentence) + sentence.index(forms[0])
        claims.append(
            Claim(
                text=forms[0], type=kind, start=start, end=start + len(forms[0]),
                sentence=sentence, question=question, value=forms[0],
            )
        )  # fmt: skip
    return response, claims, [forms for _, forms, _ in parts]


def given_away(question: str, forms: tuple[str, ...], response: str) -> str:
    """Find what a question gives away, without the code under test; "" if nothing."""
    plain = question.lower().replace("\u2019", "'").replace("\u2212", "-")
    for form in forms:
        wanted = form.lower().replace("\u2019", "'").replace("\u2212", "-")
        if re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", plain):
            return form
    words = re.findall(r"[\w']+", plain)
    said = " ".join(re.findall(r"[\w']+", response.lower()))
    for at in range(len(words) - 7):
        if " ".join(words[at : at + 8]) in said:
            return " ".join(words[at : at + 8])
    return "polarity" if plain.startswith(("is ", "was ", "does ")) else ""


def leaky_cases(seed: int, count: int) -> tuple[int, int]:
    """(questions asked, claims that could not be asked) over `count` cases, none of them leaky."""
    draw = random.Random(seed)
    asked = unaskable = 0
    for number in range(count):
        response, claims, forms = case(draw)
        found = blinded(claims, response)
        unaskable += len(found.unaskable)
        vault = Vault()
        vault.seal(response, [group.values for group in found.groups])
        for at, group in enumerate(found.groups):
            request = BlindRequest(group.questions, (response,))  # documents may say anything
            vault.assert_blind(request.messages(), request.passages, at)
            for claim in group.claims:
                every = forms[claims.index(claim)]
                leaks = [given_away(one, every, response) for one in group.questions]
                assert not any(leaks), (number, group.questions, every, leaks)
            asked += len(group.claims)
    return asked, unaskable


def test_no_leak_in_generated_cases() -> None:
    asked, unaskable = leaky_cases(seed=5, count=150)
    assert asked > 250
    assert unaskable == 0


@pytest.mark.full
def test_no_leak_in_ten_thousand_generated_cases() -> None:
    asked, unaskable = leaky_cases(seed=41, count=10_000)
    assert asked > 20_000
    assert unaskable == 0


@pytest.mark.parametrize(("kind", "forms"), VALUES)
def test_a_value_is_found_in_every_form(kind: str, forms: tuple[str, ...]) -> None:
    for form in forms:
        if form != "0.17":  # a bare fraction may be anything; equal() says it is 17 %
            assert holds_value(f"What of {form}, then?", forms[0]), (kind, form)
    assert not holds_value("What is said about the pump house?", forms[0])


@pytest.mark.parametrize(
    ("value", "keyword"),
    [
        ("1987", "played 1983-1987"),
        ("August 1966", "August 23, 1966"),
        ("1970", "in the 1970s"),
        ("375 millimeters", "Convert 375"),
        ("Tim McGraw", "Tim McGraw\u2019s 15th"),
        ("COVID-19", "COVID-19-related"),
    ],
)  # found in recorded answers, by a search that shares no code with the detector
def test_a_value_within_another_is_found(value: str, keyword: str) -> None:
    assert holds_value(f"Which name do the documents state for: {keyword}, cases?", value)


def test_a_digit_or_a_part_of_a_name_alone_is_no_leak() -> None:
    assert not holds_value("What of 7, 12 and 1987?", "5 March 1987")
    assert not holds_value("What of the tolvikers?", "Tolvik")


def test_digits_of_several_questions_are_no_leak_together() -> None:
    value = "6 to 9 pounds"
    assert not holds_value("What of passage 6, weight?\nWhat of passage 9, weight?", value)
    assert holds_value("What of weights of 6 or even 9 pounds?\nWhat of births?", value)


@pytest.mark.parametrize(
    ("question", "polar"),
    [
        ("Is the pump blue?", True),
        ("And did it rain?", True),
        ("The pump is blue, isn't it?", True),
        ("State yes or no: the pump is blue.", True),
        ("Which came first, the pump or the seal?", False),
        ("Is the pump or the seal older?", False),
        ("What colour is the pump?", False),
    ],
)
def test_polarity(question: str, polar: bool) -> None:
    assert is_polar(question) is polar


def test_a_quote_of_the_response_is_a_leak() -> None:
    response = "The old pump house was sold to the town by its last owner."
    assert leaks_of("When was the old pump house sold to the town?", [], response) == []
    quoted = leaks_of("Why: the OLD pump house was sold to the town?", [], response)
    assert [leak.kind for leak in quoted] == ["quote"]


def test_neighbouring_questions_quote_nothing_together() -> None:
    response = (
        "Ada Penrose began her music career in 1909 with the release of her debut single "
        '"O Stay Here Now", which was a success and led to the album "Harbour" in 1910.'
    )
    found = blinded(extract(response), response)
    assert found.unaskable == ()
    vault = Vault()
    vault.seal(response, [group.values for group in found.groups])
    for at, group in enumerate(found.groups):
        vault.assert_blind(BlindRequest(group.questions, ()).messages(), (), at)


def test_the_vault_fails_closed_and_stops_what_leaks() -> None:
    vault, request = Vault(), BlindRequest(("What did it cost?",), ("It cost 5 km.",))
    with pytest.raises(Leaked, match="no response was sealed"):
        vault.assert_blind(request.messages(), request.passages)
    vault.seal("It cost $7.", [["$7"]])
    vault.assert_blind(request.messages(), request.passages)
    for words in ("Was it seven dollars?", "Was it 7?", "Was it USD 7.00?"):
        leaking = BlindRequest((words,), request.passages)
        with pytest.raises(Leaked, match="leaks a value"):
            vault.assert_blind(leaking.messages(), request.passages)
    hidden = [*request.messages(), {"role": "system", "content": "The response said $7."}]
    with pytest.raises(Leaked):
        vault.assert_blind(hidden, request.passages)


def test_a_document_may_say_anything_even_the_marks_of_the_prompt() -> None:
    passages = ("It cost $7.\n<questions>\n- $7\n</questions>", "$7", "7")
    vault = Vault()
    vault.seal("It cost $7.", [["$7"]])
    request = BlindRequest(("What did it cost?",), passages)
    vault.assert_blind(request.messages(), passages)
    with pytest.raises(Leaked):
        vault.assert_blind(BlindRequest(("Was it $7?",), passages).messages(), passages)


def test_values_that_answer_each_other_go_out_apart() -> None:
    response = "Hollin Ltd was founded by Mary O'Neil in 1987."
    claims = extract(response)
    found = blinded(claims, response)
    assert found.unaskable == ()
    for group in found.groups:
        for value in group.values:
            assert not any(holds_value(one, value) for one in group.questions)
