"""`harness speak`."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli import echo, emit, intent, json_option, path_type, shared_option


@intent("Answer")
@click.command(short_help="Speak a text or a script into a WAV file.")
@click.argument("source", type=path_type)
@shared_option("--out", required=True, help="The WAV file.")
@click.option("--voice", "voices", multiple=True, help="Of the speakers, in their order.")
@click.option("--synthesizer", help="A model spec that speaks. Default: local/hibari.")
@shared_option("--base-url", help="Endpoint of the synthesizer and the planner.")
@shared_option("--model", help="A chat model that plans mood, pace and stress. Default: neutral.")
@click.option("--instructions", default="", help="How to speak, in words, for the planner.")
@click.option("--covering", type=path_type, help="A text that a script must speak in full.")
@shared_option("--budget-calls", help="Most calls of each model.")
@json_option
def speak(
    as_json: bool,
    source: Path,
    out: Path,
    voices: tuple[str, ...],
    synthesizer: str | None,
    base_url: str | None,
    model: str | None,
    instructions: str,
    covering: Path | None,
    budget_calls: int | None,
) -> None:
    """Speak SOURCE, a text or a script (JSON), sentence by sentence.

    A text whose lines all begin with `Name:` is a dialogue. The script lies beside the WAV file;
    change it and speak it again. A script that leaves out words of its text is refused.

    Example: harness speak notes.md --out notes.wav
    """
    from harness.core import BadInput, loops, write_atomic
    from harness.models import Budget, open_model
    from harness.speech.models import DEFAULT_SYNTHESIZER, open_synthesizer
    from harness.speech.planning import Plan, plan_speech, plan_with_model
    from harness.speech.rendering import Rendering, render_speech
    from harness.speech.script import read_script, spoken_words

    if out.suffix.lower() != ".wav":
        raise BadInput(
            f"--out: expected a .wav file, got {str(out)!r}: other formats are not written"
        )
    is_script = source.suffix.lower() == ".json"
    if is_script and (model or voices or instructions):
        raise BadInput(f"{str(source)!r} is a script: it names voices and manner itself")
    if instructions and not model:
        raise BadInput("--instructions are for a planner: name one with --model")
    voice_model = open_synthesizer(
        synthesizer or DEFAULT_SYNTHESIZER, base_url=base_url, budget=Budget(calls=budget_calls)
    )

    def text_of(path: Path) -> str:
        try:
            return path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"cannot read {str(path)!r} as text: {error}") from error

    async def work() -> tuple[Plan, Rendering]:
        if is_script:
            script = read_script(source)
            plan = Plan(script=script, text=text_of(covering) if covering else script.text)
        elif model:
            planner = open_model(model, base_url=base_url, budget=Budget(calls=budget_calls))
            try:
                plan = await plan_with_model(planner, text_of(source), voices, instructions)
            finally:
                await planner.aclose()
        else:
            plan = plan_speech(text_of(source), voices)
        return plan, await render_speech(plan.script, voice_model, text=plan.text)

    plan, rendering = loops.run(work())
    write_atomic(out, rendering.sound.to_wav())
    script_file = out.with_suffix(".script.json")
    write_atomic(script_file, plan.script.model_dump_json(indent=2))
    for warning in rendering.warnings:
        echo(f"warning: {warning}", err=True)
    if plan.unplanned:
        echo(f"warning: {plan.unplanned} sentences were not planned and stay neutral", err=True)
    words = len(spoken_words(plan.script.text))
    summary = {
        "out": str(out),
        "script": str(script_file),
        "seconds": round(rendering.sound.seconds, 2),
        "model": voice_model.spec,
        "voices": rendering.voices,
        "sentences": len(rendering.segments),
        "words": words,
        "segments": [segment.model_dump(mode="json") for segment in rendering.segments],
        "warnings": list(rendering.warnings),
    }
    text = (
        f"{out}: {rendering.sound.seconds:.1f} s, {len(rendering.segments)} sentences, "
        f"{words} words; script: {script_file}"
    )
    emit(summary, as_json, text)
