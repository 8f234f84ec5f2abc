"""One engine thread: continuous batching of every request of this process (openvino-genai).

The native pipeline is not safe to call from several threads, so one thread owns it: it takes jobs
from an inbox, admits them, steps the pipeline and hands every new token to the job's listener.
Admission, :func:`admissible`, decides which requests may share a batch.
"""

from __future__ import annotations

import atexit
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from harness.engines.embedded.native import Finish, Pipeline, Settings, Text, read

if TYPE_CHECKING:
    from openvino_genai.py_openvino_genai import GenerationHandle


@dataclass(frozen=True)
class Traits:
    """What admission needs to know about a request.

    Attributes:
        sampled: draws from the engine's one random stream.
        seeded: must repeat, so nobody else may draw from the stream meanwhile.
        untried: carries a schema that the engine has not compiled yet. A bad schema fails the
            whole step, so such a request starts alone: then the fault is known to be its own.
    """

    sampled: bool = False
    seeded: bool = False
    untried: bool = False


def admissible(waiting: list[Traits], running: list[Traits]) -> list[int]:
    """Indices of the waiting requests to start now, oldest first.

    Greedy requests overtake a seeded one that waits; sampled ones do not, so that it is not
    starved. An untried schema lets nothing overtake it and nothing join it.
    """
    if any(request.untried for request in running):
        return []
    chosen: list[int] = []
    drawing = [request for request in running if request.sampled]
    stream_reserved = False
    for index, request in enumerate(waiting):
        if request.untried:
            return [index] if not running and not chosen else chosen
        if request.sampled:
            alone = request.seeded or any(rival.seeded for rival in drawing)
            if stream_reserved or (alone and drawing):
                stream_reserved = True
                continue
            drawing.append(request)
        chosen.append(index)
    return chosen


class EngineFault(Exception):
    """The engine failed, through no fault of the request."""


@dataclass(frozen=True)
class Progress:
    """New tokens of one job; the last one carries `finish`, or `error`.

    Attributes:
        tokens: ids generated since the last progress.
        finish: why it ended, None while it runs.
        error: what went wrong; `fault` is then `schema` (the request's) or `engine` (ours).
    """

    tokens: tuple[int, ...] = ()
    finish: Finish | None = None
    error: str | None = None
    fault: Literal["schema", "engine"] = "engine"


@dataclass(eq=False)
class Job:
    """One request in the engine; `listener` is called on the engine thread.

    `cancel` may be called from any thread: the engine drops the job at its next step.
    """

    tokens: list[int]
    settings: Settings
    listener: Callable[[Progress], None]
    generation: GenerationHandle | None = None
    cancelled: bool = False

    def cancel(self) -> None:
        """The client went away."""
        self.cancelled = True


class Engine:
    """A model in memory and the thread that runs it; weights load on the first use.

    Args:
        weights: GGUF file.
    """

    def __init__(self, weights: Path) -> None:
        self._weights = weights
        self._inbox: queue.Queue[Job | None] = queue.Queue()
        self._waiting: list[Job] = []
        self._running: list[Job] = []
        self._compiled_schemas: set[str] = set()
        self._numbers = iter(range(1 << 62))
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._pipeline: Pipeline | None = None

    @property
    def loaded(self) -> bool:
        """Whether the weights are in memory."""
        return self._pipeline is not None

    def load(self) -> Text:
        """Load the weights, if not yet done, and start the engine thread; about 2 s.

        Returns:
            Chat template and tokenizer.

        Raises:
            EngineFault: if the weights do not load.
        """
        with self._lock:
            if self._pipeline is None:
                try:
                    self._pipeline = Pipeline(self._weights)
                except RuntimeError as error:
                    raise EngineFault(f"{self._weights} does not load: {_reason(error)}") from error
                self._thread = threading.Thread(
                    target=self._run, args=(self._pipeline,), name="embedded-engine", daemon=True
                )
                self._thread.start()
                # A native call that outlives the interpreter would abort the process.
                atexit.register(self.close)
            return self._pipeline.text

    def submit(self, job: Job) -> None:
        """Queue a job; its listener is called with every later progress."""
        self._inbox.put(job)

    def close(self) -> None:
        """Stop after the current step, with an error to every job in flight."""
        thread = self._thread
        if thread is not None and thread.is_alive():
            self._inbox.put(None)
            thread.join()

    def _run(self, pipeline: Pipeline) -> None:
        while self._receive():
            self._drop_cancelled(pipeline)
            self._admit(pipeline)
            if not self._running:
                continue
            try:
                pipeline.step()
            except RuntimeError as error:
                self._fail_running(pipeline, str(error))
                continue
            for job in list(self._running):
                self._report(job)
        self._fail_running(pipeline, "the engine was closed")
        for job in self._waiting:
            job.listener(Progress(error="the engine was closed"))

    def _receive(self) -> bool:
        """Move new jobs in, sleeping while there is nothing to do; False when closing."""
        idle = not self._running and not self._waiting
        while True:
            try:
                job = self._inbox.get(block=idle)
            except queue.Empty:
                return True
            if job is None:
                return False
            self._waiting.append(job)
            idle = False

    def _drop_cancelled(self, pipeline: Pipeline) -> None:
        self._waiting = [job for job in self._waiting if not job.cancelled]
        gone = [job for job in self._running if job.cancelled]
        for job in gone:
            self._running.remove(job)
            if job.generation is not None:
                job.generation.cancel()
        if gone and not self._running:
            pipeline.flush()

    def _traits(self, job: Job) -> Traits:
        schema = job.settings.schema
        return Traits(
            sampled=job.settings.sampled,
            seeded=job.settings.seed is not None,
            untried=schema is not None and schema not in self._compiled_schemas,
        )

    def _admit(self, pipeline: Pipeline) -> None:
        chosen = admissible(
            [self._traits(job) for job in self._waiting],
            [self._traits(job) for job in self._running],
        )
        jobs = [self._waiting[index] for index in chosen]
        self._waiting = [job for job in self._waiting if job not in jobs]
        for job in jobs:
            try:
                job.generation = pipeline.start(next(self._numbers), job.tokens, job.settings)
            except RuntimeError as error:
                job.listener(Progress(error=_reason(error)))
            else:
                self._running.append(job)

    def _report(self, job: Job) -> None:
        assert job.generation is not None
        tokens, finish, status = read(job.generation)
        if tokens and job.settings.schema is not None:
            self._compiled_schemas.add(job.settings.schema)
        if status == "IGNORED":
            self._running.remove(job)
            job.listener(Progress(error="the engine's KV cache cannot hold this request"))
        elif finish is not None or status == "FINISHED":
            self._running.remove(job)
            job.listener(Progress(tuple(tokens), finish=finish or "stop"))
        elif tokens:
            job.listener(Progress(tuple(tokens)))

    def _fail_running(self, pipeline: Pipeline, message: str) -> None:
        """Tell every running job; a job with an untried schema runs alone, so it is at fault."""
        for job in self._running:
            untried = self._traits(job).untried
            if job.generation is not None:
                job.generation.cancel()
            job.listener(Progress(error=_reason(message), fault="schema" if untried else "engine"))
        self._running = []
        pipeline.flush()


def _reason(error: object) -> str:
    """The last line of a native error, without the source path that leads it."""
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    text = lines[-1] if lines else "unknown error"
    return text.rsplit(".cc:", 1)[-1].rsplit(".cpp:", 1)[-1].strip()
