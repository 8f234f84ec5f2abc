"""Whether each answer is, or fences, one JSON value; says nothing where the task asks for none."""

import json
import re

FENCE = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)


def check(task, answers, reference):
    """Records, one for each answer."""
    if "json" not in task.lower():
        return []
    rows = []
    for answer in answers:
        fenced = FENCE.search(answer)
        try:
            json.loads(fenced.group(1) if fenced else answer)
            fault = ""
        except (ValueError, RecursionError) as error:
            fault = str(error)
        rows.append(
            {"criterion": "is JSON", "observation": fault or "can be read", "met": not fault}
        )
    return rows
