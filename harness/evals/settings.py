"""Settings of what runs a suite, with the command line's defaults."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from harness.agents.types import SkillMode
from harness.core import Value
from harness.evals.suite import Split
from harness.models.budget import Budget

if TYPE_CHECKING:
    from harness.fleet import Executor

DEFAULT_MODEL = "local/smollm2-135m"


class ModelSettings(Value):
    """What everything that asks models takes.

    Attributes:
        models: `[ROLE=]SPEC` strings; the last one that names a role, or none, counts.
        base_url: of the models' endpoints, in place of those of their specs.
        budget_usd: with `budget_tokens` and `budget_calls`, the hard limits of all calls together.
        seed: of sampling, and of whatever is drawn.
        sandbox: a back end's name, `auto`, or `none`.
    """

    models: tuple[str, ...] = ()
    base_url: str | None = None
    budget_usd: float | None = None
    budget_tokens: int | None = None
    budget_calls: int | None = None
    seed: int = 41
    sandbox: str = "auto"


class WorkerSettings(Value):
    """Where the work of a suite is done.

    Attributes:
        executor: starts workers; `ray` takes the cluster of RAY_ADDRESS, or begins one.
        workers: worker processes; 0 is none (`local`), or one for every core (`ray`).
        worker_resources: that a worker asks Ray for: `CPU`, `GPU`, `memory` (bytes) or own names.
    """

    executor: Literal["local", "ray"] = "local"
    workers: int = 0
    worker_resources: dict[str, float] = {}

    def open_executor(self) -> Executor | None:
        """What starts the workers; None where this process does the work itself.

        Raises:
            HarnessError: as :func:`harness.fleet.open_executor`.
        """
        if self.executor == "local" and not (self.workers or self.worker_resources):
            return None
        from harness.fleet import open_executor

        return open_executor(self.executor, self.workers, self.worker_resources)


class SuiteSettings(ModelSettings, WorkerSettings):
    """What everything that runs a suite takes, with the command line's defaults.

    Attributes:
        suite: path or name of a suite.
        limit: take the first tasks only.
        trust: run code that comes with the suite outside the sandbox.
        out: run folder; default `runs/<id>`.
        resume: run folder to go on with.
    """

    suite: str
    split: Split | None = None
    agent: str | None = None
    skill_mode: SkillMode | None = None
    limit: int | None = None
    trust: bool = False
    out: Path | None = None
    resume: Path | None = None
    concurrency: int = 16


class EvalSettings(SuiteSettings):
    """Everything `harness eval` takes.

    Attributes:
        skill: skill directory.
        baseline: run without the skill too, before the run with it.
        epochs: attempts per task.
        sample: run this one task only.
        earlier: run whose attempts are taken over where all that they depend on is as it was.
        accept: parts of an attempt that may differ from the earlier run's (`code`, `prompts`, ...).
        token_limit: tokens of one attempt; with `cost_limit` (US dollars), `time_limit` and
            `working_limit` (seconds) in place of the suite's `limits`.
    """

    skill: Path | None = None
    baseline: bool = False
    epochs: int = 1
    sample: str | None = None
    earlier: Path | None = None
    accept: tuple[str, ...] = ()
    token_limit: int | None = None
    cost_limit: float | None = None
    time_limit: float | None = None
    working_limit: float | None = None


def agent_model_spec(models: tuple[str, ...]) -> str:
    """The spec for the role `agent` among `[ROLE=]SPEC` strings."""
    from harness.models import parse_roles

    return str(parse_roles(list(models) or [DEFAULT_MODEL])["agent"])


def budget_of(settings: ModelSettings) -> Budget:
    """The hard limits that the settings name."""
    return Budget(
        usd=settings.budget_usd, tokens=settings.budget_tokens, calls=settings.budget_calls
    )
