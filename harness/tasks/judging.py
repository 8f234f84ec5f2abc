"""A suite's judging model as the suite describes it, and its known errors."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, JsonValue, ValidationError

from harness.core import BadInput, Value, digest, first_fault, read_foreign, read_json
from harness.core.trust import Origin
from harness.models import ChatModel

_FILES = (".md", ".txt")


class Calibration(Value):
    """A judge's verdicts beside labels, as `harness judge --calibrate` writes it.

    Attributes:
        judge: digest of the model and settings that it holds for: see :meth:`JudgeSettings.key`.
        model: spec of the judge's model, for people.
        passes: answers labelled as passes that the judge gave a valid verdict on.
        right_passes: those of them that it passed.
        fails: answers labelled as fails that it gave a valid verdict on.
        right_fails: those of them that it failed.
        invalid: labelled answers without a valid verdict.
        curve: (score, share of passes, labels at this score), the shares never falling.
    """

    judge: str
    model: str
    passes: int = Field(ge=0)
    right_passes: int = Field(ge=0)
    fails: int = Field(ge=0)
    right_fails: int = Field(ge=0)
    invalid: int = 0
    curve: tuple[tuple[float, float, int], ...] = ()

    @property
    def labels(self) -> int:
        """Labelled answers with a valid verdict."""
        return self.passes + self.fails

    @property
    def informed(self) -> tuple[float, float, float] | None:
        """Sensitivity + specificity - 1, with its 95 % interval."""
        from harness.stats import informedness

        return informedness(self.right_passes, self.passes, self.right_fails, self.fails)


class JudgeSettings(Value):
    """`judge:` of a suite.

    Attributes:
        model: spec of the judge's model; `--model judge=SPEC` takes its place.
        rubric: criteria, a line each, or the name of a .md or .txt file below the suite; a task's
            `meta.rubric` takes its place.
        votes: replies for each answer.
        threshold: least mean share of criteria met of an answer that passes.
        calibration: file that `harness judge --calibrate` wrote, below the suite; once loaded, what
            it says.
    """

    model: str | None = None
    rubric: str = ""
    votes: int = Field(default=1, ge=1, le=99)
    threshold: float = Field(default=1.0, gt=0, le=1)
    calibration: str | Calibration | None = None

    def key(self, model: str) -> str:
        """Digest of all that makes the verdicts of this judge with a model."""
        return digest([model, self.rubric.strip(), self.votes, self.threshold])[:16]

    def loaded(self, root: Path, *, trusted: bool) -> JudgeSettings:
        """The settings with the files that they name read.

        Args:
            root: folder of the suite.
            trusted: whether files may lie elsewhere.

        Raises:
            BadInput: if a file cannot be read, or lies elsewhere.
        """
        update: dict[str, object] = {}
        origin = Origin("judge", root, trusted)
        kind, _, file = (self.model or "").partition("/")
        if kind in ("replay", "scripted"):
            update["model"] = f"{kind}/{origin.file(root / file)}"
        if self.rubric.endswith(_FILES) and "\n" not in self.rubric:
            try:
                update["rubric"] = read_foreign(origin.file(root / self.rubric)).decode()
            except (OSError, UnicodeDecodeError) as error:
                raise BadInput(f"judge: cannot read the rubric {self.rubric!r}: {error}") from error
            if not str(update["rubric"]).strip():
                raise BadInput(f"judge: the rubric {self.rubric!r} is empty: it names no criteria")
        if isinstance(self.calibration, str):
            update["calibration"] = read_calibration(origin.file(root / self.calibration))
        return self.model_copy(update=update)

    def calibrated_for(self, model: str) -> Calibration | None:
        """The calibration, if there is one.

        Raises:
            BadInput: if it is that of another judge: another model, rubric, votes or threshold.
        """
        if not isinstance(self.calibration, Calibration):
            return None
        if self.calibration.judge != self.key(model):
            raise BadInput(
                f"judge: expected a calibration of {model} with this rubric, votes and threshold, "
                f"found one of another judge ({self.calibration.model}): calibrate this one with "
                "`harness judge --calibrate`, or leave 'calibration' out"
            )
        return self.calibration


@dataclass(frozen=True)
class ModelJudge:
    """The model that judges a run, and how.

    Attributes:
        model: judges.
        settings: of the suite, loaded.
    """

    model: ChatModel
    settings: JudgeSettings

    def facts(self) -> dict[str, JsonValue]:
        """Return what a run records of its judge."""
        calibration = self.settings.calibrated_for(self.model.spec)
        return {
            "model": self.model.spec,
            "key": self.settings.key(self.model.spec),
            "votes": self.settings.votes,
            "calibration": calibration and calibration.model_dump(mode="json"),
        }


def read_calibration(path: Path) -> Calibration:
    """The calibration in a file.

    Raises:
        BadInput: if it holds none.
    """
    try:
        return Calibration.model_validate(read_json(path))
    except ValidationError as error:
        raise BadInput(f"{path}: {first_fault(error, 'calibration')}") from error
