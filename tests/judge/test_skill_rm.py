"""Skill-RM: limits, forced finish, what decides first, and what no message may hold."""

from __future__ import annotations

import json
import random
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.judges.published_rows import BLOCKED, open_metadata, sample_of
from harness.core import BadInput, assets
from harness.judge import Question
from harness.judge.skill_rm.bank import Bank, Sample
from harness.judge.skill_rm.judge import SkillContext, SkillJudge, read_out, records_of
from harness.judge.types import Evidence, Verdict
from harness.sandbox import SandboxUnavailable, select
from harness.skills import load_skill, validate
from tests.judge.cases import FunctionModel, between, run

EMPTY = {"action": "finish", "resource": "none", "code": "", "criterion": "", "observation": ""}
ASK = Question(prompt="What is 2 + 2?", reference="4")


def player(*steps: dict[str, Any], choose: tuple[str, ...] = ()) -> FunctionModel:
    """A judge that takes these steps; the last one again and again."""
    taken: dict[str, int] = {}

    def decide(prompt: str, members: dict[str, Any]) -> Any:
        if "diagnosis" in members:
            return {"diagnosis": "a sum"}
        if "resources" in members:
            known = members["resources"]["items"]["enum"]
            return {"resources": [name for name in choose if name in known]}
        if "action" in members:
            neutral = members["decision"]["enum"][-1]
            who = between(prompt, "first") if "<first-" in prompt else ""
            number = taken[who] = taken.get(who, -1) + 1
            step = steps[min(number, len(steps) - 1)]
            return {**EMPTY, "decision": neutral, **step}
        if "better" in members:
            return {"reason": "", "better": "first"}
        if "criterion_1" in members:
            return {"reason": "", **{n: "yes" for n in members if n.startswith("criterion")}}
        return "no record"

    return FunctionModel(decide)


def steps_of(model: FunctionModel) -> int:
    return sum("Step 3. Verify" in prompt for prompt in model.prompts)


@pytest.fixture(scope="module")
def sandbox() -> Any:
    try:
        return select()
    except SandboxUnavailable as error:
        pytest.skip(f"no sandbox here: {error}")


def test_the_steps_are_limited_and_the_verdict_of_an_emergency_says_so() -> None:
    idle = player({"action": "record", "resource": "none", "decision": "nonsense"})
    verdict = run(SkillJudge(idle).one_order(ASK, "4", "5"))
    assert steps_of(idle) == 6 * 2  # each step is asked for twice: its reply does not fit
    assert (verdict.preference, verdict.by) == ("A", "emergency")


def test_resources_and_runs_are_limited(sandbox: Any) -> None:
    every = tuple(Bank(Sample("t", ("a", "b")), "operational").resources)
    assert "word-count" in every[:5]
    model = player({"action": "run", "resource": "word-count"}, choose=every[:5])
    run(SkillJudge(model, sandbox).one_order(ASK, "4", "5"))
    outputs = [between(prompt, "log") for prompt in model.prompts if "Step 3" in prompt]
    assert max(text.count("run word-count: answer 1:") for text in outputs) == 3
    greedy = player({"action": "finish"}, choose=every)
    run(SkillJudge(greedy).one_order(ASK, "4", "5"))
    chosen = [p for p in greedy.prompts if "Step 2" in p]
    assert len(chosen) == 2  # six of five do not fit, and are asked for once more


def test_a_hard_verifier_decides_over_any_opinion(sandbox: Any) -> None:
    opinion = {"action": "record", "criterion": "style", "decision": "second"}
    model = player(
        opinion, {"action": "run", "resource": "number-match"}, {"action": "finish"},
        choose=("number-match",),
    )  # fmt: skip
    verdict = run(SkillJudge(model, sandbox).one_order(ASK, "it is 4", "it is surely 5"))
    assert (verdict.preference, verdict.by) == ("A", "model")
    assert verdict.evidence[0].source == "verifier"


def test_python_of_the_judge_runs_in_the_sandbox(sandbox: Any, tmp_path: Path) -> None:
    bank = Bank(Sample("t", ("4", "5"), "4"), "operational")
    assert bank.python("print(answers[0] + task)", sandbox) == "4t"
    target = tmp_path / "written"
    assert "Error" in bank.python(f"open({str(target)!r}, 'w')", sandbox)
    assert not target.exists()
    assert bank.python("print('x' * 20000)", sandbox) == "x" * 10_000


def test_the_fair_setting_has_nothing_of_the_sample(sandbox: Any) -> None:
    question = Question(prompt="p", reference="SECRET-REFERENCE", rubric="SECRET-CHECKLIST")
    finish = player({"action": "finish"}, choose=("number-match", "correctness"))
    run(SkillJudge(finish, sandbox, setting="fair").compare(question, "x", "y"))
    assert "SECRET" not in json.dumps(finish.requests)
    bank = Bank(Sample("p", ("x",), "SECRET", "SECRET"), "fair")
    assert not {"number-match", "sample-reference", "sample-checklist"} & set(bank.resources)
    assert "SECRET" not in bank.python("print(reference)", sandbox)
    wide = player({"action": "view", "resource": "sample-reference"}, choose=("sample-reference",))
    run(SkillJudge(wide, sandbox).compare(question, "x", "y"))
    assert "SECRET-REFERENCE" in json.dumps(wide.requests)


KEYS = st.one_of(
    st.sampled_from(sorted(BLOCKED)).map(str.upper),
    st.sampled_from(sorted(BLOCKED)).map(lambda key: f"{key}-id"),
    st.sampled_from(["goldLabel", "is_correct", "model_a", "Judge Model", "numCorrect"]),
)
VALUES = st.recursive(
    st.just("LEAK"),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(KEYS, inner, max_size=2)),
    max_leaves=4,
)
METADATA = st.dictionaries(
    st.sampled_from(["topic", "length", "language"]),
    st.one_of(st.just("open"), st.dictionaries(KEYS, VALUES, max_size=3)),
    max_size=3,
)


@given(METADATA, st.dictionaries(KEYS, VALUES, max_size=3))
def test_no_gold_like_key_passes_the_firewall(metadata: Any, gold: Any) -> None:
    row = {"prompt": "p", **gold, "metadata": {**metadata, **gold}}
    for setting in ("fair", "operational"):
        sample = sample_of(row, ["x", "y"], setting)
        bank = Bank(sample, setting)
        seen = json.dumps([sample.task, sample.answers, sample.reference, sample.checklist])
        seen += "".join(bank.view(name) for name in bank.resources if name.startswith("sample"))
        assert "LEAK" not in seen


GOLD, OPEN = "qzgold", "qzopen"
"""Marks of keys and values that no message may hold, and of those that the checklist shows."""


def gold_key(draw: random.Random) -> str:
    """A key that says what is right: a stem in some spelling, with the mark beside it."""
    stem, place = draw.choice(sorted(BLOCKED)), draw.randrange(3)
    wide = "".join(chr(ord(letter) + 0xFEE0) for letter in stem)
    stem = draw.choice([stem, stem.upper(), stem.title(), "-".join(stem), f"is_{stem}", wide])
    return (f"{GOLD}{stem}", f"{stem}_{GOLD}", f"{GOLD} {stem}s 2")[place]


def metadata_of(draw: random.Random, depth: int = 3, mark: str = OPEN) -> Any:
    """Nested metadata; whatever lies below a gold-like key carries its mark."""
    kind = draw.random()
    if depth == 0 or kind < 0.2:
        return mark
    if kind < 0.4:
        return [metadata_of(draw, depth - 1, mark) for _ in range(draw.randrange(3))]
    keys = draw.sample(["topic", "length", "language", "level"], draw.randrange(3))
    members = {key: metadata_of(draw, depth - 1, mark) for key in keys}
    gold = [gold_key(draw) for _ in range(draw.randrange(3))]
    return members | {key: metadata_of(draw, depth - 1, GOLD) for key in gold}


def messages_of_fuzzed_samples(count: int) -> int:
    """Drive samples through the graph; how many of them showed metadata to the judge."""
    shown = 0
    for seed in range(count):
        draw = random.Random(seed)
        setting, mounted = draw.choice(("fair", "operational")), f"qzmounted{seed}"
        row = {gold_key(draw): GOLD for _ in range(draw.randrange(4))}
        row |= dict.fromkeys(draw.sample(sorted(BLOCKED), draw.randrange(4)), GOLD)
        row |= {"prompt": "p", "reference": mounted, "metadata": metadata_of(draw)}
        answers = ["x", "y"][: draw.randint(1, 2)]
        every = ("sample-checklist", "sample-reference", "correctness", "common-failures")
        neutral = "equal" if len(answers) == 2 else "met"
        steps = [{"action": "view", "resource": name, "decision": neutral} for name in every]
        steps += [{"action": "record", "criterion": "c"}, {"action": "finish"}]
        draw.shuffle(steps)
        model = player(*steps, choose=every)
        context = SkillContext(
            model, Bank(sample_of(row, answers, setting), setting), None, Question(prompt="p")
        )
        run(assets.load_graph("reward_skill").ainvoke({}, context=context))
        text = json.dumps(model.requests, ensure_ascii=False)
        text = unicodedata.normalize("NFKC", text).lower()
        assert GOLD not in text, (seed, row)
        assert setting == "operational" or (mounted not in text and OPEN not in text), (seed, row)
        shown += OPEN in text
    return shown


def test_no_gold_like_key_is_in_a_message() -> None:
    assert messages_of_fuzzed_samples(200) > 20


@pytest.mark.full
def test_no_gold_like_key_is_in_a_message_of_a_thousand_samples() -> None:
    assert messages_of_fuzzed_samples(1000) > 100


def test_open_metadata_stays() -> None:
    assert open_metadata({"topic": {"winner": 1, "tone": ["x", {"score": 2}]}}) == {
        "topic": {"tone": ["x", {}]}
    }


def test_the_read_out_is_a_rule() -> None:
    def record(decision: Any, source: Any = "model") -> Evidence:
        return Evidence(criterion="c", decision=decision, source=source)

    assert read_out([], 2) is None
    assert read_out([record("met")], 2) is None
    out = read_out([record("B"), record("B"), record("A", "rubric")], 2)
    assert isinstance(out, Verdict)
    assert out.preference == "A"
    even = read_out([record("A", "verifier"), record("B", "verifier"), record("B")], 2)
    assert even is not None
    assert even.preference == "B"
    rated = read_out([record("met"), record("unmet"), record("met")], 1)
    assert rated is not None
    assert rated.score == pytest.approx(2 / 3)
    rows = [{"criterion": "c", "met": True}, {"criterion": "c", "met": False}]
    assert records_of(rows, 2, hard=True)[0].decision == "A"
    assert records_of(rows, 1, hard=True) == []


def test_the_skill_is_sound_and_its_files_stay_inside(tmp_path: Path) -> None:
    skill = load_skill(assets.find("skills/reward-judge"))
    assert validate(skill) == []
    bank = Bank(Sample("t", ("a",)), "operational")
    assert all(row.file in skill.files for row in bank.resources.values())
    (tmp_path / "resources.yaml").write_text("[{id: a, type: rubric, file: ../secret.md}]")
    (tmp_path.parent / "secret.md").write_text("x")
    with pytest.raises(BadInput, match="file of the skill"):
        Bank(Sample("t", ("a",)), "fair", tmp_path).view("a")
    (tmp_path / "resources.yaml").write_text("[{id: a}]")
    with pytest.raises(BadInput, match="type"):
        Bank(Sample("t", ("a",)), "fair", tmp_path)


def test_an_emergency_in_one_order_is_labelled_in_the_verdict_of_both() -> None:
    idle = player({"action": "record", "resource": "none", "decision": "nonsense"})
    assert run(SkillJudge(idle).compare(ASK, "4", "5")).by == "emergency"


def test_advice_lends_no_weight_to_an_opinion() -> None:
    model = player(
        {"action": "view", "resource": "common-failures"},
        {"action": "record", "criterion": "taste", "decision": "first"},
        {"action": "finish"}, choose=("common-failures",),
    )  # fmt: skip
    verdict = run(SkillJudge(model).one_order(ASK, "4", "5"))
    assert [seen.source for seen in verdict.evidence] == ["model"]


@pytest.mark.parametrize("key", ["GOLDLabel", "groundtruth", "LABEL_A", "labelled", "\uff47old"])
def test_keys_in_other_spellings_are_blocked(key: str) -> None:
    assert open_metadata({key: "LEAK", "topic": "t"}) == {"topic": "t"}


def test_verifiers_say_nothing_where_they_cannot_and_are_not_talked_out(sandbox: Any) -> None:
    named = Bank(Sample("Where?", ("In 753 BC", "Rome"), "Rome, founded 753 BC"), "operational")
    assert named.run("number-match", sandbox)[1] == []
    deep = Bank(Sample("As JSON.", ("[" * 200_000, "{}")), "fair")
    assert [row["met"] for row in deep.run("json-format", sandbox)[1]] == [False, True]
