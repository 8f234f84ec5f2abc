"""graph:program with scripted replies, the real sandbox and real workbooks."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from harness.agents import AgentContext, AgentRun, Sample, react_context
from harness.core import BadInput, Task, assets, read_models
from harness.models import open_model
from harness.sandbox import Limits, select
from harness.tasks import family, output_file
from harness.tools import NO_OUTPUT, Arguments, Bench, Tool, get_tools, skill_scripts
from tests.agents.scripted import Script, attempt, completion
from tests.backends import available_backend
from tests.models.http_server import Answer, Served

PROGRAM = assets.load_module(assets.find("graphs/program.py"))
DOUBLE = """\
import openpyxl
book = openpyxl.load_workbook("input.xlsx")
sheet = book["Sales"]
sheet["B1"] = 2 * sheet["A1"].value
book.save("output.xlsx")
print("saved")"""
WRONG_SHEET = DOUBLE.replace("Sales", "Sale")
WRONG_FILE = DOUBLE.replace("output", "result")

pytestmark = pytest.mark.usefixtures("_key")


@pytest.fixture
def _key(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    monkeypatch.setenv("OPENAI_API_KEY", "test")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A work folder with a workbook."""
    folder = tmp_path / "work"
    folder.mkdir()
    book = openpyxl.Workbook()
    sheet: Any = book.active
    sheet.title = "Sales"
    sheet["A1"] = 21
    book.save(folder / "input.xlsx")
    return folder


def block(code: str) -> str:
    """A reply with one program."""
    return f"Here it is:\n```python\n{code}\n```\nIt doubles the cell."


def one_by_one(*replies: str) -> Script:
    """Give the replies one after the other."""
    waiting = iter(replies)
    return lambda messages: completion(next(waiting))


def spreadsheet(work: Path, *programs: str, **settings: Any) -> tuple[AgentRun, Served]:
    """An attempt at a task that must leave a workbook."""
    settings = {"output_file": "output.xlsx", "tools": ("python", "bash"), **settings}
    return attempt(
        one_by_one(*map(block, programs)), work, spec="graph:program", prompt="Double A1.",
        **settings,
    )  # fmt: skip


def asked(served: Served, call: int) -> str:
    """The user prompt of a call."""
    system, *form, user = served.bodies[call]["messages"]
    assert (system["role"], user["role"]) == ("system", "user")
    assert [message["role"] for message in form] == ["user", "assistant"]
    return user["content"]


def ran(tool: Tool, arguments: Arguments, bench: Bench) -> str:
    """Return the result of a tool."""

    async def run() -> str:
        return await tool.run(arguments, bench)

    return asyncio.run(run())


def doubled(work: Path) -> object:
    """The cell that is judged."""
    book: Any = openpyxl.load_workbook(work / "output.xlsx")
    return book["Sales"]["B1"].value


def test_a_program_that_is_right_is_one_call(work: Path) -> None:
    run, served = spreadsheet(work, DOUBLE)
    assert (run.answer, run.invalid, doubled(work)) == ("saved", None, 42)
    assert len(served.bodies) == 1
    assert "tools" not in served.bodies[0]
    system, user, step = run.trajectory.steps
    assert system.message == served.bodies[0]["messages"][0]["content"]
    assert 'book.save("output.xlsx")' in served.bodies[0]["messages"][2]["content"]
    assert user.message == asked(served, 0) == "Double A1."
    assert step.tool_calls is not None and step.observation is not None
    assert (step.tool_calls[0].function_name, step.tool_calls[0].arguments) == (
        "python",
        {"code": DOUBLE},
    )
    assert step.observation.results[0].content == "saved"
    assert run.trajectory.harness["turns"] == 1


def test_an_error_goes_back_without_the_program(work: Path) -> None:
    run, served = spreadsheet(work, WRONG_SHEET, DOUBLE)
    assert (run.answer, doubled(work), len(served.bodies)) == ("saved", 42, 2)
    prompt = asked(served, 1)
    assert prompt.startswith("Double A1.\n\n")
    error = "KeyError: 'Worksheet Sale does not exist.'"
    assert f"It ended with this error:\n\n```\n{error}\n```" in prompt
    assert "Traceback" not in prompt and "import openpyxl" not in prompt
    assert prompt.endswith("in another way, without this mistake, in one ```python block.")


def test_a_missing_output_file_goes_back(work: Path) -> None:
    run, served = spreadsheet(work, WRONG_FILE, DOUBLE)
    assert (run.answer, doubled(work)) == ("saved", 42)
    assert "did not save `output.xlsx`" in asked(served, 1)
    assert "saved\n```" in asked(served, 1)
    observation = run.trajectory.steps[2].observation
    assert observation is not None
    assert observation.results[0].content == "saved\n\n[Missing: output.xlsx]"


def test_it_gives_up_after_its_rounds(work: Path) -> None:
    failing = [f"raise ValueError({number})" for number in range(9)]
    run, served = spreadsheet(work, *failing)
    assert (run.answer, run.invalid, len(served.bodies)) == (None, None, PROGRAM.ROUNDS)
    assert "ValueError: 3" in asked(served, 4)
    assert "ValueError: 2" not in asked(served, 4)
    run, served = spreadsheet(work, *failing, max_turns=1)
    assert (run.answer, len(served.bodies)) == (None, 1)


def test_the_same_program_again_ends_the_attempt(work: Path) -> None:
    run, served = spreadsheet(work, "raise KeyError", "raise KeyError", DOUBLE)
    assert (run.answer, run.invalid, len(served.bodies)) == (None, None, 2)
    assert run.trajectory.steps[-1].tool_calls is None


def test_a_loop_without_end_is_cut_and_its_last_lines_go_back(work: Path) -> None:
    loop = "print('row 7', flush=True)\nwhile True: pass"
    run, served = spreadsheet(work, loop, DOUBLE, limits=Limits(cpu_s=2))
    assert doubled(work) == 42
    assert "took too much time or memory. Its last lines:\n\n```\nrow 7\n```" in asked(served, 1)
    observation = run.trajectory.steps[2].observation
    assert observation is not None and "[Stopped: cpu limit]" in str(observation.results[0].content)


def test_no_program_may_take_longer_than_a_minute(work: Path) -> None:
    limits: list[float] = []

    async def run(arguments: Any, bench: Bench) -> str:
        limits.append(bench.limits.wall_s)
        return "done"

    python = PROGRAM.whole_program(replace(get_tools(["python"])[0], run=run), "")
    for wall_s in (300.0, 5.0):
        ran(python, {}, Bench(work, limits=Limits(wall_s=wall_s)))
    assert limits == [PROGRAM.PROGRAM_SECONDS, 5.0]


def test_without_an_output_file_the_answer_is_what_is_printed(work: Path) -> None:
    run, served = spreadsheet(work, "total = 2 + 3", "print(2 + 3)", output_file="", tools=())
    assert (run.answer, run.invalid) == ("5", None)
    assert "printed no answer" in asked(served, 1)


@pytest.mark.parametrize(
    ("output", "uses"), [("output.csv", "csv.writer"), ("output.json", "json.dump")]
)
def test_the_example_fits_the_output_file_and_runs(work: Path, output: str, uses: str) -> None:
    (work / "sales.csv").write_text("Amount,Currency\n20,usd \n,EUR\n3,EUR\n")
    (work / "rates.csv").write_text("Currency,Rate\nUSD,0.9\n")
    rows = ['{"sensor": "b", "value": 2.5}', '{"sensor": "a", "value": null}']
    (work / "readings.jsonl").write_text("\n".join([*rows, '{"sensor": "b", "value": 1}']))
    run, served = spreadsheet(work, f"open({output!r}, 'w').close()", output_file=output)
    assert run.invalid is None
    system, _, example, _ = (message["content"] for message in served.bodies[0]["messages"])
    assert uses in example and output in example and "openpyxl" not in example
    assert "formulas" not in system and "Print" not in system
    program, _ = PROGRAM.read_program(example)
    [python] = get_tools(["python"])
    assert ran(python, {"code": program}, Bench(work, select("auto"))) == NO_OUTPUT
    expected = "Amount,Currency,Euro\n20,usd ,18.0\n3,EUR,unknown\n"
    if output == "output.json":
        expected = '[\n {\n  "sensor": "b",\n  "mean": 1.75\n }\n]'
    assert (work / output).read_text() == expected


def test_a_reply_without_a_program_takes_a_round(work: Path) -> None:
    script = one_by_one("I cannot see the file.", block(DOUBLE))
    run, served = attempt(script, work, spec="graph:program", output_file="output.xlsx")
    assert (doubled(work), len(served.bodies)) == (42, 2)
    assert "no Python program" in asked(served, 1)
    assert "[Format error]" in str(run.trajectory.steps[3].message)


def test_a_cut_program_is_run_and_the_model_is_told(work: Path) -> None:
    script = one_by_one("```python\nprint(1)\nprint(", block(DOUBLE))
    _, served = attempt(script, work, spec="graph:program", output_file="output.xlsx")
    assert "cut off before its end" in asked(served, 1)
    assert "```\nSyntaxError: '(' was never closed\n```" in asked(served, 1)


def test_a_checkpointed_attempt_resumes_at_its_next_round(work: Path, tmp_path: Path) -> None:
    store = tmp_path / "checkpoints.sqlite"
    gone: Answer = (400, {}, b'{"error": {"message": "gone"}}')
    replies = iter([completion(block(WRONG_SHEET)), gone])
    settings: dict[str, Any] = {"spec": "graph:program", "checkpoints": store}
    settings["output_file"] = "output.xlsx"
    run, _ = attempt(lambda messages: next(replies), work, **settings)
    assert run.invalid is not None
    run, served = attempt(one_by_one(block(DOUBLE)), work, **settings)
    assert (run.answer, doubled(work), len(served.bodies)) == ("saved", 42, 1)
    assert "Worksheet Sale does not exist" in asked(served, 0)


def skill_with_module(folder: Path) -> Path:
    """A skill whose script `sums.py` can be imported."""
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(
        "---\nname: sums\ndescription: Adds.\n---\nUse `sums.twice`.\n"
    )
    (folder / "scripts" / "sums.py").write_text("def twice(value):\n    return 2 * value\n")
    return folder


@pytest.mark.parametrize("backend", ["bubblewrap", "landlock", "none"])
def test_a_program_imports_the_scripts_of_a_skill(backend: str, work: Path, tmp_path: Path) -> None:
    skill = skill_with_module(tmp_path / "sums")
    name = backend if backend == "none" else available_backend(backend)
    bench = Bench(work, select(name), skill=skill)
    [python] = get_tools(["python"])
    code = "import sums; print(sums.twice(21)); open(sums.__file__, 'w')"
    if backend == "none":
        code = code.partition("; open")[0]
    output = ran(python, {"code": code}, bench)
    assert output.startswith("42")
    assert backend == "none" or "[Exit code: 1]" in output
    assert (skill / "scripts" / "sums.py").read_text().startswith("def twice")


def test_the_prompt_names_the_modules_of_a_preloaded_skill(work: Path, tmp_path: Path) -> None:
    skill = skill_with_module(tmp_path / "sums")
    code = "import sums\n" + DOUBLE.replace(
        '2 * sheet["A1"].value', 'sums.twice(sheet["A1"].value)'
    )
    _, served = spreadsheet(work, code, skill=skill)
    assert doubled(work) == 42
    system = served.bodies[0]["messages"][0]["content"]
    assert "Use `sums.twice`." in system
    assert "import these modules of the skill: sums" in system
    assert "read_skill_file" not in system


def test_a_linked_folder_of_scripts_opens_nothing(tmp_path: Path) -> None:
    skill = skill_with_module(tmp_path / "sums")
    assert skill_scripts(skill) == skill / "scripts"
    (skill / "scripts").rename(tmp_path / "elsewhere")
    (skill / "scripts").symlink_to(tmp_path / "elsewhere")
    assert skill_scripts(skill) is None


def test_a_skill_that_must_be_read_is_refused(work: Path, tmp_path: Path) -> None:
    skill = skill_with_module(tmp_path / "sums")
    model = open_model("openai/scripted", base_url="http://127.0.0.1:9/v1")
    context = AgentContext(model=model, skill=skill, skill_mode="discovered")
    with pytest.raises(BadInput, match="preloaded"):
        react_context(Sample("s", "s", "Double A1.", work), context, graph="program")


@pytest.mark.parametrize(
    ("reply", "program", "cut"),
    [
        ("```python\nprint(1)\n```", "print(1)", False),
        ("```bash\npip install openpyxl\n```\n```py\nprint(1)\n```", "print(1)", False),
        ("```\nprint(1)\n```", "print(1)", False),
        ("```py\nprint(1)\n```\nor\n```py\nprint(1)\nprint()\n```", "print(1)\nprint()", False),
        ("```py\nx = print(1)\n```\n```py\nno program, but long\n```", "x = print(1)", False),
        ("1. So:\n   ```python\n   if x:\n       print(1)\n   ```", "if x:\n    print(1)", False),
        ("````python\nprint('''\n```\n''')\n````", "print('''\n```\n''')", False),
        ("```python\nprint(1)\nprint(", "print(1)\nprint(", True),
        ("import os\nprint(os)", "import os\nprint(os)", False),
        ("import os\nprint(os)\n```", "import os\nprint(os)", False),
        ("Sure!\n\nfrom os import sep\nprint(sep)", "from os import sep\nprint(sep)", False),
        ("```json\n{}\n```", "", False),
        ("42", "", False),
        ("I am done.", "", False),
        ("", "", False),
    ],
)  # fmt: skip
def test_replies_are_read_with_tolerance(reply: str, program: str, cut: bool) -> None:
    assert PROGRAM.read_program(reply) == (program, cut)


@pytest.mark.parametrize(("name", "kind"), [("roster", "people"), ("wire", "sessions")])
def test_a_right_program_passes_from_prompt_to_score(
    name: str, kind: str, repository: Path, tmp_path: Path
) -> None:
    base, work = repository / "corpora" / name / "sample", tmp_path / "work"
    work.mkdir()
    tasks = read_models(base / "train.jsonl", Task)
    task = next(task for task in tasks if task.meta["kind"] == kind)
    prompt = family(task).prepare(task, base, work)
    solvers = (repository / "tests" / "lab" / f"{name}_solvers.py").read_text("utf-8")
    write = "csv.writer(file).writerows" if name == "roster" else "file.write(json.dumps"
    program = (
        f"{solvers}\nfrom pathlib import Path\n"
        f"files = {{name: Path(name).read_text() for name in {list(task.files)}}}\n"
        f"solved = {kind}(files, {task.prompt!r})\n"
        f"with open({output_file(task)!r}, 'w', newline='') as file:\n"
        f"    {write}(solved){')' if name == 'wire' else ''}\n"
    )
    run, served = attempt(
        one_by_one(block(program)), work, spec="graph:program", prompt=prompt,
        output_file=output_file(task), tools=("python",),
    )  # fmt: skip
    assert (run.invalid, len(served.bodies)) == (None, 1)
    assert family(task).score(task, base, work, run.answer).outcome == "pass"
