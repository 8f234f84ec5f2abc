"""From a text to a script: who says which sentence, and how.

The sentences are those of the text, word for word, whoever plans: a model says how they are spoken,
and cannot leave one out or put one in.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from harness.core import BadInput, Value, listing, mapping, object_in, render, string
from harness.models import Model, Sampling
from harness.rag.retrieve import sentence_spans
from harness.speech.script import Overall, Sentence, Speaker, SpeechScript, Token, spoken_words

# Sentences that a model plans at once.
BATCH = 12
_LABEL = re.compile(r"(?P<name>[^\W\d_][\w .'-]{0,30}):\s+(?P<words>\S.*)")
# Marks of Markdown that nobody speaks: of lines, around words and cells, addresses of links.
_MARKS = re.compile(
    r"^[ \t]*(?:#{1,6}|[-*+>])[ \t]+|^[ \t]*\|?(?:[ \t]*:?-{3,}:?[ \t]*\|?)+[ \t]*$"
    r"|^[ \t]*\||\|[ \t]*$"
    r"|\*\*|__|`|\]\([^)\s]*\)|!?\[(?=[^\]\n]*\]\()|<?https?://[^\s>)]+[^\s>).,;:!?]>?",
    re.MULTILINE,
)
_NARRATOR = "narrator"
_PARAGRAPH_PAUSE_S, _SENTENCE_PAUSE_S = 0.7, 0.3


class Plan(Value):
    """A script, and what it is to speak.

    Attributes:
        script: the script.
        text: the words of the source, without names of speakers and marks of Markdown.
        unplanned: sentences of which the model said nothing that can be used; they stay neutral.
    """

    script: SpeechScript
    text: str
    unplanned: int = 0


def plan_speech(text: str, voices: Sequence[str] = ()) -> Plan:
    """A neutral script, without a model.

    A text whose every line is `Name: words` is a dialogue, and each name a speaker; any other is
    narrated.

    Args:
        text: plain or Markdown.
        voices: of the speakers, in the order in which they first speak; "" or none for any.

    Raises:
        BadInput: if nothing in it can be spoken, or there are more voices than speakers.
    """
    plain = re.sub(r"[ \t]*\|[ \t]*", ", ", _MARKS.sub("", text))
    lines = [line.strip() for line in plain.splitlines() if line.strip()]
    labels = [_LABEL.fullmatch(line) for line in lines]
    parts = [(label["name"].strip(), label["words"]) for label in labels if label is not None]
    is_dialogue = len(parts) == len(lines) and len({name for name, _ in parts}) > 1
    if not is_dialogue:
        parts = [(_NARRATOR, block) for block in re.split(r"\n\s*\n", plain)]
    sentences: list[Sentence] = []
    for name, block in parts:
        spans = [block[start:end] for start, end in sentence_spans(block)]
        spoken = [span for span in spans if spoken_words(span)]
        for number, span in enumerate(spoken, start=1):
            pause = _PARAGRAPH_PAUSE_S if number == len(spoken) else _SENTENCE_PAUSE_S
            sentences.append(Sentence(text=" ".join(span.split()), speaker=name, pause_s=pause))
    if not sentences:
        raise BadInput("expected a text with words to speak, found none")
    names = list(dict.fromkeys(sentence.speaker for sentence in sentences))
    if len(voices) > len(names):
        raise BadInput(f"expected at most {len(names)} voices, for {names}, got {list(voices)}")
    voice_of = dict(zip(names, voices, strict=False))
    speakers = tuple(Speaker(name=name, voice=voice_of.get(name, "")) for name in names)
    overall = Overall(format="dialogue" if is_dialogue else "narration", speakers=speakers)
    script = SpeechScript(overall=overall, sentences=tuple(sentences))
    return Plan(script=script, text="\n".join(block for _, block in parts))


async def plan_with_model(
    model: Model, text: str, voices: Sequence[str] = (), instructions: str = ""
) -> Plan:
    """A script whose manner of speaking a model chose.

    What the user wants stands in the prompt; what the model adds is its plan (the two streams of
    Borderless Long Speech, "Instruct" and "Think"). A reply that cannot be read leaves its
    sentences neutral, and they are counted.

    Args:
        model: any chat model.
        text: as for :func:`plan_speech`.
        voices: as for :func:`plan_speech`.
        instructions: of the user, in words.

    Raises:
        BadInput: as :func:`plan_speech`, and what the endpoint rejects.
        Unreachable: if the model does not answer.
        LimitReached: if the budget cannot hold a call.
    """
    plan = plan_speech(text, voices)
    sentences = list(plan.script.sentences)
    unplanned = 0
    for first in range(0, len(sentences), BATCH):
        batch = [
            {"number": number, "speaker": sentence.speaker, "text": sentence.text}
            for number, sentence in enumerate(sentences[first : first + BATCH], start=first + 1)
        ]
        prompt = render(
            "speech_plan", sentences=batch, total=len(sentences), instructions=instructions
        )
        reply = await model.complete(
            [{"role": "user", "content": prompt}],
            sampling=Sampling(temperature=0.0, max_tokens=120 * len(batch)),
        )
        planned_rows = (object_in(reply.text) or {}).get("sentences")
        entries = map(mapping, listing(planned_rows))
        manner = {entry.get("number"): entry for entry in entries}
        for index in range(first, first + len(batch)):
            planned = _planned(sentences[index], manner.get(index + 1, {}))
            unplanned += planned is None
            sentences[index] = planned or sentences[index]
    script = SpeechScript(overall=plan.script.overall, sentences=tuple(sentences))
    return plan.model_copy(update={"script": script, "unplanned": unplanned})


def _planned(sentence: Sentence, manner: dict[str, Any]) -> Sentence | None:
    """A sentence in the manner that a model chose; None if it chose none, or an impossible one."""
    fields = ("mood", "tone", "intent", "pace", "volume_db", "pause_s")
    selected = {name: manner[name] for name in fields if manner.get(name) is not None}
    words = set(spoken_words(sentence.text))
    tokens = [
        Token(word=word, stress=True)
        for word in map(string, listing(manner.get("stress")))
        if word.lower() in words  # a word that is not there is passed over
    ]
    if not selected and not tokens:
        return None
    try:
        return Sentence.model_validate(sentence.model_dump() | selected | {"tokens": tokens})
    except ValidationError:
        return None
