"""The formats of results: which one a path holds, and how it is read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path

from harness.core import BadInput, digest_file, digest_tree, mapping, read_json, read_rows
from harness.core.rundir import RunWriter, finished_report, looks_of, mark_finished
from harness.evals.formats.inspect import inspect_results
from harness.evals.formats.lm_eval import NO_SAMPLES, is_sample, lm_eval_results, samples_in
from harness.evals.formats.promptfoo import is_promptfoo, promptfoo_results
from harness.evals.formats.skill_creator import NO_RESULTS, benchmark_results, is_benchmark
from harness.evals.formats.tables import junit_results, table_results
from harness.evals.report import EvalReport, Results, read_report, read_run
from harness.trajectories.formats.inspect import is_inspect

KNOWN = """\
  a run folder of ours, or the looks of a gate (EVOLVED/runs/gate-before)
  inspect         LOG.eval, a .json log, or the folder of --log-dir
  lm-eval         samples_*.jsonl, or the folder of --output_path (with --log_samples)
  promptfoo       what `promptfoo eval -o out.json` wrote
  skill-creator   benchmark.json
  JUnit           .xml
  a table         .csv or .tsv with columns such as id, passed, model"""


def open_results(path: Path, metric: str | None = None) -> list[Results]:
    """Read the results in a run folder or in a file of another tool, which may hold several runs.

    Args:
        path: one of :data:`KNOWN`.
        metric: which of several figures decides (lm-eval, tables).

    Raises:
        BadInput: if nothing is there, no format fits, or the file is damaged.
    """
    if (path / "run.json").is_file():
        return [read_run(path)]
    if looks := looks_of(path):
        # Of an attempt that several looks have, the last one counts.
        parts = [read_run(run) for run in looks]
        items = {item.id: item for part in parts for item in part.items}
        return [Results(path.name, parts[0].lock, list(items.values()))]
    if not path.exists():
        raise BadInput(f"expected results, found nothing at {str(path)!r}")
    return _reader(path, metric)(path)


def _reader(path: Path, metric: str | None) -> Callable[[Path], list[Results]]:
    """Return the reader for a path."""
    samples = partial(lm_eval_results, metric=metric)
    if path.is_dir():
        if samples_in(path):
            return samples
        if logs := sorted(path.glob("*.eval")):
            return lambda _: [run for log in logs for run in inspect_results(log)]
    elif path.suffix == ".eval":
        return inspect_results
    elif path.suffix == ".xml":
        return junit_results
    elif path.suffix in (".csv", ".tsv"):
        return partial(table_results, metric=metric)
    elif path.suffix == ".jsonl":
        if all(is_sample(row) for _, row in islice(read_rows(path), 3)):
            return samples
    elif path.suffix == ".json":
        document = mapping(read_json(path))
        if is_inspect(document):
            return inspect_results
        if is_promptfoo(document):
            return promptfoo_results
        if is_benchmark(document):
            return benchmark_results
        if "evals" in document:
            raise BadInput(f"{str(path)!r} {NO_RESULTS}")
        if {"results", "configs"} <= document.keys():
            raise BadInput(f"{str(path)!r} {NO_SAMPLES}")
    raise BadInput(f"cannot tell what {str(path)!r} holds; expected one of\n{KNOWN}")


def import_results(
    path: Path, out: Path, *, metric: str | None = None, column: str | None = None
) -> EvalReport:
    """Write results of another tool as the run folder `out`, which compare and view can read.

    What the tool itself reports stands in the lock (`reported`), for comparison.

    Args:
        path: of the results.
        out: must not hold a run.
        metric: which of several figures decides.
        column: model or configuration, where the file holds several.

    Raises:
        BadInput: as :func:`open_results` does, if `out` holds a run, or if the file holds several
            runs and `column` names none of them.
    """
    runs = open_results(path, metric)
    names = [run.name.removeprefix(f"{path.name}:") for run in runs]
    if column is None and len(runs) > 1:
        raise BadInput(
            f"{str(path)!r} holds {len(runs)} runs: name one with --column: {', '.join(names)}"
        )
    if column is not None and column not in names:
        raise BadInput(f"no run {column!r} in {str(path)!r}: expected one of {', '.join(names)}")
    results = runs[names.index(column) if column is not None else 0]
    content = digest_tree(path) if path.is_dir() else digest_file(path)
    request = {"results": content, "metric": metric, "column": column}
    if earlier := finished_report(out, request):
        return EvalReport.model_validate({**earlier, "run": out.name})
    with RunWriter(out, results.lock) as run:
        for trajectory in results.trajectories:
            run.append_trajectory(trajectory.model_dump(mode="json", exclude_none=True))
        for item in results.items:
            run.append_item(item.model_dump(mode="json"))
    return mark_finished(out, request, read_report(out))
