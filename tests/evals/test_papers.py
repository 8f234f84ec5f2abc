"""The papers' settings: files that ship, what makes one invalid, the page made of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness.cli import cli
from harness.core import BadInput, assets
from harness.corpora import list_corpora
from harness.evals import trace2skill_average
from harness.evals.papers import (
    IN_DOMAIN,
    OUT_OF_DOMAIN,
    Figure,
    load_paper,
    load_papers,
    page,
    rows,
)

PAGE = assets.root() / "docs" / "concepts" / "papers.md"


def test_the_three_papers_ship() -> None:
    papers = {paper.name: paper for paper in load_papers()}
    assert set(papers) == {"trace2skill", "march", "cprs"}
    corpora = {corpus.name for corpus in list_corpora()}
    for paper in papers.values():
        assert paper.seeds == (41, 42, 43)
        assert {one.corpus for one in paper.data if one.corpus} <= corpora
    (verified,) = (one for one in papers["trace2skill"].data if one.split_by)
    assert verified.split_by == ("paper", "stratified")


def test_published_averages_follow_from_the_published_cells() -> None:
    (paper,) = load_papers("trace2skill")
    published = {figure.name: figure.published for figure in paper.figures}
    skills = [name.removesuffix(", Vrf, 122B user") for name in published if ", Vrf, 122B" in name]
    assert len(skills) == 5
    for skill in skills:
        users = {
            user: {c: published[f"{skill}, {c}, {user} user"] for c in (*IN_DOMAIN, *OUT_OF_DOMAIN)}
            for user in ("122B", "35B")
        }
        assert trace2skill_average(users) == pytest.approx(published[f"{skill}, Avg"], abs=0.0101)


def test_figures_of_ours_are_read_from_results() -> None:
    (paper,) = load_papers("cprs")
    found = {row["figure"]: row for row in rows(paper)}
    result = json.loads((assets.root() / "evals/results/compression_ruler.json").read_text())
    kept = result["arms"]["lexical, unhinted"]["all needles"]["evidence"][2]
    assert found["Needles"]["ours"] == kept
    assert found["Needles"]["deviation"] is None, "another setting is not subtracted"


FIGURE: dict[str, Any] = {
    "name": "f",
    "dataset": "d",
    "metric": "m",
    "setting": "s",
    "published": 1,
}
OURS: dict[str, Any] = {
    "file": "evals/results/gate.json", "at": ["reference", "power"], "command": "c"
}  # fmt: skip
VALID: dict[str, Any] = {
    "name": "p", "title": "t", "arxiv": "2601.00001", "models": ["m"], "seeds": [41],
    "settings": {}, "data": [{"name": "d", "licence": "l", "use": "u"}],
    "budget": {"published": "none", "basis": "none", "attempts": 3, "tokens_per_attempt": 7},
    "figures": [{**FIGURE, "why": "not run"}], "differs": [], "commands": [],
}  # fmt: skip


def loaded(folder: Path, **changed: Any) -> Any:
    (folder / "p.yaml").write_text(json.dumps({**VALID, **changed}))  # YAML, without aliases
    return load_paper(folder / "p.yaml")


def test_deviations_are_computed(tmp_path: Path) -> None:
    paper = loaded(tmp_path, figures=[{**FIGURE, "ours": OURS, "compared": "same"}])
    power = json.loads((assets.root() / OURS["file"]).read_text())["reference"]["power"]
    assert rows(paper)[0]["deviation"] == pytest.approx(power - 1, abs=1e-6)
    assert paper.budget.estimated_tokens() == 21
    assert "about 21 tokens" in page(paper)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"figures": [FIGURE]}, "needs 'why'"),
        ({"figures": [{**FIGURE, "ours": OURS}]}, "needs 'compared'"),
        ({"figures": [{**FIGURE, "ours": OURS, "compared": "close"}]}, "in what does ours differ"),
        ({"figures": [{**FIGURE, "why": "w", "dataset": "x"}]}, "not listed: x"),
        ({"figures": [{**FIGURE, "why": "w"}] * 2}, "twice"),
        ({"figures": [{**FIGURE, "compared": "same", "ours": {**OURS, "at": ["nothing"]}}]},
         "expected a number at"),
        ({"figures": [{**FIGURE, "compared": "same", "ours": {**OURS, "file": "none.json"}}]},
         "expected a number at"),
        ({"arxiv": "next year"}, "arxiv"),
        ({"seeds": []}, "seeds"),
        ({"nothing": 1}, "nothing"),
    ],
)  # fmt: skip
def test_what_is_not_valid(changed: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=message):
        loaded(tmp_path, **changed)


def test_figures_must_be_explained() -> None:
    with pytest.raises(ValueError, match="needs 'why'"):
        Figure.model_validate({**FIGURE, "compared": "same"})


def test_the_command() -> None:
    shown = CliRunner().invoke(cli, ["eval", "paper", "march"])
    assert shown.exit_code == 0 and "MARCH-STEM" in shown.stdout
    facts = json.loads(CliRunner().invoke(cli, ["eval", "paper", "--json"]).stdout)
    assert [one["name"] for one in facts] == ["cprs", "march", "trace2skill"]
    assert all(figure["why"] or figure["ours"] for one in facts for figure in one["figures"])
    with pytest.raises(BadInput, match="expected cprs, march, trace2skill"):
        load_papers("none")


def test_the_page_is_made_of_the_files() -> None:
    text = PAGE.read_text("utf-8")
    for paper in load_papers():
        assert page(paper) in text, (
            "run `harness eval paper` and put it into docs/concepts/papers.md"
        )
