"""Whether the last number of each answer is the reference's."""

import re

NUMBER = re.compile(r"[-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def check(task, answers, reference):
    """Records, one for each answer; none where the reference is not one number and nothing else."""
    if not NUMBER.fullmatch((reference or "").strip("%$€£. \n\t")):
        return []
    gold = last(reference)
    rows = []
    for answer in answers:
        value = last(answer)
        same = value is not None and abs(value - gold) <= 1e-6 * max(1.0, abs(gold))
        rows.append(
            {"criterion": "the number is right", "observation": f"found {value}", "met": same}
        )
    return rows


def last(text):
    """The last number of a text."""
    numbers = NUMBER.findall(text or "")
    return float(numbers[-1].replace(",", "")) if numbers else None
