"""A script for speech on three levels: the whole, the sentence, the word (SpeechScript).

The levels are those of Borderless Long Speech (arXiv 2603.19798), which names the dimensions of
each; the fields are ours, those that some voice can render. What a voice cannot do, it leaves out.
"""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from pydantic import Field, ValidationError, model_validator

from harness.core import BadInput, Value, first_fault, read_json

_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")


class Speaker(Value):
    """Speaker of a script.

    Attributes:
        name: in the script.
        voice: of the model that speaks; "" for its first free one.
    """

    name: str = Field(min_length=1)
    voice: str = ""


class Token(Value):
    """Word and its pronunciation.

    Attributes:
        word: as it stands in the sentence.
        stress: emphasised.
        say_as: how it is read, where spelling leaves that open ("live", "1984").
    """

    word: str = Field(min_length=1)
    stress: bool = False
    say_as: str = ""


class Sentence(Value):
    """Words said in one breath, and their manner.

    Attributes:
        text: spoken as it stands.
        speaker: name of one.
        mood: of the speaker, such as "calm".
        tone: towards the listener, such as "warm".
        pace: 1 is the usual one.
        volume_db: gain.
        intent: what it is to do, such as "reassure".
        pause_s: silence after it.
        tokens: words that are said in a special way.
    """

    text: str = Field(min_length=1, max_length=4096)
    speaker: str
    mood: str = ""
    tone: str = ""
    pace: float = Field(default=1.0, ge=0.5, le=2.0)
    volume_db: float = Field(default=0.0, ge=-40, le=20)
    intent: str = ""
    pause_s: float = Field(default=0.3, ge=0, le=30)
    tokens: tuple[Token, ...] = ()

    @model_validator(mode="after")
    def _tokens_stand_in_the_text(self) -> Sentence:
        words = spoken_words(self.text)
        for token in self.tokens:
            if " ".join(spoken_words(token.word)) not in words:
                raise ValueError(
                    f"expected a word of the sentence {self.text[:60]!r}, got {token.word!r}"
                )
        return self

    @property
    def instructions(self) -> str:
        """Describe the manner for a model that follows instructions; "" for nothing special."""
        manner = {"Mood": self.mood, "Tone": self.tone, "Intent": self.intent}
        parts = [f"{name}: {text}." for name, text in manner.items() if text]
        for token in self.tokens:
            ways = [
                *(["with stress"] if token.stress else []),
                *([f"as {token.say_as!r}"] if token.say_as else []),
            ]
            if ways:
                parts.append(f"Say {token.word!r} {' and '.join(ways)}.")
        return " ".join(parts)


class Overall(Value):
    """Settings that hold from beginning to end.

    Attributes:
        format: such as "narration" or "dialogue".
        speakers: at least one, of different names.
    """

    format: str = "narration"
    speakers: tuple[Speaker, ...] = Field(min_length=1)


class SpeechScript(Value):
    """A script: what holds throughout, then sentence after sentence."""

    overall: Overall
    sentences: tuple[Sentence, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _speakers_are_named(self) -> SpeechScript:
        names = [speaker.name for speaker in self.overall.speakers]
        if len(set(names)) < len(names):
            raise ValueError(f"expected speakers of different names, got {names}")
        for sentence in self.sentences:
            if sentence.speaker not in names:
                raise ValueError(f"expected a speaker of {names}, got {sentence.speaker!r}")
        return self

    @property
    def text(self) -> str:
        """All that is spoken."""
        return " ".join(sentence.text for sentence in self.sentences)


def read_script(path: Path) -> SpeechScript:
    """The script in a JSON file.

    Raises:
        BadInput: if it cannot be read, or is none; the field is named.
    """
    try:
        return SpeechScript.model_validate(read_json(path))
    except ValidationError as error:
        raise BadInput(f"{str(path)!r} is no speech script: {first_fault(error)}") from error


def spoken_words(text: str) -> list[str]:
    """The words of a text, in lower case, without marks."""
    return [match[0].lower().replace("\u2019", "'") for match in _WORD.finditer(text)]


def left_out(script: SpeechScript, text: str) -> tuple[str, ...]:
    """Stretches of a text, verbatim, that a script does not speak, or not in their order.

    Args:
        script: any script.
        text: the words to be spoken, without names of speakers.
    """
    matches = list(_WORD.finditer(text))
    matcher = difflib.SequenceMatcher(
        None, spoken_words(text), spoken_words(script.text), autojunk=False
    )
    return tuple(
        text[matches[start].start() : matches[end - 1].end()]
        for kind, start, end, _, _ in matcher.get_opcodes()
        if kind in ("delete", "replace")
    )
