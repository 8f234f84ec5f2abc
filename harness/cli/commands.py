"""Shared parts of commands: options, made from the fields of a settings class or declared here, and
output, JSON on stdout and progress on stderr.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from inspect import get_annotations
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin

import click

from harness.cli.terminal import drawn_bars, end_bars
from harness.core.terminal import command_line, printable, printable_json
from harness.core.terminal import dollars as dollars

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

    from harness.core import Option

CommandT = TypeVar("CommandT", bound=Callable[..., Any])
MODEL_FIELDS = (
    "seed", "models", "base_url", "budget_usd", "budget_tokens", "budget_calls", "concurrency",
)  # fmt: skip
"""Fields of :class:`harness.evals.SuiteSettings` about the model, for commands without a suite."""

path_type = click.Path(path_type=Path)
positive = click.FloatRange(0, min_open=True)


class ShareType(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]  # not generic in click 8.1
    """A share from 0 to 1, written `80%` or `0.8`; a number of 1 or more without % is refused."""

    name = "share"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """See :meth:`click.ParamType.convert`."""
        if isinstance(value, float):  # a default
            return value
        text = str(value).strip()
        try:
            number = float(text.removesuffix("%"))
        except ValueError:
            number = -1.0
        if not text.endswith("%") and 1 <= number <= 100:
            self.fail(
                f"{text!r} may be {number:g} percent or a share: write {number:g}% or "
                f"{number / 100:g}" + (", or 100% for all" if number == 1 else ""),
                param,
                ctx,
            )
        share = number / 100 if text.endswith("%") else number
        if not 0 <= share <= 1:
            self.fail(f"expected a share such as 80% or 0.8, got {text!r}", param, ctx)
        return share


SHARE = ShareType()
_SHARED: dict[str, dict[str, Any]] = {
    "--agent": {},
    "--arm": {"type": click.Choice(["hybrid", "weighted", "dense", "lexical"])},
    "--base-url": {"help": "Endpoint of openai/ and vllm/ models."},
    "--budget": {"type": int},
    "--budget-calls": {"type": int},
    "--budget-tokens": {"type": int},
    "--budget-usd": {"type": float},
    "--by": {"metavar": "COLUMN"},
    "--check": {"is_flag": True, "help": "Say what would change; write nothing."},
    "--concurrency": {"type": int, "default": 8, "show_default": True},
    "--context": {},
    "--critic": {"default": "auto", "show_default": True, "help": "What scores: see compress."},
    "--data": {"type": path_type, "required": True},
    "--dry-run": {"is_flag": True, "help": "Plan and estimate; call no model."},
    "--follow-links": {
        "is_flag": True,
        "help": "Read what links in a folder of documents lead to.",
    },
    "--force": {"is_flag": True},
    "--format": {},
    "--guard": {
        "metavar": "SETTING",
        "help": "Guard before and behind the model: offline, a file, or the SPEC of a Qwen3Guard.",
    },
    "--html": {"type": path_type},
    "--index": {"type": path_type},
    "--install": {"is_flag": True},
    "--junit": {"type": path_type},
    "--limit": {"type": click.IntRange(min=1)},
    "--live": {"is_flag": True},
    "--max-tokens": {"type": click.IntRange(min=1), "default": 256, "show_default": True},
    "--metric": {"metavar": "NAME", "help": "Which of several figures decides (lm-eval, tables)."},
    "--model": {},
    "--out": {"type": path_type},
    "--port": {"type": click.IntRange(0, 65535), "default": 0},
    "--resume": {"type": path_type},
    "--run": {"type": path_type},
    "--sandbox": {"default": "auto", "show_default": True},
    "--seed": {"type": int, "show_default": True},
    "--skill": {"type": path_type},
    "--split": {"show_default": True},
    "--suite": {},
    "--tokens": {"type": click.IntRange(min=1)},
    "--top": {"type": int, "default": 10, "show_default": True},
    "--trajectories": {"type": path_type},
    "--usd": {"type": positive},
    "--yes": {"is_flag": True},
}
"""Options that several commands have, and what they have in common."""
_ALSO = {"--top": "-k"}


def complete(context: Any, parameter: click.Parameter, typed: str) -> list[Any]:
    """List what the Tab key offers for the value of a parameter, by its name."""
    from harness.cli.completion import candidates

    return candidates(parameter.name or "", typed)


def shared_option(name: str, *names: str, **overrides: Any) -> Callable[[CommandT], CommandT]:
    """An option that other commands have as well.

    Args:
        name: of the option.
        names: its other names, such as that of the parameter.
        own: what this command says of it: its help, and what differs from the others.
    """
    also = (_ALSO[name],) if name in _ALSO else ()
    completed: dict[str, Any] = (
        {"shell_complete": complete} if name in ("--model", "--skill", "--suite") else {}
    )
    return click.option(name, *also, *names, **{**completed, **_SHARED[name], **overrides})


json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
dry_run_option = shared_option("--dry-run")
folder_argument = click.argument("folder", metavar="DIR", type=path_type, shell_complete=complete)


class SettingsCommand(click.Command):
    """A command whose options are the fields of a settings class that carry an `Option`.

    The class is imported when the options are needed, so that listing commands stays cheap. An
    option that the command declares itself takes the place of the field of that name.

    Args:
        settings: `module:class`.
        only: fields to take; default all.
        skip: fields to leave out.
    """

    def __init__(
        self,
        *args: Any,
        settings: str,
        only: Sequence[str] = (),
        skip: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._settings: str | None = settings
        self._only, self._skip = only, skip

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Arguments, options of the settings, options of the command itself."""
        if self._settings is not None:
            module, _, name = self._settings.partition(":")
            settings: type[BaseModel] = getattr(import_module(module), name)
            skip = {*self._skip, *(param.name for param in self.params)}
            options = [
                option
                for option in options_of(settings)
                if option.name not in skip and (not self._only or option.name in self._only)
            ]
            arguments = [param for param in self.params if isinstance(param, click.Argument)]
            declared = [param for param in self.params if not isinstance(param, click.Argument)]
            self.params, self._settings = [*arguments, *options, *declared], None
        return super().get_params(ctx)


def options_of(settings: type[BaseModel]) -> list[click.Option]:
    """Options for the fields that carry an :class:`harness.core.Option`, own fields first."""
    from harness.core import Option

    names = dict.fromkeys(name for base in settings.__mro__ for name in get_annotations(base))
    return [
        _option(name, settings.model_fields[name], mark)
        for name in names
        if name in settings.model_fields
        for mark in settings.model_fields[name].metadata
        if isinstance(mark, Option)
    ]


def _option(name: str, field: FieldInfo, mark: Option) -> click.Option:
    kind: Any = field.annotation
    if get_origin(kind) in (Union, UnionType):
        kind = next(part for part in get_args(kind) if part is not type(None))
    multiple = mark.multiple or (get_origin(kind) is tuple and mark.callback is None)
    if get_origin(kind) is tuple:
        kind = get_args(kind)[0]
    bounds: dict[str, Any] = {}
    for limit in field.metadata:
        if (least := getattr(limit, "ge", None)) is not None:
            bounds["min"] = least
        elif (above := getattr(limit, "gt", None)) is not None:
            bounds.update(min=above, min_open=True)
        elif (most := getattr(limit, "le", None)) is not None:
            bounds["max"] = most
    choices = mark.choices() if callable(mark.choices) else mark.choices
    if get_origin(kind) is Literal:
        choices = choices or get_args(kind)
    type_: Any = kind if kind in (int, float) else str
    if mark.callback is not None:
        type_ = str
    elif choices:
        type_ = click.Choice(list(choices))
    elif kind is Path:
        type_ = path_type
    elif mark.metavar == "SHARE":
        type_ = SHARE
    elif bounds:
        type_ = click.IntRange(**bounds) if kind is int else click.FloatRange(**bounds)
    computed = multiple or mark.callback is not None or field.is_required()
    default = None if computed else field.default
    flag = kind is bool
    return click.Option(
        [*(mark.names or (f"--{name.replace('_', '-')}",)), name],
        type=None if flag else type_,
        is_flag=flag,
        multiple=multiple,
        default=default,
        show_default=mark.show_default and not flag and default not in (None, "", ()),
        help=mark.help or None,
        metavar=mark.metavar,
        callback=mark.callback,
        shell_complete=complete if name in ("models", "suite", "skill", "check") else None,
    )


def telemetry_options(command: CommandT) -> CommandT:
    """Add --otel, --metrics, --log-json and --log-level, and run the command with telemetry."""

    @functools.wraps(command)
    def with_telemetry(
        *args: Any,
        otel: bool,
        metrics: int | None,
        log_json: Path | None,
        log_level: str | None,
        **options: Any,
    ) -> Any:
        if not otel and metrics is None and log_json is None:
            return command(*args, **options)
        from harness.core.telemetry import spans_asked, telemetry

        otel = otel and not spans_asked(os.environ)  # they are on for every command then
        with telemetry(otel=otel, metrics=metrics, log=log_json, level=log_level) as url:
            if url is not None:
                echo(f"metrics: {url}", err=True)
            return command(*args, **options)

    options = (
        click.option("--otel", is_flag=True, help="Send OpenTelemetry spans (OTEL_* variables)."),
        click.option(
            "--metrics", type=click.IntRange(0, 65535), metavar="PORT",
            help="Serve Prometheus metrics on 127.0.0.1; 0 takes a free port.",
        ),
        click.option(
            "--log-json", type=path_type, metavar="FILE",
            help="Add one JSON object a line to this file; no prompts, no keys.",
        ),
        click.option(
            "--log-level", type=click.Choice(["debug", "info", "warning", "error"]),
            help="Default: info.",
        ),
    )  # fmt: skip
    decorated: Any = with_telemetry
    for option in reversed(options):
        decorated = option(decorated)
    return decorated


def echo(text: str = "", *, err: bool = False, end: str = "\n") -> None:
    """Print a text with the control characters of others as codes.

    Args:
        text: :class:`harness.core.Shown` stays as it is.
        err: whether it goes to stderr, above the bars if there are some.
        end: ours.
    """
    if err and (drawn := drawn_bars()) is not None:
        drawn.above(printable(text))
        return
    end_bars()
    click.echo(printable(text) + end, nl=False, err=err)


def echo_json(value: Any, indent: int | None = 2) -> None:
    """Print a value as JSON."""
    end_bars()
    click.echo(printable_json(json.dumps(value, ensure_ascii=False, indent=indent)))


def emit(result: BaseModel | dict[str, Any] | list[Any], as_json: bool, text: str) -> None:
    """Print `result` as one JSON document, or `text` for people."""
    if as_json:
        plain = isinstance(result, dict | list)
        value = result if plain else result.model_dump(mode="json")
        echo_json(value)
    else:
        echo(text)


@contextmanager
def resumable(run: Path) -> Generator[None]:
    """A block that a budget, a silent model or Ctrl-C may stop; it prints how to resume `run`.

    That is the command that was typed, with --resume in place of --out and --resume, and without
    the credentials of a base URL.
    """
    from harness.core import LimitReached, Unreachable
    from harness.core.redaction import redact
    from harness.models import public_url

    try:
        yield
    except (LimitReached, Unreachable, KeyboardInterrupt) as error:
        if isinstance(error, Unreachable) and not run.exists():  # nothing was begun
            raise
        words, typed, secret = iter(sys.argv[1:]), list[str](), False
        for word in words:
            if word in ("--out", "--resume"):
                next(words, None)
            elif not word.startswith(("--out=", "--resume=")):
                is_url = word.startswith("--base-url=") or typed[-1:] == ["--base-url"]
                typed.append(public_url(word) if is_url else redact(word))
                secret = secret or typed[-1] != word
        command = command_line(*typed, "--resume", run)
        echo(f"what is finished is kept; go on with:\n  {command}", err=True)
        if secret:
            echo("  (passwords and keys that you typed are left out: add them)", err=True)
        if isinstance(error, KeyboardInterrupt):
            raise click.Abort from error
        raise
