"""The skill's resources, and the firewall in front of what is known of a sample."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import JsonValue, TypeAdapter, ValidationError

from harness.core import (
    BadInput,
    Value,
    assets,
    first_fault,
    inside,
    listing,
    mapping,
    read_foreign,
    read_yaml,
    temporary_work_folder,
)
from harness.judge.types import Setting
from harness.sandbox import Limits, Sandbox

SKILL = "reward-judge"
# Characters of a resource or of what one prints.
LONGEST = 10_000
LIMITS = Limits(wall_s=10, cpu_s=5, memory_mb=256, processes=16, output_bytes=100_000, disk_mb=8)
_RUN = """
import json, sys
sample = json.load(open("sample.json", encoding="utf-8"))
task, answers, reference = sample["task"], sample["answers"], sample["reference"]
code = compile(open("code.py", encoding="utf-8").read(), "code.py", "exec")
if sys.argv[1:]:
    space = {}
    exec(code, space)
    print("\\n" + sys.argv[1], json.dumps(space["check"](task, answers, reference)))
else:
    exec(code, {"task": task, "answers": answers, "reference": reference})
"""


class Resource(Value):
    """A row of `resources.yaml`, after the manifest of Skill-RM.

    Attributes:
        id: by which the judge names it.
        file: in the skill directory; empty for one that the sample brings.
        leakage_level: `none`, or `sample` where it knows more than task and answers.
        allowed_setting: the least setting in which it is there.
    """

    id: str
    type: Literal["reference", "rubric", "verifier", "script", "checklist"]
    file: str = ""
    implementation_kind: Literal["text", "python"] = "text"
    applies_to: str = ""
    cost: str = ""
    hard_or_soft: Literal["hard", "soft"] = "soft"
    decision_impact: str = ""
    failure_modes_mitigated: str = ""
    inputs_required: tuple[str, ...] = ()
    outputs_produced: str = ""
    leakage_level: Literal["none", "sample"] = "none"
    allowed_setting: Setting = "fair"


@dataclass(frozen=True)
class Sample:
    """Facts about a sample that a judge may know.

    Attributes:
        task: the task.
        answers: one or two.
        reference: a right answer; empty in the setting `fair`.
        checklist: criteria of the sample; empty in the setting `fair`.
    """

    task: str
    answers: tuple[str, ...]
    reference: str = ""
    checklist: str = ""


class Bank:
    """The resources of a setting, with those that the sample brings.

    Args:
        sample: what is judged.
        setting: what may be shown.
        folder: of the skill; default ours.

    Raises:
        BadInput: if the skill has no sound `resources.yaml`, or it names a file elsewhere.
    """

    def __init__(self, sample: Sample, setting: Setting, folder: Path | None = None) -> None:
        self._folder = folder or assets.find(f"skills/{SKILL}")
        path = self._folder / "resources.yaml"
        try:
            rows = TypeAdapter(list[Resource]).validate_python(read_yaml(path))
        except ValidationError as error:
            raise BadInput(f"{path}: {first_fault(error, 'resources')}") from error
        wide = setting == "operational"
        self.sample = sample if wide else Sample(sample.task, sample.answers)
        self._texts: dict[str, str] = {}
        if self.sample.reference:
            self._texts["sample-reference"] = self.sample.reference
            rows.append(Resource(id="sample-reference", type="reference", leakage_level="sample"))
        if self.sample.checklist:
            self._texts["sample-checklist"] = self.sample.checklist
            rows.append(Resource(id="sample-checklist", type="checklist", leakage_level="sample"))
        self.resources = {
            row.id: row for row in rows if wide or (row.allowed_setting, row.leakage_level) == _FAIR
        }

    def view(self, name: str) -> str:
        """The text of a resource, cut at :data:`LONGEST` characters.

        Raises:
            BadInput: if it lies outside the skill or cannot be read.
        """
        if name in self._texts:
            return self._texts[name][:LONGEST]
        path = self._folder / self.resources[name].file
        if inside(self._folder, path) is None or not path.is_file():
            raise BadInput(f"resource {name!r}: expected a file of the skill, found {str(path)!r}")
        return read_foreign(path).decode()[:LONGEST]

    def run(self, name: str, sandbox: Sandbox) -> tuple[str, list[dict[str, Any]]]:
        """Run a verifier or script; return its output, and its records, one for each answer."""
        marker = f"result-{name}"
        output, ok = _execute(self.view(name), self.sample, sandbox, marker)
        lines = [line for line in output.splitlines() if line.startswith(marker + " ")]
        if not ok or len(lines) != 1:
            return f"it failed: {output[-500:]}", []
        value: JsonValue = json.loads(lines[0].removeprefix(marker))
        if isinstance(value, str):
            return value[:LONGEST], []
        return json.dumps(value, ensure_ascii=False)[:LONGEST], [*map(mapping, listing(value))]

    def python(self, code: str, sandbox: Sandbox) -> str:
        """Run code of the judge with `task`, `answers`, `reference`; return what it prints."""
        return _execute(code, self.sample, sandbox)[0][:LONGEST]


_FAIR = ("fair", "none")


def _execute(code: str, sample: Sample, sandbox: Sandbox, *words: str) -> tuple[str, bool]:
    """stdout and stderr of code in the sandbox, and whether it ended well."""
    value = {"task": sample.task, "answers": sample.answers, "reference": sample.reference}
    files = {
        "code.py": code.encode(errors="replace"),
        "run.py": _RUN.encode(),
        "sample.json": json.dumps(value).encode(),
    }
    with temporary_work_folder("skill-") as folder:
        command = [sys.executable, "-I", "run.py", *words]
        result = sandbox.exec(command, workdir=folder, files=files, limits=LIMITS)
    ending = f"\nstopped: {result.limit}" if result.limit else ""
    return (result.stdout + result.stderr).strip() + ending, result.ok
