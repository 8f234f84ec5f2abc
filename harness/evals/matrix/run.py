"""Running the cells of a matrix, each an ordinary run folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from harness.core import BadInput, Option, Unreachable, loops
from harness.core.trust import Origin, own_folder
from harness.evals.costs import Estimate, estimate
from harness.evals.matrix.spec import Cell, MatrixFile, lock_of, write_lock
from harness.evals.reuse import adopt_spent
from harness.evals.runner import Evaluator, ProgressHook, open_agent_model
from harness.evals.settings import EvalSettings, Sandbox, TrustSettings
from harness.evals.suite import LoadedSuite, load_suite, refuse_remote_tools
from harness.models import Budget, CallStore, foreign_url
from harness.tasks.files.rows import divided_reference, file_of, of_workbook


class MatrixSettings(TrustSettings):
    """Settings of a matrix run; budgets are for all its cells together."""

    budget_usd: Annotated[float | None, Option("Of all cells together.")] = None
    budget_tokens: Annotated[int | None, Option("Of all cells together.")] = None
    budget_calls: Annotated[int | None, Option("Of all cells together.")] = None
    concurrency: Annotated[int, Option()] = 16
    sandbox: Sandbox = "auto"


class MatrixRun:
    """A matrix file, its folder, and what its cells need.

    Args:
        matrix: what to run.
        base: folder of the file: paths may start there.
        out: folder of the matrix.
        settings: how.
    """

    def __init__(self, matrix: MatrixFile, base: Path, out: Path, settings: MatrixSettings) -> None:
        self.matrix, self.out = matrix, out
        self._base, self._settings = base, settings
        origin = Origin(f"matrix {matrix.name!r}", base, settings.trust)
        self._origin, self._sandbox = origin, origin.sandbox(matrix.sandbox, settings.sandbox)
        self._urls = {
            name: model.base_url and foreign_url(origin, model.spec, model.base_url)
            for name, model in matrix.models.items()
        }
        for model in matrix.models.values():
            kind, _, file = model.spec.partition("/")
            if kind in ("replay", "scripted"):
                self._path(file)

    def run(
        self,
        on_progress: ProgressHook | None = None,
        on_cell: Callable[[Cell, str], None] | None = None,
    ) -> None:
        """Run every cell, or resume those that are not finished.

        A cell whose endpoint does not answer is skipped, and the next one begins.

        Raises:
            BadInput: for a suite, skill, agent or spec that cannot be used; before any call.
            LimitReached: when the budget is spent; finished attempts are kept.
        """
        settings, cells = self._settings, self.matrix.cells()
        budget = Budget(settings.budget_usd, settings.budget_tokens, settings.budget_calls)
        # Everything is opened once: what cannot be used is found before anything is paid for.
        for cell in cells:
            self._skill(cell)
        for cell in {(cell.suite, cell.context): cell for cell in cells}.values():
            Evaluator(self._settings_of(cell), self._suite(cell))  # opens the agent
        for cell in {cell.model: cell for cell in cells}.values():
            with CallStore() as calls:
                model = open_agent_model(self._settings_of(cell), calls, budget=budget)
                loops.run(model.aclose())
        write_lock(self.out, lock_of(self.matrix))
        for cell in cells:
            adopt_spent(self.out / cell.folder, budget)
        report: Callable[[Cell, str], None] = on_cell or (lambda cell, state: None)
        for cell in cells:
            evaluator = Evaluator(self._settings_of(cell), self._suite(cell), budget)
            report(cell, "runs")
            try:
                loops.run(evaluator.run(self.out / cell.folder, self._skill(cell), on_progress))
            except Unreachable as error:
                report(cell, str(error))

    def estimates(self) -> list[tuple[Cell, Estimate]]:
        """Estimate the use of every cell, without a call."""
        rows: list[tuple[Cell, Estimate]] = []
        for cell in self.matrix.cells():
            suite, model = self._suite(cell), self.matrix.models[cell.model]
            tasks = list(suite.tasks[: self.matrix.limit]) * self.matrix.epochs
            rows.append((cell, estimate(
                suite, tasks, model=model.spec, base_url=model.base_url, skill=self._skill(cell),
                runs=[self.out, self.out.parent],
            )))  # fmt: skip
        return rows

    def _suite(self, cell: Cell) -> LoadedSuite:
        suite = load_suite(self._reference(cell), trusted=self._settings.trust)
        suite = self.matrix.contexts[cell.context].applied(suite)
        refuse_remote_tools(suite)
        return suite

    def _reference(self, cell: Cell) -> str:
        """The suite's path from here, or the name of a shipped one."""
        name = self.matrix.suites[cell.suite]
        file, _ = of_workbook(divided_reference(name)[0])
        path = self._path(str(file_of(file)))
        return f"{path}{name.removeprefix(file)}" if path.exists() else name

    def _skill(self, cell: Cell) -> Path | None:
        name = self.matrix.skills[cell.skill]
        if name is None:
            return None
        path = self._path(name)
        if not (path / "SKILL.md").is_file():
            raise BadInput(
                f"skill {cell.skill!r}: expected a skill directory with SKILL.md, found none at "
                f"{str(path)!r}"
            )
        return path

    def _path(self, name: str) -> Path:
        """Beside the matrix file, else from the current folder."""
        beside, current = self._base / name, Path(name)
        if beside.exists() or not current.exists():
            return self._origin.file(beside)
        if not self._settings.trust:
            own_folder(Path())
        return self._origin._replace(root=Path()).file(current)

    def _settings_of(self, cell: Cell) -> EvalSettings:
        matrix, model = self.matrix, self.matrix.models[cell.model]
        return EvalSettings(
            suite=self._reference(cell),
            skill=self._skill(cell),
            epochs=matrix.epochs,
            limit=matrix.limit,
            seed=matrix.seed,
            sandbox=self._sandbox,
            trust=self._settings.trust,
            trust_checks=self._settings.trust_checks,
            models=(model.spec,),
            base_url=self._urls[cell.model],
            concurrency=self._settings.concurrency,
        )
