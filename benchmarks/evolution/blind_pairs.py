"""Our skill beside the recorded official merges, theme by theme, for readers who see no names.

    python -m benchmarks.evolution.blind_pairs write SKILL.md MERGES.jsonl FOLDER [--seed 1]
    python -m benchmarks.evolution.blind_pairs count KEY.json VOTES.json VOTES.json

`write` makes two sheets of numbered pairs, what SKILL.md and what a merge say on one theme, a pair
for each theme and each of the merges that led to a skill; a sheet of our rules alone; and
`key.json`, which no reader sees. A coin drawn with the seed says which side of a pair is ours on
the first sheet; on the second the sides are swapped, and the pairs stand in another order. `count`
reads votes, {"number of the pair": "A" or "B" or "="}, one file a sheet in their order; no
preference counts half for either.

What is said on a theme is told by one rule for both sides, written before any vote of these sheets:
a bullet belongs to the theme of which it has most words (:data:`THEMES`, by their beginnings; of
equals to each). Spreadsheet functions in capitals count as a word of `formulas`, those that look
something up for `lookups` as well. Labels in bold and "Lesson:" are taken off, because they would
give a side away; a label of more than one word is kept as text, as it may say what a lesson is
about.
"""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.reports import read_jsonl, read_options, report
from harness.stats import wilson

# Theme -> beginnings of its words.
THEMES: Mapping[str, str] = {
    "formulas": "formula array circular recalculat",
    "lookups and references between tables": "lookup unmatched mapping map join dictionar key-value"
    " reference",
    "reading and inspecting before changing": "inspect explor preview discover schema header"
    " sheetnames metadata scan detect",
    "formatting, styles and merged cells": "styl font fill border color width merg unmerg alignment"
    " number_format formatting",
    "choice of libraries": "openpyxl pandas librar engine tool",
    "data types, gaps and text": "type numeric string date boolean none null nan empty blank"
    " missing conver coerc text case mixed",
    "checking the result": "verif validat check confirm spot-check reload re-read log report",
    "saving, copies and output files": "save saving output path file copy copies original source"
    " backup overwrit in-place",
    "target ranges and positions": "range boundar bound scope target address offset index indices"
    " position max_row max_column 0-based 1-based",
    "deleting, inserting and moving rows": "delet remov drop insert shift duplicat reverse"
    " descending",
}
FUNCTION = re.compile(r"\b[A-Z]{3,}\b")
LOOKS_UP = re.compile(r"LOOKUP|MATCH")
_BULLET = re.compile(r"^\s*[-*]\s+(.*)$")
_LABEL = re.compile(r"^\*\*(.+?):?\*\*:?\s*|^(?:Lesson|Generalization):\s*")
INSTRUCTIONS = """\
You see pairs of passages, A and B. Each passage is what one skill (advice that an agent reads
before it changes Excel workbooks with Python) says on one theme. For every pair say which passage
you would rather hand to such an agent: advice that is true, that says what to do and when, that
covers what goes wrong in such work, and that does not repeat itself. Length by itself is neither
good nor bad; a passage that says nothing loses to one that says something true. Judge each pair by
itself. Answer with one JSON object: {"1": "A", "2": "B", ...}; "=" only where you truly cannot
choose. After it, one line of reason for each pair."""
RULES = """\
Below are numbered rules for an agent that changes Excel workbooks with Python (openpyxl, pandas).
For every rule give two labels. "true": yes if what it claims holds and following it does no harm in
ordinary work; no if it claims something false or misleads. "distinct": no if another rule of the
list asks for the same thing in the same situation (then name the number; of such a group the first
is distinct), else yes. Answer with one JSON object: {"1": {"true": true, "distinct": true,
"same_as": null}, ...}, then one line of reason for each "no"."""


def bullets(text: str) -> list[str]:
    """The advice of a skill, bullet by bullet, without what would give its side away."""
    passages: list[str] = []
    for row in (match[1].strip() for line in text.splitlines() if (match := _BULLET.match(line))):
        label = _LABEL.match(row)
        words = label[1] if label and label[1] and " " in label[1] else ""
        plain = _LABEL.sub("", _LABEL.sub("", row)).replace("**", "").strip()
        passages.append(f"{words}: {plain}" if words else plain)
    return [row for row in passages if not row.startswith("[references/")]


def by_theme(rows: Sequence[str]) -> dict[str, list[str]]:
    """Theme -> the bullets that have no fewer of its words than of any other theme's."""
    themes: dict[str, list[str]] = defaultdict(list)
    formulas, lookups, *_ = THEMES
    for row in rows:
        words = set(re.findall(r"[a-z_0-9][\w.-]*", FUNCTION.sub("", row).lower()))
        counts = {
            theme: sum(any(word.startswith(start) for word in words) for start in starts.split())
            for theme, starts in THEMES.items()
        }
        named = FUNCTION.findall(row)
        counts[formulas] += bool(named)
        counts[lookups] += any(map(LOOKS_UP.search, named))
        most = max(counts.values())
        for theme, count in counts.items():
            if count == most > 0:
                themes[theme].append(row)
    return themes


def write(skill: Path, merges: Path, folder: Path, seed: int) -> None:
    """Write the sheets and their key."""
    ours = bullets(skill.read_text("utf-8"))
    official = {
        Path(row["path"]).parts[-3]: bullets(row["text"])
        for row in read_jsonl(merges)
        if row["kind"] == "skill" and "skill_star" in row["path"]
    }
    coin = random.Random(seed)  # a draw, no secret
    pairs = [(theme, name) for theme in THEMES for name in sorted(official)]
    coin.shuffle(pairs)
    first = {pair: coin.random() < 0.5 for pair in pairs}
    folder.mkdir(parents=True, exist_ok=True)
    keys: list[dict[str, dict[str, str]]] = []
    for number, order in enumerate((pairs, coin.sample(pairs, len(pairs))), start=1):
        lines, key = [INSTRUCTIONS], dict[str, dict[str, str]]()
        for place, (theme, name) in enumerate(order, start=1):
            sides = [by_theme(ours)[theme], by_theme(official[name])[theme]]
            ours_is_a = first[theme, name] == (number == 1)
            lines.append(f"## Pair {place}: {theme}")
            for letter, side in zip("AB", sides if ours_is_a else sides[::-1], strict=True):
                passage = "\n".join(f"- {row}" for row in side) or "(says nothing on this theme)"
                lines.append(f"### {letter}\n\n{passage}")
            key[str(place)] = {"theme": theme, "merge": name, "ours": "A" if ours_is_a else "B"}
        (folder / f"judge{number}.md").write_text("\n\n".join(lines) + "\n", "utf-8")
        keys.append(key)
    (folder / "key.json").write_text(json.dumps(keys, indent=1) + "\n", "utf-8")
    numbered = "\n".join(f"{number}. {row}" for number, row in enumerate(ours, start=1))
    (folder / "rules.md").write_text(f"{RULES}\n\n{numbered}\n", "utf-8")


def count(keys: Path, votes: Sequence[Path]) -> dict[str, object]:
    """Count how often ours was preferred, by judge and by theme, and how often the judges agree."""
    themes: dict[str, list[float]] = defaultdict(list)
    choices: list[dict[tuple[str, str], float]] = []
    for key, path in zip(json.loads(keys.read_text("utf-8")), votes, strict=True):
        cast = json.loads(path.read_text("utf-8"))
        choices.append(
            {
                (row["theme"], row["merge"]): {row["ours"]: 1.0, "=": 0.5}.get(cast[number], 0.0)
                for number, row in key.items()
            }
        )
        for (theme, _), score in choices[-1].items():
            themes[theme].append(score)
    first, *others = choices
    judges = [sum(scores.values()) for scores in choices]
    of = sum(map(len, choices))
    return {
        "pairs": len(first),
        "ours preferred, by judge": judges,
        "ours preferred": {"votes": sum(judges), "of": of, "share": sum(judges) / of},
        "interval of the first judge's": wilson(round(judges[0]), len(first)),
        "pairs on which all agree": sum(all(row[p] == first[p] for row in others) for p in first),
        "by theme": {theme: f"{sum(rows):g} of {len(rows)}" for theme, rows in themes.items()},
    }


def main() -> None:
    arguments = read_options(__doc__, "action", "first", "second", "third", seed=1)
    if str(arguments.action) == "write":
        write(arguments.first, arguments.second, arguments.third, arguments.seed)
    else:
        report(count(arguments.first, [arguments.second, arguments.third]), None)


if __name__ == "__main__":
    main()
