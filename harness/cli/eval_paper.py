"""`harness eval paper`."""

from __future__ import annotations

import click

from harness.cli.shared import emit, json_option


@click.command("paper")
@click.argument("name", required=False)
@json_option
def show_papers(name: str | None, as_json: bool) -> None:
    """Show the figures of the papers beside ours, or those of paper NAME.

    NAME: trace2skill, march or cprs.

    Example: harness eval paper cprs
    """
    from harness.evals.papers import load_papers, page, rows

    papers = load_papers(name)
    facts = [
        {**paper.model_dump(mode="json", exclude={"figures"}), "figures": rows(paper)}
        for paper in papers
    ]
    emit(facts, as_json, "\n\n".join(page(paper) for paper in papers))
