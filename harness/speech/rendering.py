"""From a script to sound: one call a sentence, a voice for each speaker."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from harness.core import BadInput, Refused
from harness.rag.retrieve import STOPWORDS
from harness.speech.models import Synthesizer
from harness.speech.script import SpeechScript, left_out, spoken_words
from harness.speech.sound import Sound, joined, silence
from harness.speech.transcript import Segment

_SHOWN = 5
_FEWEST_WORDS, _ENGLISH = 8, 0.09
"""Words from which a language is looked for, and the least share of English function words."""


@dataclass(frozen=True)
class Rendering:
    """A spoken script.

    Attributes:
        sound: all of it.
        segments: when each sentence is spoken, and by whom.
        voices: speaker -> voice.
        warnings: what the script asks for and the model cannot do.
    """

    sound: Sound
    segments: tuple[Segment, ...]
    voices: dict[str, str]
    warnings: tuple[str, ...] = ()


async def render_speech(
    script: SpeechScript, synthesizer: Synthesizer, *, text: str | None = None
) -> Rendering:
    """Speak a script.

    Args:
        script: what is spoken.
        synthesizer: speaks.
        text: that the script must speak to its last word; None not to look.

    Raises:
        Refused: if the script leaves words of the text out; nothing is spoken then.
        BadInput: if two speakers would have one voice, or the model rejects a sentence.
        Unreachable: if the model does not answer.
        LimitReached: if the budget has no call left.
    """
    if text is not None and (missing := left_out(script, text)):
        stretches = ", ".join(repr(part[:60]) for part in missing[:_SHOWN])
        raise Refused(f"the script leaves out {stretches} of the text")
    voices = _voices(script, synthesizer)
    sounds = await asyncio.gather(
        *(
            synthesizer.speak(
                sentence.text,
                voices[sentence.speaker],
                instructions=sentence.instructions,
                speed=sentence.pace,
            )
            for sentence in script.sentences
        )
    )
    rate, parts, segments, second = sounds[0].rate, list[Sound](), list[Segment](), 0.0
    for sentence, spoken in zip(script.sentences, sounds, strict=True):
        sound = spoken.at_rate(rate).louder(sentence.volume_db)
        pause = silence(sentence.pause_s, rate)
        segments.append(
            Segment(
                start=second,
                end=second + sound.seconds,
                text=sentence.text,
                speaker=sentence.speaker,
            )
        )
        parts += [sound, pause]
        second += sound.seconds + pause.seconds
    return Rendering(joined(parts), tuple(segments), voices, _warnings(script, synthesizer))


def _voices(script: SpeechScript, synthesizer: Synthesizer) -> dict[str, str]:
    """A voice for each speaker: the one that it names, else the first that nobody has."""
    speakers = script.overall.speakers
    reserved = {speaker.voice for speaker in speakers if speaker.voice}
    free = [voice for voice in synthesizer.voices if voice not in reserved]
    unnamed = [speaker.name for speaker in speakers if not speaker.voice]
    if len(unnamed) > len(free):
        raise BadInput(
            f"expected at most {len(free)} speakers without a voice of their own, got "
            f"{len(unnamed)}: name voices in the script"
        )
    assigned = dict(zip(unnamed, free, strict=False))
    return {speaker.name: speaker.voice or assigned[speaker.name] for speaker in speakers}


def _warnings(script: SpeechScript, synthesizer: Synthesizer) -> tuple[str, ...]:
    """List what this voice cannot do."""
    warnings: list[str] = []
    if not synthesizer.obeys and (
        count := sum(bool(sentence.instructions) for sentence in script.sentences)
    ):
        warnings.append(
            f"{synthesizer.spec} follows no instructions: mood, tone, intent and words to stress "
            f"of {count} sentences left out"
        )
    words = spoken_words(script.text)
    if not synthesizer.obeys and len(words) >= _FEWEST_WORDS:
        share = sum(word in STOPWORDS for word in words) / len(words)
        accented = any(letter.isalpha() and letter > "\x7f" for letter in script.text)
        if share < _ENGLISH * (1 + accented):
            warnings.append(
                f"{synthesizer.spec} speaks English, and the text does not look English: its words "
                "are read as English ones (--synthesizer SPEC)"
            )
    return tuple(warnings)
