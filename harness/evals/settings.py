"""Settings of everything that runs a suite: one declaration for Python and the command line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlencode

from pydantic import Field, model_validator

from harness.agents import SkillMode
from harness.core import BadInput, Option, Value
from harness.core.plugins import load, plugins
from harness.evals.suite import LoadedSuite, Split
from harness.models import Budget, SampleLimits, parse_roles
from harness.tasks import output_file
from harness.tasks.families import is_function
from harness.tasks.files.rows import DEFAULT_CHECK, divided_reference

if TYPE_CHECKING:
    from harness.evals.pool import Executor

DEFAULT_MODEL = "local/smollm2-135m"


def join_urls(context: Any, parameter: Any, urls: tuple[str, ...]) -> str | None:
    """Repeated base URLs as one string: who opens the model says that one is expected."""
    return ",".join(urls) or None


def read_amounts(context: Any, parameter: Any, words: tuple[str, ...]) -> dict[str, float]:
    """Words of the form NAME=AMOUNT as numbers by name."""
    amounts: dict[str, float] = {}
    for word in words:
        name, _, amount = word.partition("=")
        try:
            amounts[name] = float(amount)
        except ValueError:
            amounts[name] = -1.0
        if not name or not 0 <= amounts[name] < float("inf"):
            raise BadInput(f"--worker-resource: expected NAME=AMOUNT such as GPU=0.5, got {word!r}")
    return amounts


def read_columns(context: Any, parameter: Any, words: tuple[str, ...]) -> dict[str, str]:
    """Words of the form COLUMN=FIELD as field by column."""
    pairs = [word.rpartition("=") for word in words]
    if wrong := [word for word, (column, _, _) in zip(words, pairs, strict=True) if not column]:
        raise BadInput(f"--map: expected COLUMN=FIELD such as question=prompt, got {wrong[0]!r}")
    fields = [field for _, _, field in pairs]
    if twice := [column for column, _, field in pairs if fields.count(field) > 1]:
        raise BadInput(
            f"--map: {' and '.join(map(repr, twice))} stand for one field: --map "
            f"'{' '.join(f'{{{column}}}' for column in twice)}=FIELD' joins them"
        )
    return {column: field for column, _, field in pairs}


def columns_of(settings: Mapping[str, Any]) -> dict[str, str]:
    """The columns and the check of settings, as :func:`tasks_of` takes them."""
    columns: dict[str, str] = settings.get("columns") or {}
    check, group = settings.get("check"), settings.get("group_by")
    columns = columns if group is None else {**columns, group: "group"}
    file, _, name = str(check).rpartition(":")
    if is_function(str(check)) and Path(file).is_file():  # typed where the command runs
        check = f"{Path(file).resolve()}:{name}"
    return columns if check is None else {**columns, DEFAULT_CHECK: check}


Sandbox = Annotated[str, Option("Sandbox back end, or none.")]


class ModelSettings(Value):
    """Settings of everything that asks models.

    Attributes:
        models: `[ROLE=]SPEC` strings; the last one that names a role, or none, counts.
        base_url: of the models' endpoints, in place of those of their specs.
        budget_usd: with `budget_tokens` and `budget_calls`, the hard limits of all calls together.
        seed: of sampling, and of whatever is drawn.
        sandbox: name of a sandbox back end, `auto`, or `none`.
    """

    seed: Annotated[int, Option("Random seed.")] = 41
    models: Annotated[
        tuple[str, ...],
        Option(
            "openai/NAME, vllm/NAME, local/NAME, replay/FILE, simulated/PROFILE or none; may "
            f"repeat with a role (agent=, analyst=, merger=). Default: {DEFAULT_MODEL}.",
            names=("--model",),
            metavar="[ROLE=]SPEC",
        ),
    ] = ()
    base_url: Annotated[
        str | None,
        Option(
            "Endpoint of openai/ and vllm/ models.",
            callback=join_urls,
            multiple=True,
        ),
    ] = None
    budget_usd: Annotated[float | None, Option("Stop before more money than this is spent.")] = None
    budget_tokens: Annotated[int | None, Option("Stop before more tokens are used.")] = None
    budget_calls: Annotated[int | None, Option("Stop before more calls are sent.")] = None
    sandbox: Sandbox = "auto"


class TrustSettings(Value):
    """Permissions to leave the sandbox and the suite's folder.

    Attributes:
        trust: the agent that a suite names, and the files that its tasks name.
        trust_checks: checks that are code, and with them what an attempt left for them to run.
    """

    trust: Annotated[
        bool, Option("Run the suite's agent with your rights; its tasks may name any file.")
    ] = False
    trust_checks: Annotated[
        bool, Option("Judge outside the sandbox: what a model wrote may run with your rights.")
    ] = False


class WorkerSettings(Value):
    """Place where the work of a suite is done.

    Attributes:
        executor: starts workers; `ray` takes the cluster of RAY_ADDRESS, or begins one.
        workers: worker processes; 0 is none (`local`), or one for every core (`ray`).
        worker_resources: that a worker asks Ray for: `CPU`, `GPU`, `memory` (bytes) or own names.
    """

    executor: Annotated[
        str,
        Option(
            "This machine, or the Ray cluster of RAY_ADDRESS (without it: one begun here).",
            choices=lambda: tuple(sorted({"local", *plugins("executors")})),
        ),
    ] = "local"
    workers: Annotated[
        int,
        Field(ge=0),
        Option(
            "Worker processes. Default: none; with ray, as many as the cluster has room for.",
            show_default=False,
        ),
    ] = 0
    worker_resources: Annotated[
        dict[str, float],
        Option(
            "That each worker asks Ray for: CPU, GPU, memory (bytes) or a node's own tag.",
            names=("--worker-resource",),
            metavar="NAME=AMOUNT",
            callback=read_amounts,
            multiple=True,
        ),
    ] = {}

    def open_executor(self) -> Executor | None:
        """Opens what starts the workers; None where this process does the work itself.

        Raises:
            HarnessError: if there is no such executor, or it cannot be opened.
        """
        if self.executor == "local" and not (self.workers or self.worker_resources):
            return None
        return load("executors", self.executor)(self.workers, self.worker_resources)


class LimitSettings(Value):
    """Limits of one attempt, in place of the suite's `limits`.

    Attributes:
        token_limit: tokens of all its calls.
        cost_limit: US dollars of all its calls.
        time_limit: seconds since it began.
        working_limit: the same without waiting.
    """

    token_limit: Annotated[int | None, Field(ge=1), Option("Tokens that an attempt may use.")] = (
        None
    )
    cost_limit: Annotated[
        float | None, Field(gt=0), Option("US dollars that an attempt may cost.")
    ] = None
    time_limit: Annotated[
        float | None,
        Field(gt=0),
        Option(
            "Seconds that an attempt may take. Without a limit, commands and functions have 120."
        ),
    ] = None
    working_limit: Annotated[
        float | None,
        Field(gt=0),
        Option("The same without waiting for a slot, a rate limit or another try."),
    ] = None

    @property
    def sample_limits(self) -> SampleLimits:
        """The limits that are named."""
        return SampleLimits(
            tokens=self.token_limit, usd=self.cost_limit,
            seconds=self.time_limit, working=self.working_limit,
        )  # fmt: skip


class ColumnSettings(Value):
    """Names of a task file's columns, for settings that have a `suite`.

    Attributes:
        columns: column of the task file -> field of a task; from then on part of `suite`.
        check: of the tasks that name none; part of `suite`, too.
        group_by: column, or field of `meta`, that holds the groups; part of `suite`, too.
    """

    columns: Annotated[
        dict[str, str],
        Option(
            "A column of the task file as id, prompt, answer, answers (with | between), check, "
            "files or group.",
            names=("--map",),
            metavar="COLUMN=FIELD",
            callback=read_columns,
            multiple=True,
        ),
    ] = {}
    check: Annotated[
        str | None,
        Option("Check of tasks that name none: em, exact, contains, numeric, regex, ..."),
    ] = None
    group_by: Annotated[
        str | None,
        Option(
            "Column with the groups of tasks (kind, template, document): intervals and tests take "
            "groups for independent, in place of tasks. A table of rates is --by COLUMN.",
            metavar="COLUMN",
        ),
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _columns_in_reference(cls, values: dict[str, Any]) -> dict[str, Any]:
        """The reference holds both, so that the suite is read the same when found again."""
        if not (options := columns_of(values)):
            return values
        if values.get("suite") is None:
            raise BadInput("--map, --check and --group-by are of a suite's tasks: give the suite")
        path, columns = divided_reference(str(values["suite"]))
        suite = f"{path}?{urlencode({**columns, **options})}"
        return {**values, "suite": suite, "columns": {}, "check": None, "group_by": None}


class SuiteSettings(ModelSettings, WorkerSettings, TrustSettings, ColumnSettings):
    """Settings of everything that runs a suite.

    Attributes:
        suite: path or name of a suite.
        limit: take the first tasks only.
        out: run folder; default `runs/<id>`.
        resume: run folder to resume.
    """

    suite: str
    split: Annotated[Split | None, Option()] = None
    agent: Annotated[
        str | None, Option("graph:FILE.py:NAME, cmd:COMMAND or py:FILE.py:FUNCTION.")
    ] = None
    skill_mode: Annotated[SkillMode | None, Option(choices=("preloaded", "discovered"))] = None
    limit: Annotated[int | None, Field(ge=1), Option("Take the first tasks only.")] = None
    out: Annotated[Path | None, Option("Run folder. Default: runs/<id>.")] = None
    resume: Annotated[Path | None, Option("Resume this run folder.")] = None
    concurrency: Annotated[
        int, Option("Attempts at a time; with local/ models no more than their engine has slots.")
    ] = 16


class EvalSettings(LimitSettings, SuiteSettings):
    """Everything `harness eval` takes.

    Attributes:
        skill: skill directory.
        baseline: run without the skill too, before the run with it.
        epochs: attempts per task.
        sample: run this one task only.
        earlier: run whose attempts are taken over where all that they depend on is as it was.
        accept: parts of an attempt that may differ from the earlier run's (`code`, `prompts`, ...).
        guard: of a wing that registers in `harness.layers`, in front of and behind the model.
    """

    skill: Annotated[Path | None, Option("Skill directory.")] = None
    baseline: Annotated[bool, Option("Run without the skill too, and compare.")] = False
    epochs: Annotated[int, Option("Attempts per task.")] = 1
    guard: Annotated[
        str | None,
        Option("Guard before and behind the model: offline, a file, or the SPEC of a Qwen3Guard."),
    ] = None
    sample: Annotated[
        str | None, Option("Run this task only, and print its events as they happen.")
    ] = None
    earlier: Annotated[
        Path | None,
        Option(
            "Take over from RUN what still holds, judge again what is judged otherwise.",
            names=("--from",),
            metavar="RUN",
        ),
    ] = None
    accept: Annotated[
        tuple[str, ...],
        Option(
            "With --from: skill, prompts, model, agent, settings or code may differ.",
            metavar="PART",
        ),
    ] = ()


def agent_model_spec(models: tuple[str, ...]) -> str:
    """The spec for the role `agent` among `[ROLE=]SPEC` strings."""
    return str(parse_roles(list(models) or [DEFAULT_MODEL])["agent"])


def agent_spec(settings: SuiteSettings, suite: LoadedSuite) -> str:
    """The agent of a run: the one that is named, or else the suite's, or else one of ours.

    An embedded model (`local/`) gets `graph:program` where every task leaves a file: models of that
    size write a program better than they hold a dialogue with tools. All others get
    `graph:react`.
    """
    if (spec := settings.agent or suite.suite.agent) is not None:
        return spec
    embedded = agent_model_spec(settings.models).startswith("local/")
    files = all(output_file(task) for task in suite.tasks)
    return "graph:program" if embedded and files else "graph:react"


def budget_of(settings: ModelSettings) -> Budget:
    """The hard limits that the settings name."""
    return Budget(
        usd=settings.budget_usd, tokens=settings.budget_tokens, calls=settings.budget_calls
    )
