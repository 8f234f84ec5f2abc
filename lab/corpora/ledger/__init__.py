"""Our own spreadsheet corpus: invented workbooks with tasks and golden answers, from a seed."""

from __future__ import annotations

from collections.abc import Callable

from lab.corpora import drafts
from lab.corpora.drafts import FileCorpus
from lab.corpora.ledger import cell_kinds, sheet_kinds
from lab.corpora.ledger.sheet import Built, Draft, workbook_bytes


def _saved(kind: Callable[[Draft], Built]) -> Callable[[Draft], drafts.Built]:
    """A kind whose workbook is saved before and after it is solved."""

    def draw(draft: Draft) -> drafts.Built:
        built = kind(draft)
        source = workbook_bytes(draft.book)
        built.solve()
        return drafts.Built(
            prompt=built.prompt,
            files={"input.xlsx": source},
            gold=workbook_bytes(draft.book),
            answer={
                "instruction_type": built.level,
                "answer_position": built.position,
                "answer_sheet": built.sheet,
            },
        )

    return draw


LEDGER = FileCorpus(
    name="ledger",
    kinds={
        "lookup": _saved(cell_kinds.lookup),
        "dates": _saved(cell_kinds.dates),
        "split": _saved(cell_kinds.split),
        "merge": _saved(cell_kinds.merge),
        "flag": _saved(cell_kinds.flag),
        "running": _saved(cell_kinds.running),
        "numbers": _saved(cell_kinds.numbers),
        "deduplicate": _saved(sheet_kinds.deduplicate),
        "aggregate": _saved(sheet_kinds.aggregate),
        "sort": _saved(sheet_kinds.sort),
        "unmerge": _saved(sheet_kinds.unmerge),
    },
    per_stratum={"train": 4, "selection": 7, "test": 11},
    suffix=".xlsx",
    seed=20261121,
    draft=Draft,
    check="spreadsheet",
    input_path="inputs/{split}/{task}.xlsx",
)
