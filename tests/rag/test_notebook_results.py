"""Results of ask, check and compress as a notebook shows them: short, and with nothing to run."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.api import ask, check, compress
from harness.core import Printed

POLICY = "Refunds are paid within 14 days. <script>alert(1)</script> Parcels are sent by rail. "


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.md"
    path.write_text(POLICY + "Nothing else is said of it in this long text. " * 200)
    return path


def html_of(result: Printed) -> str:
    html = result._repr_html_()  # pyright: ignore[reportPrivateUsage]  # the protocol of notebooks
    assert "<script>" not in html
    return html


def test_an_answer_is_a_table_with_its_sources(policy: Path) -> None:
    answer = ask("Within how many days are refunds paid?", policy, extract=True)
    html = html_of(answer)
    assert "14 days" in html and "policy.md" in html
    assert len(html) < 3000
    assert "14 days" in str(answer)


def test_a_report_names_every_claim_and_its_verdict(policy: Path) -> None:
    html = html_of(check("Refunds are paid within 30 days <script>.", [policy]))
    assert "FAIL" in html and "30 days" in html and "CONTRADICTED" in html
    assert len(html) < 3000


def test_what_is_kept_of_a_text_is_shown_with_its_tokens(policy: Path) -> None:
    html = html_of(compress(policy, "When are refunds paid?", budget=60))
    assert "Refunds are paid" in html and "tokens" in html
