"""Tasks of the order desk, made from a seed; the right answer follows the customs of the house."""

from __future__ import annotations

import random
from datetime import date, timedelta

from harness.core import Task
from lab.simulator.orders import HEADER, answer, read_task

CUSTOMERS = ("Ashford", "Birchall", "Corrigan", "Dunmore", "Ellwood", "Farrant")
ITEMS = ("ink", "paper", "twine", "wax")
STATES = ("paid", "paid", "open", "cancelled", "refunded")
QUESTIONS = {
    "total": "What is the total price of the orders of {customer}?",
    "weight": "What is the total weight of {item} ordered?",
    "customers": "Which customers ordered {item}?",
    "first": "What is the date of the first order of {customer}?",
    "count": "How many orders did {customer} place?",
    "share": "What share of the orders of {customer} is paid?",
}


def make_tasks(count: int, seed: int, prefix: str) -> tuple[Task, ...]:
    """`count` tasks, the kinds of question in turn."""
    chance = random.Random(f"{prefix}-{seed}")
    kinds = list(QUESTIONS)
    return tuple(_task(f"{prefix}-{n:04d}", kinds[n % len(kinds)], chance) for n in range(count))


def _task(name: str, kind: str, chance: random.Random) -> Task:
    rows: list[str] = []
    for number in range(1, chance.randint(9, 15)):
        day = date(2025, 1, 1) + timedelta(days=chance.randrange(360))
        cells = (
            number, chance.choice(CUSTOMERS), chance.choice(ITEMS), chance.randrange(40, 4000),
            f"{chance.uniform(1, 90):.3f}", chance.choice(STATES), f"{day.day} {day:%B %Y}",
        )  # fmt: skip
        rows.append("| " + " | ".join(map(str, cells)) + " |")
    question = QUESTIONS[kind].format(customer=chance.choice(CUSTOMERS), item=chance.choice(ITEMS))
    rule = "|---|---|---|---|---|---|---|"
    table = "\n".join([HEADER, rule, *rows])
    prompt = f"Order book {name}.\n\n{table}\n\nQuestion: {question}"
    read = read_task(prompt)
    assert read is not None, "the desk reads its own tasks"
    _, right = answer(*read, set())
    return Task(id=name, prompt=prompt, answer=right, check="exact", meta={"kind": kind})
