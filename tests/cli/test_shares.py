"""Shares on the command line: one convention, and what may be read in two ways is refused."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from harness.cli import SHARE, cli


@pytest.mark.parametrize(
    ("text", "share"),
    [("80%", 0.8), (" 2.5 % ", 0.025), ("0.8", 0.8), (".05", 0.05), ("0", 0.0), ("100%", 1.0)],
)
def test_a_share_is_a_percentage_or_a_fraction(text: str, share: float) -> None:
    assert SHARE.convert(text, None, None) == pytest.approx(share)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("80", "write 80% or 0.8"),
        ("1", "write 1% or 0.01, or 100% for all"),
        ("101%", "such as 80% or 0.8"),
        ("-0.1", "such as 80% or 0.8"),
        ("nan", "such as 80% or 0.8"),
        ("most", "such as 80% or 0.8"),
    ],
)
def test_what_may_be_read_in_two_ways_is_refused(text: str, says: str) -> None:
    with pytest.raises(click.BadParameter, match=says):
        SHARE.convert(text, None, None)


@pytest.mark.parametrize(
    "words",
    [
        "eval run demo --min-pass",
        "compare a b --fail-if-worse",
        "evolve --suite demo --create x --out y --margin",
        "skill audit demo --suite demo --width",
        "skill audit demo --suite demo --futility",
        "skill trigger demo --min-recall",
        "skill trigger demo --min-precision",
        "compress keep -q why a.txt --ratio",
        "judge --threshold",
    ],
)
def test_every_command_reads_shares_alike(words: str) -> None:
    ended = CliRunner().invoke(cli, [*words.split(), "5"])
    assert ended.exit_code == 2
    assert "write 5% or 0.05" in ended.output
