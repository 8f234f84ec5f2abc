"""Review: a person's verdict on each edit, and the skill that follows from it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.core import BadInput
from harness.skills import (
    Decision,
    Review,
    apply_review,
    decisions,
    list_versions,
    load_skill,
    open_review,
    read_provenance,
    read_review,
    review_path,
    review_rows,
    rollback,
    rows_of,
    sources_of,
    take_decisions,
    undecided,
    validate,
    write_review,
)
from tests.skills.evolved import EDITS, RECORDS, SEED, evolve


def judged(folder: Path, reject: tuple[str, ...]) -> Review:
    review, version = open_review(folder)
    rows = rows_of(folder, review, version)
    review = review.decide(decisions(rows, reject, "rejected", "not for us"))
    left = rows_of(folder, review, version)
    return review.decide(decisions(left, ["all"], "approved"))


def test_rows_show_what_a_reviewer_needs(tmp_path: Path) -> None:
    review, version = open_review(evolve(tmp_path))
    rows = rows_of(tmp_path / "skill/a-skill", review, version)
    assert rows == review_rows(EDITS, sources_of(RECORDS))
    first = rows[0].records[0]
    assert (first.summary, first.lessons) == (
        "The result was never read back.",
        ("Read back what you wrote.",),
    )
    assert [(one.text, one.step) for one in first.quotes] == [
        ("saved output.xlsx", 7),
        ("done", None),
    ]
    assert first.at(first.quotes[0]) == "t1 step 7"
    assert rows[0].records[1].summary == ""  # t2 left no record: named, not invented
    assert len({row.id for row in rows}) == len(rows)


def test_all_approved_gives_the_evolved_skill(tmp_path: Path) -> None:
    folder = evolve(tmp_path)
    evolved, provenance = load_skill(folder), read_provenance(folder)
    review = judged(folder, ())
    done = apply_review(folder, review, open_review(folder)[1])
    assert (done.skill, done.rejected, done.withheld) == (evolved.digest, (), ())
    assert read_provenance(folder) == provenance


def test_a_rejected_edit_leaves_and_can_be_approved_later(tmp_path: Path) -> None:
    folder = evolve(tmp_path)
    evolved = load_skill(folder)
    done = apply_review(folder, judged(folder, ("1",)), open_review(folder)[1])
    skill = load_skill(folder)
    assert "read back" not in skill.text
    assert "references/dates.md" in skill.files
    assert [one for one in validate(skill) if one.level == "error"] == []
    assert [(one.id, one.reason) for one in done.rejected] == [(judged_id(0), "not for us")]
    assert [edit.content for edit in read_provenance(folder).edits] == [
        EDITS[1].content,
        EDITS[2].content,
    ]
    review, version = open_review(folder)
    assert version.digest == evolved.digest
    again = review.decide([Decision(id=judged_id(0), verdict="approved")])
    apply_review(folder, again, version)
    assert load_skill(folder).all_files == evolved.all_files
    assert len(list_versions(folder)) == 3


def judged_id(index: int) -> str:
    return review_rows(EDITS)[index].id


def test_an_edit_that_needs_a_rejected_one_is_withheld_with_the_reason(tmp_path: Path) -> None:
    folder = evolve(tmp_path)
    done = apply_review(folder, judged(folder, ("2",)), open_review(folder)[1])
    ((name, reason),) = done.withheld
    assert name == judged_id(2)
    assert "orphan" in reason
    assert done.approved == (judged_id(0),)
    assert load_skill(folder).files == {}


def test_all_rejected_gives_the_parent_and_rollback_undoes_it(tmp_path: Path) -> None:
    folder = evolve(tmp_path)
    evolved = load_skill(folder)
    apply_review(folder, judged(folder, ("1", "2", "3")), open_review(folder)[1])
    assert load_skill(folder).all_files == SEED.all_files
    assert open_review(folder)[1].digest == evolved.digest
    rollback(folder, evolved.digest)
    assert load_skill(folder).all_files == evolved.all_files
    assert read_provenance(folder).skill == evolved.digest


def test_nothing_is_applied_while_an_edit_is_not_judged(tmp_path: Path) -> None:
    folder = evolve(tmp_path)
    review, version = open_review(folder)
    some = review.decide(decisions(rows_of(folder, review, version), ["2"], "rejected"))
    assert len(undecided(rows_of(folder, some, version))) == 2
    with pytest.raises(BadInput, match="2 edits are not judged"):
        apply_review(folder, some, version)
    write_review(folder, some)
    assert open_review(folder)[0] == some


def test_decisions_made_elsewhere_are_checked(tmp_path: Path) -> None:
    folder = evolve(tmp_path)
    review, version = open_review(folder)
    rows = rows_of(folder, review, version)
    given = {"skill": version.digest, "decisions": [{"id": rows[0].id, "verdict": "rejected"}]}
    path = tmp_path / "review.json"
    path.write_text(json.dumps(given))
    further = take_decisions(review, read_review(path), rows).decisions
    assert rows[0].id in {decision.id for decision in further}
    foreign = review.model_copy(update={"skill": "f" * 64})
    with pytest.raises(BadInput, match="judge version"):
        take_decisions(review, foreign, rows)
    unknown = review.decide([Decision(id="00000000", verdict="approved")])
    with pytest.raises(BadInput, match="does not have: 00000000"):
        take_decisions(review, unknown, rows)
    with pytest.raises(BadInput, match="no edit '9'"):
        decisions(rows, ["9"], "approved")
    path.write_text('{"skill": 1}')
    with pytest.raises(BadInput, match="is no review"):
        read_review(path)


def test_what_was_edited_by_hand_or_never_evolved_is_refused(tmp_path: Path) -> None:
    folder = evolve(tmp_path)
    (folder / "SKILL.md").write_text((folder / "SKILL.md").read_text() + "mine\n")
    with pytest.raises(BadInput, match="edited by hand"):
        open_review(folder)
    rollback(folder)
    rollback(folder)
    with pytest.raises(BadInput, match="no edits to judge"):
        open_review(folder)
    assert not review_path(folder).exists()
