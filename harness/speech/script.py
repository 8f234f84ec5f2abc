"""A script for speech on three levels: the whole, the sentence, the word (SpeechScript).

The levels are those of Borderless Long Speech (arXiv 2603.19798), which names the dimensions of
each; the fields are ours. What a voice cannot do with a field, it leaves out.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from pathlib import Path

from pydantic import Field, ValidationError, model_validator

from harness.core import BadInput, Value, first_fault, read_json

_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")


class Speaker(Value):
    """Speaker of a script.

    Attributes:
        name: in the script.
        voice: of the model that speaks; "" for its first free one.
        profile: age, manner, accent, in words.
    """

    name: str = Field(min_length=1)
    voice: str = ""
    profile: str = ""


class Token(Value):
    """Word and its pronunciation.

    Attributes:
        word: as it stands in the sentence.
        occurrence: which of its occurrences there, from 1.
        stress: emphasised.
        say_as: how it is read, where spelling leaves that open ("live", "1984").
        linked: runs into the next word.
        length_s: of an interjection that is drawn out; 0 for the usual.
    """

    word: str = Field(min_length=1)
    occurrence: int = Field(default=1, ge=1)
    stress: bool = False
    say_as: str = ""
    linked: bool = False
    length_s: float = Field(default=0.0, ge=0, le=10)


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
        background: what is heard behind it.
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
    background: str = ""
    pause_s: float = Field(default=0.3, ge=0, le=30)
    tokens: tuple[Token, ...] = ()

    @model_validator(mode="after")
    def _tokens_stand_in_the_text(self) -> Sentence:
        counts = Counter(spoken_words(self.text))
        for token in self.tokens:
            if counts[" ".join(spoken_words(token.word))] < token.occurrence:
                raise ValueError(
                    f"expected a word of the sentence {self.text[:60]!r}, got {token.word!r} "
                    f"(occurrence {token.occurrence})"
                )
        return self

    @property
    def instructions(self) -> str:
        """Describe the manner for a model that follows instructions; "" for nothing special."""
        facts = {"Mood": self.mood, "Tone": self.tone, "Intent": self.intent}
        parts = [f"{name}: {text}." for name, text in facts.items() if text]
        for token in self.tokens:
            ways = [
                *(["with stress"] if token.stress else []),
                *([f"as {token.say_as!r}"] if token.say_as else []),
                *(["running into the next word"] if token.linked else []),
                *([f"for {token.length_s:g} seconds"] if token.length_s else []),
            ]
            if ways:
                parts.append(f"Say {token.word!r} {' and '.join(ways)}.")
        return " ".join(parts)


class Overall(Value):
    """Settings that hold from beginning to end.

    Attributes:
        format: such as "narration" or "dialogue".
        speakers: at least one, of different names.
        emotion_arc: how the mood moves from beginning to end.
        acoustics: of the room.
        events: what is heard beside the speech.
    """

    format: str = "narration"
    speakers: tuple[Speaker, ...] = Field(min_length=1)
    emotion_arc: str = ""
    acoustics: str = ""
    events: tuple[str, ...] = ()


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


class Coverage(Value):
    """Coverage of a text by a script, counted in words.

    Attributes:
        words: of the text.
        spoken: those of them that are spoken, in the order of the text.
        missing: stretches of the text that are not, verbatim.
        added: stretches of the script that are not in the text.
    """

    words: int
    spoken: int
    missing: tuple[str, ...] = ()
    added: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """Share of the words that are spoken; 1 of a text without words."""
        return self.spoken / self.words if self.words else 1.0


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


def coverage(script: SpeechScript, text: str) -> Coverage:
    """Compare what a script speaks with the text that it is to speak, word by word, in order.

    Args:
        script: any script.
        text: what is to be spoken, without names of speakers.
    """
    matches, spoken = list(_WORD.finditer(text)), list(_WORD.finditer(script.text))
    source, script_words = spoken_words(text), spoken_words(script.text)
    missing: list[str] = []
    added: list[str] = []
    covered = 0
    matcher = difflib.SequenceMatcher(None, source, script_words, autojunk=False)
    for kind, start, end, first, last in matcher.get_opcodes():
        if kind == "equal":
            covered += end - start
            continue
        if start < end:
            missing.append(text[matches[start].start() : matches[end - 1].end()])
        if first < last:
            added.append(script.text[spoken[first].start() : spoken[last - 1].end()])
    return Coverage(words=len(source), spoken=covered, missing=tuple(missing), added=tuple(added))
