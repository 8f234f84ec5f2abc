"""One program instead of a dialogue: write it, run it, mend it.

    write ──► run ──► END          it ran to its end and left what was asked for
      │ ▲      │
      │ └─── mend ──► END          rounds used up, or the same program again
      └────────┘                   a reply without a program

These are the settings of SpreadsheetBench (Ma et al. 2024, section 4.1): `max_turns: 1` is its
single round, and up to five rounds in which a program's last lines go back are its multi-round
setting. It suits models that write a program well and hold no long dialogue with tools.

Every program is whole and runs in a process of its own; the work folder keeps what earlier ones
wrote there. The answer of a task without an output file is what the program printed. An attempt
that never succeeds is judged by what it left, like any other.

A call holds the task, its request once more below the preview of its files, and, after a failure,
the last lines of output. Small models lose the request over the preview: of 8 tasks with a value to
fill in, Qwen2.5-Coder-0.5B took it from a worked example in 4, and in none where the request came
again (one look). A call holds neither the program nor its line: shown the program,
Qwen2.5-Coder-1.5B wrote it again word for word, with the error beside the line or without; shown
the line, it wrote that one again. So a call does not grow with the rounds.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from operator import add
from pathlib import PurePath
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs
from langgraph.runtime import Runtime

from harness.agents import ReactContext, run_calls, split_examples
from harness.core import render
from harness.models import Message
from harness.tools import NO_OUTPUT, Arguments, Bench, Tool

# One exchange before the task, where no skill has worked examples: small models follow an example
# in turns, and hardly one in a system prompt. That of workbooks finds columns by their headings,
# because small models miscount letters, and takes its rows from the cells that are asked for.
WORKBOOK = (
    "Fill Euro of the sheet Sales: the amount times the rate of its currency in the sheet Rates, "
    "whatever the case and the spaces of the currency; `unknown` where Rates does not have it. "
    "Input: `input.xlsx`. Output: `{output}`. Cells: 'Sales'!D3:D12\n\n"
    "Sheet `Sales`:\n\n```\nB1: Sales in May\nB2: Amount | C2: Currency | D2: Euro\n"
    "B3: 20 | C3: usd \n```\n\n"
    "Sheet `Rates`:\n\n```\nA1: Currency | B1: Rate\nA2: USD | B2: 0.9\n```",
    """```python
import openpyxl

book = openpyxl.load_workbook("input.xlsx")
values = openpyxl.load_workbook("input.xlsx", data_only=True)


def columns(sheet, heading):
    for row in values[sheet].iter_rows():
        names = {str(cell.value).strip(): cell.column for cell in row}
        if heading in names:
            return names


rates, sales = columns("Rates", "Currency"), columns("Sales", "Euro")
rate_of = {}
for row in range(2, values["Rates"].max_row + 1):
    currency = values["Rates"].cell(row, rates["Currency"]).value
    rate_of[str(currency).strip().upper()] = values["Rates"].cell(row, rates["Rate"]).value
# To fill: D3:D12
for row in range(3, 12 + 1):
    amount = values["Sales"].cell(row, sales["Amount"]).value
    currency = values["Sales"].cell(row, sales["Currency"]).value
    if amount is None:
        continue
    rate = rate_of.get(str(currency).strip().upper())
    book["Sales"].cell(row, sales["Euro"]).value = "unknown" if rate is None else amount * rate
book.save("{output}")
```""",
)
# The same for tasks whose output is a table or JSON.
TABLE = (
    "Add the column Euro: the amount times the rate of its currency in `rates.csv`, whatever the "
    "case and the spaces of the currency; `unknown` where `rates.csv` does not have it. Leave out "
    "rows without an amount.\n\n"
    "Input: `sales.csv`, `rates.csv`. Output: `{output}`, with a header and commas between the "
    "cells.\n\n"
    "First lines of `sales.csv`:\n\n```\nAmount,Currency\n20,usd \n,EUR\n```\n\n"
    "Lines of `rates.csv`:\n\n```\nCurrency,Rate\nUSD,0.9\n```",
    """```python
import csv

with open("rates.csv", encoding="utf-8", newline="") as file:
    rate_of = {row["Currency"].strip().upper(): float(row["Rate"]) for row in csv.DictReader(file)}
with open("sales.csv", encoding="utf-8", newline="") as file:
    rows = list(csv.DictReader(file))
result = []
for row in rows:
    if not row["Amount"].strip():
        continue
    rate = rate_of.get(row["Currency"].strip().upper())
    euro = "unknown" if rate is None else round(float(row["Amount"]) * rate, 2)
    result.append([row["Amount"], row["Currency"], euro])
with open("{output}", "w", encoding="utf-8", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(["Amount", "Currency", "Euro"])
    writer.writerows(result)
```""",
)
DOCUMENT = (
    "Write a list with one object for each sensor, sorted by name: `sensor`, and `mean`, the mean "
    "of its values, rounded to 2 decimals. Leave out lines whose value is null.\n\n"
    "Input: `readings.jsonl`. Output: `{output}`.\n\n"
    "First lines of `readings.jsonl`:\n\n"
    '```\n{"sensor": "b", "value": 2.5}\n{"sensor": "a", "value": null}\n```',
    """```python
import json

values_of = {}
with open("readings.jsonl", encoding="utf-8") as file:
    for line in file:
        row = json.loads(line)
        if row["value"] is not None:
            values_of.setdefault(row["sensor"], []).append(row["value"])
result = []
for sensor, values in sorted(values_of.items()):
    result.append({"sensor": sensor, "mean": round(sum(values) / len(values), 2)})
with open("{output}", "w", encoding="utf-8") as file:
    json.dump(result, file, indent=1)
```""",
)
ANSWER = (
    "What is the sum of the even numbers from 1 to 100?",
    "```python\nprint(sum(number for number in range(1, 101) if number % 2 == 0))\n```",
)
FORMS = {".xlsx": WORKBOOK, ".csv": TABLE, ".json": DOCUMENT, "": ANSWER}
"""Suffix of the output file -> task and program of the example."""
# Model calls of one attempt, where the turns of the suite allow as many.
ROUNDS = 5
# Of one program, where the sandbox's own limit is not lower.
PROGRAM_SECONDS = 60.0
# Of a failed program's output that go back.
LAST_LINES = 8
LAST_CHARACTERS = 800
FAULT = re.compile(r"\[(Exit code|Stopped|Missing): [^\n]*\]\Z")
FENCE = re.compile(
    r"^[ \t]*(?P<marks>`{3,})[ \t]*(?P<language>[\w+-]*)[^\n]*\n(?P<code>.*?)"
    r"(?:^[ \t]*(?P=marks)`*[ \t]*$|(?P<open>\Z))",
    re.MULTILINE | re.DOTALL,
)


class Conversation(TypedDict):
    """The part of the state that every input has."""

    messages: Annotated[list[dict[str, Any]], add]


class State(Conversation, total=False):
    """Content of a checkpoint.

    Attributes:
        turns: model calls so far.
        program: of the last reply; "" if it had none.
        cut: whether that program ended at the token limit.
        output: what it printed, with its fault if it had one.
        answer: what the program printed that ran to its end.
        ended: whether there is no further round.
    """

    turns: int
    program: str
    cut: bool
    output: str
    answer: str | None
    ended: bool


Context = Runtime[ReactContext]
Update = dict[str, Any]
"""What a node changes of the state."""


async def write(state: State, runtime: Context) -> Update:
    """Ask for a program; after a failure, for a better one."""
    context = runtime.context
    task, *later = [message["content"] for message in state["messages"]]
    messages = conversation(context.system_prompt(), context.output_file, task, later[-1:])
    reply = await context.ask(messages)
    program, cut = read_program(reply.text)
    return {
        "messages": [{"role": "assistant", "content": reply.text}],
        "turns": state.get("turns", 0) + 1,
        "program": program,
        "cut": cut,
        # The same reply would lead to the same request, and so to itself.
        "ended": reply.text in later[-2:-1],
    }


def conversation(
    system_prompt: str, output_file: str, task: str, fault: Sequence[str] = ()
) -> list[Message]:
    """The messages of a call: worked examples as turns, the task, its request again, the fault."""
    system, examples = split_examples(system_prompt, task)
    request, *files = task.split("\n\n", 1)
    prompt = "\n\n".join([task, *([f"Again: {request}"] if files else []), *fault])
    if not examples:
        form = FORMS[PurePath(output_file).suffix]
        question, program = [text.replace("{output}", output_file) for text in form]
        examples = [
            {"role": "user", "content": question},
            {"role": "assistant", "content": program},
        ]
    return [{"role": "system", "content": system}, *examples, {"role": "user", "content": prompt}]


async def run(state: State, runtime: Context) -> Update:
    """Run the program, as a call of the tool `python`."""
    context = runtime.context
    [python] = context.tools
    tool = whole_program(python, context.output_file)
    call = {"id": "text", "name": tool.name, "arguments": {"code": state.get("program", "")}}
    [result] = await run_calls(context, [call], [tool])
    output: str = result["content"]
    if FAULT.search(output):
        return {"output": output}
    answer = "" if output == NO_OUTPUT else output
    context.tell({"type": "final", "answer": answer})
    return {"output": output, "answer": answer, "ended": True}


def mend(state: State, runtime: Context) -> Update:
    """Say what was wrong, or end where there is no further round."""
    context, program, output = runtime.context, state.get("program", ""), state.get("output", "")
    if state.get("ended") or state.get("turns", 0) >= min(ROUNDS, context.max_turns):
        context.tell({"type": "final", "answer": None})
        return {"answer": None, "ended": True}
    fault = FAULT.search(output)
    text = render(
        "program_mend",
        fault=fault[1] if fault and program else "",
        lines=last_lines(output),
        output_file=context.output_file,
        cut=state.get("cut", False),
    )
    if not program:
        context.tell({"type": "format_error", "text": text})
    return {"messages": [{"role": "user", "content": text}]}


def whole_program(python: Tool, output_file: str) -> Tool:
    """The tool `python` for whole programs: what it returns ends in a fault where it failed.

    A program that ends well and leaves no output file, or answers nothing, has failed, too. The
    fault is part of what the tool returns, so that a recorded attempt goes the same way again.
    """

    async def checked(arguments: Arguments, bench: Bench) -> str:
        limits = bench.limits
        limits = limits.model_copy(update={"wall_s": min(limits.wall_s, PROGRAM_SECONDS)})
        output = await python.run(arguments, replace(bench, limits=limits))
        written = bench.workdir / output_file
        missing = not written.is_file() if output_file else output == NO_OUTPUT
        if not missing or FAULT.search(output):
            return output
        return f"{output}\n\n[Missing: {output_file or 'a printed answer'}]"

    return replace(python, run=checked)


def read_program(reply: str) -> tuple[str, bool]:
    """The program of a reply, and whether it ends where its token limit cut it off.

    Of several blocks the longest that is Python counts, for small models add blocks that install
    or explain. Without a block the reply itself may be a program. An open last block is taken as
    far as it goes.
    """
    blocks = [match for match in FENCE.finditer(reply) if match["code"].strip()]
    marked = [block for block in blocks if block["language"].lower().startswith("py")]
    candidates = marked or [block for block in blocks if not block["language"]]
    if candidates:
        best = max(candidates, key=lambda block: (is_python(dedented(block)), len(block["code"])))
        return dedented(best), best["open"] is not None
    text = re.sub(r"^[ \t]*`{3}.*$", "", reply, flags=re.MULTILINE)
    start = re.search(r"^(?:import|from) \w", text, re.MULTILINE)
    text = text[start.start() if start else 0 :].strip()
    return (text, False) if is_python(text) else ("", False)


def dedented(block: re.Match[str]) -> str:
    """The code of a block."""
    return textwrap.dedent(block["code"]).strip()


def is_python(text: str) -> bool:
    """Return True if a text is a program: it parses, and does more than name something."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return any(isinstance(node, ast.Import | ast.ImportFrom | ast.Call) for node in ast.walk(tree))


def last_lines(output: str) -> str:
    """The end of an output; of a traceback its message, for frames of libraries help nobody."""
    lines = FAULT.sub("", output).strip().splitlines()
    start = max((number for number, line in enumerate(lines, 1) if line[:1].isspace()), default=0)
    text = "\n".join((lines[start:] or lines)[-LAST_LINES:]).strip()
    return text[-LAST_CHARACTERS:].replace("```", "'''")


def after_writing(state: State) -> str:
    """Run what is a program and has not just failed."""
    return "run" if state.get("program") and not state.get("ended") else "mend"


def after_running(state: State) -> str:
    """A program that failed is mended."""
    return END if state.get("ended") else "mend"


def after_mending(state: State) -> str:
    """The next round, if there is one."""
    return END if state.get("ended") else "write"


def build() -> Any:
    """The graph before compilation, a `StateGraph` over State and ReactContext."""
    graph: Any = StateGraph(State, context_schema=ReactContext)
    return (
        graph.add_node("write", write)
        .add_node("run", run)
        .add_node("mend", mend)
        .add_edge(START, "write")
        .add_conditional_edges("write", after_writing, ["run", "mend"])
        .add_conditional_edges("run", after_running, ["mend", END])
        .add_conditional_edges("mend", after_mending, ["write", END])
    )


graph = build().compile(name="program")
