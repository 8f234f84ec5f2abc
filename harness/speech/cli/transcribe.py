"""`harness transcribe`."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli import echo, emit, intent, json_option, path_type, shared_option


@intent("Answer")
@click.command(short_help="Write down what is said in a recording, with times.")
@click.argument("recording", type=path_type)
@shared_option("--model", help="A model spec that hears. Default: local/whisper-base.")
@shared_option("--base-url")
@click.option("--language", default="", help="ISO 639-1 code. Default: the model finds it.")
@shared_option("--budget-calls", help="0 forbids the call.")
@shared_option("--out", help="Write subtitles (SubRip) there.")
@json_option
def transcribe(
    as_json: bool,
    recording: Path,
    model: str | None,
    base_url: str | None,
    language: str,
    budget_calls: int | None,
    out: Path | None,
) -> None:
    """Write down what is said in RECORDING, a sentence a line, with its time.

    Example: harness transcribe call.mp3 --out call.srt
    """
    from harness.core import BadInput, loops, write_atomic
    from harness.models import Budget
    from harness.rag.retrieve import clock
    from harness.speech.models import DEFAULT_RECOGNIZER, open_recognizer

    try:
        data = recording.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read {str(recording)!r}: {error.strerror}") from error
    recognizer = open_recognizer(
        model or DEFAULT_RECOGNIZER, base_url=base_url, budget=Budget(calls=budget_calls)
    )
    transcript = loops.run(recognizer.transcribe(data, recording.name, language))
    if not transcript.timed:
        echo(f"warning: {transcript.model} gives no times", err=True)
    lines = [f"{clock(part.start)}  {part.text}" for part in transcript.segments]
    emit(transcript, as_json, "\n".join(lines))
    if out is not None:
        write_atomic(out, transcript.to_srt())
        echo(f"subtitles: {out}", err=True)
