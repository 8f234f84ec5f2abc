"""Options and output that commands share: JSON on stdout, progress on stderr."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from pydantic import BaseModel

    from harness.evolve import Event

CommandT = TypeVar("CommandT", bound=Callable[..., Any])


def _joined(
    context: click.Context, parameter: click.Parameter, urls: tuple[str, ...]
) -> str | None:
    """Several base URLs as one string, in the form of the environment variables."""
    return ",".join(urls) or None


json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
seed_option = click.option("--seed", type=int, default=41, show_default=True, help="Random seed.")
base_url_option = click.option(
    "--base-url",
    multiple=True,
    callback=_joined,
    help="Endpoint of openai/ and vllm/ models; several (repeated, or with commas) share the load.",
)
dry_run_option = click.option("--dry-run", is_flag=True, help="Plan and estimate; call no model.")


def model_options(command: CommandT) -> CommandT:
    """Add --model, --base-url, the budgets and --concurrency."""
    options = (
        click.option(
            "--model",
            "models",
            multiple=True,
            metavar="[ROLE=]SPEC",
            help="openai/NAME, vllm/NAME, local/NAME, replay/FILE or simulated/PROFILE; may "
            "repeat with a role (agent=, analyst=, merger=). Default: local/smollm2-135m.",
        ),
        base_url_option,
        click.option("--budget-usd", type=float, help="Stop before more money than this is spent."),
        click.option("--budget-tokens", type=int, help="Stop before more tokens are used."),
        click.option("--budget-calls", type=int, help="Stop before more calls are sent."),
        click.option("--concurrency", type=int, default=16, show_default=True),
    )
    for option in reversed(options):
        command = option(command)
    return command


def emit(result: BaseModel | dict[str, Any] | list[Any], as_json: bool, text: str) -> None:
    """Print `result` as one JSON document, or `text` for people."""
    if as_json:
        plain = isinstance(result, dict | list)
        value = result if plain else result.model_dump(mode="json")
        click.echo(json.dumps(value, ensure_ascii=False, indent=2))
    else:
        click.echo(text)


def dollars(cost_usd: float | None) -> str:
    """A cost for people; None is unknown, which is not nothing."""
    return "unknown" if cost_usd is None else f"${cost_usd:.4f}"


class Progress:
    """One line on stderr: done / failed / invalid, tokens, cost and time left.

    On a terminal the line is rewritten; elsewhere it is printed at most every `every` seconds.
    """

    def __init__(self, total: int, label: str, every: float = 5.0) -> None:
        self._total = total
        self._label = label
        self._started = time.monotonic()
        self._every = 0.1 if sys.stderr.isatty() else every
        self._last = 0.0

    def update(
        self, done: int, failed: int, invalid: int, tokens: int, cost_usd: float | None
    ) -> None:
        """Show the state of the work."""
        now = time.monotonic()
        if now - self._last < self._every and done < self._total:
            return
        self._last = now
        cost = "cost unknown" if cost_usd is None else f"${cost_usd:.4f}"
        left = (now - self._started) / done * (self._total - done) if done else float("nan")
        line = (
            f"{self._label} {done}/{self._total}  failed {failed}  invalid {invalid}  "
            f"{tokens:,} tokens  {cost}  {'' if left != left else f'{left:.0f} s left'}"
        )
        end = "\r" if sys.stderr.isatty() and done < self._total else "\n"
        click.echo(line.ljust(100) + end, nl=False, err=True)


class EventLines:
    """Events of an evolution as lines on stderr; counts at most every `every` seconds."""

    def __init__(self, every: float = 5.0) -> None:
        self._every = every
        self._last = 0.0

    def __call__(self, event: Event) -> None:
        """Show one event."""
        counts = bool(event.total)
        now = time.monotonic()
        if counts and event.done < event.total and now - self._last < self._every:
            return
        self._last = now if counts else self._last
        count = f"{event.done}/{event.total} " if counts else ""
        click.echo(f"{event.stage}: {count}{event.message}".rstrip(), err=True)
