"""The script's schema, planners, coverage, and the renderer against a fake server."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from harness.core import BadInput, Refused
from harness.models import open_model
from harness.speech import (
    OPENAI_VOICES,
    Overall,
    Sentence,
    Speaker,
    SpeechScript,
    Token,
    left_out,
    open_synthesizer,
    plan_speech,
    plan_with_model,
    read_script,
    render_speech,
)
from tests.speech.audio_server import Request, serve, tone

TEXT = """# The crossing

The *Aurora* sails at 7:15. **Bring** a coat; it's cold.

- Tickets cost $12.50.
"""
DIALOGUE = "Ann: Is it far?\n\nBen: Not at all. An hour's walk.\nAnn: Then we walk.\n"


def script_of(*texts: str, voice: str = "") -> SpeechScript:
    return SpeechScript(
        overall=Overall(speakers=(Speaker(name="n", voice=voice),)),
        sentences=tuple(Sentence(text=text, speaker="n") for text in texts),
    )


def test_a_narration_has_one_speaker_and_every_sentence() -> None:
    plan = plan_speech(TEXT)
    assert [sentence.text for sentence in plan.script.sentences] == [
        "The crossing",
        "The *Aurora* sails at 7:15.",
        "Bring a coat; it's cold.",
        "Tickets cost $12.50.",
    ]
    assert {sentence.speaker for sentence in plan.script.sentences} == {"narrator"}
    assert not left_out(plan.script, plan.text)


def test_a_dialogue_has_its_speakers_and_leaves_their_names_unspoken() -> None:
    plan = plan_speech(DIALOGUE, ["nova", "onyx"])
    overall = plan.script.overall
    assert overall.format == "dialogue"
    assert [(one.name, one.voice) for one in overall.speakers] == [("Ann", "nova"), ("Ben", "onyx")]
    assert [(each.speaker, each.text) for each in plan.script.sentences] == [
        ("Ann", "Is it far?"),
        ("Ben", "Not at all."),
        ("Ben", "An hour's walk."),
        ("Ann", "Then we walk."),
    ]


def test_a_note_is_no_speaker() -> None:
    plan = plan_speech("Note: bring a coat.\nWe leave early.")
    assert plan.script.overall.format == "narration"
    assert "Note" in plan.script.text


@pytest.mark.parametrize("text", ["", " \n", "***", "---\n\n- \n"])
def test_a_text_without_words_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="words to speak"):
        plan_speech(text)


def test_more_voices_than_speakers_are_refused() -> None:
    with pytest.raises(BadInput, match="at most 1 voices"):
        plan_speech("One text.", ["a", "b"])


@given(st.text(st.characters(codec="utf-8"), max_size=300))
def test_every_word_of_any_text_is_planned(text: str) -> None:
    try:
        plan = plan_speech(text)
    except BadInput:
        return
    assert not left_out(plan.script, plan.text)


@pytest.mark.parametrize(
    ("texts", "missing"),
    [
        (["The bridge is closed.", "Take the ferry."], ()),
        (["The bridge is closed."], ("Take the ferry",)),
        (["The bridge is open.", "Take the ferry."], ("closed",)),
        (["Take the ferry.", "The bridge is closed."], ("Take the ferry",)),
        (["the BRIDGE is closed", "well, take the ferry!"], ()),
        (["Nothing of it."], ("The bridge is closed. Take the ferry",)),
    ],
)
def test_what_a_script_leaves_out_is_named(texts: list[str], missing: tuple[str, ...]) -> None:
    text = "The bridge is closed. Take the ferry."
    assert left_out(script_of(*texts), text) == missing


@pytest.mark.parametrize(
    "change",
    [
        {"sentences": []},
        {"sentences": [{"text": "Hi.", "speaker": "nobody"}]},
        {"overall": {"speakers": [{"name": "n"}, {"name": "n"}]}},
        {"overall": {"speakers": []}},
        {"sentences": [{"text": "Hi.", "speaker": "n", "pace": 5}]},
        {"sentences": [{"text": "Hi.", "speaker": "n", "tokens": [{"word": "there"}]}]},
        {"sentences": [{"text": "Hi.", "speaker": "n", "loudness": 3}]},
    ],
)  # fmt: skip
def test_scripts_that_are_none(change: dict[str, Any], tmp_path: Path) -> None:
    script = json.loads(script_of("Hello there.").model_dump_json())
    assert SpeechScript.model_validate(script)
    with pytest.raises(ValidationError):
        SpeechScript.model_validate(script | change)
    (tmp_path / "s.json").write_text(json.dumps(script | change))
    with pytest.raises(BadInput, match="no speech script"):
        read_script(tmp_path / "s.json")


def test_instructions_say_what_is_special() -> None:
    tokens = (Token(word="live", say_as="laiv", stress=True), Token(word="now", stress=True))
    sentence = Sentence(text="We live now.", speaker="n", mood="calm", intent="warn", tokens=tokens)
    assert sentence.instructions == (
        "Mood: calm. Intent: warn. Say 'live' with stress and as 'laiv'. Say 'now' with stress."
    )
    assert Sentence(text="We live.", speaker="n", tone="").instructions == ""


def test_each_sentence_is_a_call_with_its_speakers_voice_and_they_are_joined() -> None:
    def answer(request: Request) -> tuple[int, bytes]:
        return 200, tone(len(request.fields["input"]) / 50).to_wav()

    plan = plan_speech(DIALOGUE, ["", "onyx"])
    changed = plan.script.sentences[1].model_copy(update={"mood": "sure", "pace": 1.2})
    sentences = (plan.script.sentences[0], changed, *plan.script.sentences[2:])
    script = plan.script.model_copy(update={"sentences": sentences})
    with serve(answer) as server:
        synthesizer = open_synthesizer("openai/gpt-4o-mini-tts", base_url=server.url)
        rendering = asyncio.run(render_speech(script, synthesizer, text=plan.text))
    sent = {request.fields["input"]: request.fields for request in server.requests}
    assert len(sent) == len(server.requests) == 4
    assert rendering.voices == {"Ann": "alloy", "Ben": "onyx"}
    assert {text: fields["voice"] for text, fields in sent.items()} == {
        "Is it far?": "alloy",
        "Not at all.": "onyx",
        "An hour's walk.": "onyx",
        "Then we walk.": "alloy",
    }
    assert sent["Not at all."]["instructions"] == "Mood: sure."
    assert sent["Not at all."]["speed"] == 1.2
    spoken = sum(len(sentence.text) / 50 for sentence in script.sentences)
    pauses = sum(sentence.pause_s for sentence in script.sentences)
    assert rendering.sound.seconds == pytest.approx(spoken + pauses, abs=1e-3)
    assert [part.text for part in rendering.segments] == [each.text for each in script.sentences]
    for part, after in zip(rendering.segments, rendering.segments[1:], strict=False):
        gap = rendering.sound.samples[
            round(part.end * 24_000) + 5 : round(after.start * 24_000) - 5
        ]
        assert len(gap) and not gap.any()


def test_a_script_that_leaves_words_out_is_refused_before_anything_is_spoken() -> None:
    with serve(lambda _: (200, tone(0.1).to_wav())) as server:
        synthesizer = open_synthesizer("openai/tts-1", base_url=server.url)
        with pytest.raises(Refused, match=r"leaves out 'Take the ferry'"):
            asyncio.run(
                render_speech(
                    script_of("The bridge is closed."),
                    synthesizer,
                    text="The bridge is closed. Take the ferry.",
                )
            )
    assert not server.requests


def test_more_speakers_than_voices_are_refused() -> None:
    names = [f"s{number}" for number in range(len(OPENAI_VOICES) + 1)]
    script = SpeechScript(
        overall=Overall(speakers=tuple(Speaker(name=name) for name in names)),
        sentences=tuple(Sentence(text="Hi.", speaker=name) for name in names),
    )
    with pytest.raises(BadInput, match="name voices in the script"):
        asyncio.run(render_speech(script, open_synthesizer("openai/tts-1", base_url="http://x/v1")))


def test_what_a_voice_cannot_do_is_said() -> None:
    script = script_of("Hello.")
    sentence = script.sentences[0].model_copy(update={"mood": "calm"})
    with serve(lambda _: (200, tone(0.1).to_wav())) as server:
        synthesizer = open_synthesizer("openai/tts-1", base_url=server.url)
        synthesizer.obeys = False  # as the packaged voice
        changed = script.model_copy(update={"sentences": (sentence,)})
        rendering = asyncio.run(render_speech(changed, synthesizer))
    assert any("follows no instructions" in line for line in rendering.warnings)


def planned(tmp_path: Path, *replies: str, text: str = TEXT) -> Any:
    turns = [{"text": reply} for reply in replies]
    (tmp_path / "script.jsonl").write_text("\n".join(json.dumps(turn) for turn in turns))
    model = open_model(f"scripted/{tmp_path / 'script.jsonl'}")
    return asyncio.run(plan_with_model(model, text, instructions="like a guide"))


def test_a_model_plans_the_manner_and_cannot_change_the_words(tmp_path: Path) -> None:
    reply = {
        "sentences": [
            {"number": 2, "mood": "brisk", "pace": 1.2, "stress": ["7", "absent"], "text": "No."},
            {"number": 3, "pace": 99},
            {"number": 77, "mood": "lost"},
        ],
    }
    plan = planned(tmp_path, f"Sure!\n```json\n{json.dumps(reply)}\n```")
    neutral = plan_speech(TEXT)
    assert plan.script.text == neutral.script.text
    assert not left_out(plan.script, plan.text)
    second = plan.script.sentences[1]
    assert (second.mood, second.pace) == ("brisk", 1.2)
    assert [token.word for token in second.tokens] == ["7"]
    assert plan.script.sentences[2] == neutral.script.sentences[2]
    assert plan.script.overall == neutral.script.overall
    assert plan.unplanned == 3


@pytest.mark.parametrize(
    "reply", ["I cannot.", "{", '{"sentences": 3}', "[1]", '{"sentences": [3]}']
)
def test_replies_that_cannot_be_read_leave_sentences_neutral_and_are_counted(
    reply: str, tmp_path: Path
) -> None:
    plan = planned(tmp_path, reply)
    assert plan.script.sentences == plan_speech(TEXT).script.sentences
    assert plan.unplanned == 4


def test_addresses_and_marks_of_tables_are_not_read_aloud() -> None:
    text = (
        "# Prices\n\nSee [the plan](https://x.org/a?b=1), or https://example.com/long?x=1.\n\n"
        "| Name | Price |\n|---|---:|\n| lamp | 3 |\n\n![a bridge](b.png)\n"
    )
    spoken = plan_speech(text).script.text
    assert spoken == "Prices See the plan, or . Name, Price lamp, 3 a bridge"


GERMAN = "Die Brücke ist heute Nacht gesperrt, und alle Wagen nehmen die letzte Fähre nach Norden."
FRENCH = "Le dernier bateau part ce soir de la gare du nord vers le grand port."
NEWS = "Revenue rose 12 percent to 340 million dollars in March, chief executive Jane Smith said."


@pytest.mark.parametrize(("text", "warned"), [(GERMAN, True), (FRENCH, True), (NEWS, False)])
def test_another_language_in_the_english_voice_is_said(text: str, warned: bool) -> None:
    with serve(lambda _: (200, tone(0.1).to_wav())) as server:
        synthesizer = open_synthesizer("openai/tts-1", base_url=server.url)
        synthesizer.obeys = False  # as the packaged voice
        rendering = asyncio.run(render_speech(plan_speech(text).script, synthesizer))
    assert any("does not look English" in line for line in rendering.warnings) is warned
