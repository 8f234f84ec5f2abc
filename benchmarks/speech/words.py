"""Word error rate and time error of the offline models, on synthetic speech.

    python -m benchmarks.speech.words [--minutes 20] [--rows FILE]

SYNTHETIC SPEECH: the packaged voice reads minutes of the corpus `dossier`, sentence by sentence, so
that the second of each sentence is known; Whisper base hears it. This is clean speech of a single
voice, in five pitches: figures of real recordings are worse. Both sides are normalised as Whisper's
authors do (transformers' EnglishTextNormalizer). Pages of logs, full of times of day and initials,
are told from prose by their digits: "19:10", heard as "1910", counts as an error. Rows that are in
FILE are not made again.
"""

from __future__ import annotations

import difflib
import json
import re
import statistics
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.reports import Options, benchmark, read_jsonl
from harness.rag.retrieve import sentence_spans
from harness.speech import Sound, joined, silence
from harness.speech.offline import VOICES, speak, transcribe
from harness.speech.transcript import Transcript
from harness.stats import ratio_interval
from harness.vision.metrics import edit_distance

SOURCE = Path(__file__).parents[2] / "corpora" / "dossier" / "sample" / "documents"
CHARACTERS = 1700
PAUSE_S = 0.35


def passages() -> Iterator[str]:
    """Prose of the corpus, about two minutes a piece; one from each document, then the next."""
    streams = [prose(path.read_text("utf-8")) for path in sorted(SOURCE.glob("*.txt"))]
    while True:
        for stream in streams:
            if (piece := next(stream, None)) is None:
                return
            yield piece


def prose(text: str) -> Iterator[str]:
    """Paragraphs that are neither headings nor lists, joined to pieces."""
    paragraphs = [part for part in text.split("\n\n") if part[:1] not in ("#", "-", "", "|")]
    piece = ""
    for paragraph in paragraphs:
        for start, end in sentence_spans(paragraph):
            piece = f"{piece} {paragraph[start:end].strip()}".strip()
            if len(piece) >= CHARACTERS:
                yield piece
                piece = ""


def made(text: str, voice: str) -> dict[str, Any]:
    """A passage spoken and heard: sentences with their seconds, and the transcript."""
    sounds, spoken, second = list[Sound](), list[dict[str, Any]](), 0.0
    started = time.monotonic()
    for start, end in sentence_spans(text):
        sound = speak(text[start:end], voice)
        spoken.append({"start": second, "end": second + sound.seconds, "text": text[start:end]})
        sounds += [sound, silence(PAUSE_S, sound.rate)]
        second += sound.seconds + PAUSE_S
    middle = time.monotonic()
    transcript = transcribe(joined(sounds).to_wav(), f"{voice}.wav", "en")
    return {
        "voice": voice,
        "sentences": spoken,
        "transcript": transcript.model_dump(mode="json"),
        "speaking_s": middle - started,
        "hearing_s": time.monotonic() - middle,
    }


def normaliser() -> Any:
    """Whisper's English normaliser, without its table of British spellings."""
    module = import_module("transformers.models.whisper.english_normalizer")
    return module.EnglishTextNormalizer({})


def errors(reference: list[str], heard: list[str]) -> int:
    """Substitutions, insertions and deletions of words: each word as a character."""
    letters = {word: chr(0x100 + number) for number, word in enumerate({*reference, *heard})}
    return edit_distance(
        "".join(letters[word] for word in reference), "".join(letters[word] for word in heard)
    )


def delays(row: dict[str, Any], transcript: Transcript) -> list[float]:
    """List seconds between spoken and heard, for sentences whose first two words were heard."""
    from harness.speech.documents import document_of

    document = document_of("x", transcript)
    words = [(match[0].lower(), match.start()) for match in re.finditer(r"\w+", document.text)]
    spoken = [
        (word.lower(), sentence["start"] if number == 0 else None)
        for sentence in row["sentences"]
        for number, word in enumerate(re.findall(r"\w+", sentence["text"]))
    ]
    matcher = difflib.SequenceMatcher(
        None, [word for word, _ in spoken], [word for word, _ in words], autojunk=False
    )
    differences: list[float] = []
    for block in matcher.get_matching_blocks():
        for index in range(block.size - 1):
            second = spoken[block.a + index][1]
            heard = document.time_at(words[block.b + index][1])
            if second is not None and heard is not None:
                differences.append(heard - second)
    return differences


def report(rows: list[dict[str, Any]]) -> None:
    """Print the figures of each voice and of all."""
    normalise = normaliser()
    measured: list[tuple[str, float, int, int, str]] = []
    late: list[float] = []
    for row in rows:
        transcript = Transcript.model_validate(row["transcript"])
        reference = normalise(" ".join(sentence["text"] for sentence in row["sentences"])).split()
        heard = normalise(transcript.text).split()
        digits = sum(
            character.isdigit() for sentence in row["sentences"] for character in sentence["text"]
        )
        kind = "logs" if digits > len(reference) / 4 else "prose"
        wrong = errors(reference, heard)
        measured.append((row["voice"], transcript.seconds, wrong, len(reference), kind))
        late += delays(row, transcript)
    print("SYNTHETIC SPEECH (local/hibari), heard by local/whisper-base")
    for name in (*VOICES, "prose", "logs", "all"):
        selected = [row for row in measured if name in (row[0], row[4], "all")]
        if not selected:
            continue
        wrong, total = (sum(row[2] for row in selected), sum(row[3] for row in selected))
        ends = ratio_interval([(row[2], row[3]) for row in selected])
        span = f"[{ends[0]:.2%}, {ends[1]:.2%}]" if ends else "(one recording: no interval)"
        minutes = sum(row[1] for row in selected) / 60
        print(
            f"{name:7} {len(selected):3} recordings {minutes:5.1f} min {total:5} words  "
            f"WER {wrong / total:.2%} {span}"
        )
    sizes = sorted(map(abs, late))
    within = sum(size <= 2 for size in sizes)
    print(
        f"time of {len(late)} sentences: median error {statistics.median(sizes):.2f} s, largest "
        f"{sizes[-1]:.2f} s, within 2 s: {within} of {len(sizes)}"
    )
    minutes = sum(row[1] for row in measured)
    speaking, hearing = (sum(row[key] for row in rows) for key in ("speaking_s", "hearing_s"))
    print(f"seconds for a second of sound: speaking {speaking / minutes:.2f}, "
          f"hearing {hearing / minutes:.2f}")  # fmt: skip


@benchmark(minutes=20.0, rows=Path("speech-words.jsonl"))
def main(options: Options) -> None:
    """Make what is missing, then report."""
    rows = read_jsonl(options.rows) if options.rows.exists() else []
    voices = [*VOICES]
    for number, text in enumerate(passages()):
        minutes = sum(row["transcript"]["seconds"] for row in rows) / 60
        if minutes >= options.minutes:
            break
        if number < len(rows):
            continue
        rows.append(made(text, voices[number % len(voices)]))
        with options.rows.open("a", encoding="utf-8") as file:
            file.write(json.dumps(rows[-1]) + "\n")
    report(rows)
