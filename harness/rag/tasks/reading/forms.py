"""What an agent is told about the form of its answer, behind the question."""

from __future__ import annotations

FORMS = {
    "em": "Reply with the answer alone, as short as it can be.",
    "choice": "Reply with the letter of the right choice alone.",
    "exam": "Reply with the letters of all right choices alone.",
    "boolean": "Reply with yes or no alone.",
    "all": "Reply with the values alone.",
    "part": "Reply with the answer alone, as short as it can be.",
    "numbers": "Reply with the number alone.",
    "classes": "Reply with the name of the class alone.",
}
"""Metric -> form; none where sentences are wanted."""


def with_form(question: str, metric: str) -> str:
    """The question with the form of its answer behind it."""
    return f"{question}\n\n{FORMS[metric]}" if metric in FORMS else question


def bare_question(prompt: str) -> str:
    """The question without the form: what a retriever or a compressor is asked."""
    for form in FORMS.values():
        prompt = prompt.removesuffix(f"\n\n{form}")
    return prompt
