"""`assert_grounded` for tests of agents: `pytest_plugins = ["harness.rag.check.pytest_plugin"]`.

def test_answer(assert_grounded):
    assert_grounded(answer, ["The pump was replaced in 2019."])
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.rag.check.checking import Documents, as_text, check
from harness.rag.check.types import Outcome, PolicyName, Report, Verifier


def grounded(
    answer: str,
    documents: Documents,
    *,
    question: str = "",
    policy: PolicyName = "zero-tolerance",
    verifier: str | Verifier = "auto",
) -> Report:
    """The report of an answer that passes.

    Raises:
        AssertionError: if it does not; the message lists the faults with their quotes.
        BadInput: as :func:`harness.rag.check.check`.
    """
    report = check(answer, documents, question=question, policy=policy, verifier=verifier)
    if report.verdict is not Outcome.PASS:
        raise AssertionError(as_text(report, answer))
    return report


@pytest.fixture(scope="session")
def assert_grounded() -> Callable[..., Report]:
    """:func:`grounded`: fails the test where the documents do not bear an answer out."""
    return grounded
