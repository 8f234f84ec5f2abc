"""Our own corpus of dirty tables: 12 kinds of dirt as tasks on CSV files, from a seed."""

from __future__ import annotations

from lab.corpora.drafts import FileCorpus
from lab.corpora.roster import cell_kinds, row_kinds

ROSTER = FileCorpus(
    name="roster",
    kinds={
        "measures": cell_kinds.measures,
        "people": row_kinds.people,
        "check_digits": cell_kinds.check_digits,
        "calendars": cell_kinds.calendars,
        "wrapped": row_kinds.wrapped,
        "unpivot": row_kinds.unpivot,
        "phones": cell_kinds.phones,
        "pages": row_kinds.pages,
        "addresses": cell_kinds.addresses,
        "missing": row_kinds.missing,
        "categories": row_kinds.categories,
        "mojibake": cell_kinds.mojibake,
    },
    unseen=frozenset({"check_digits", "unpivot", "addresses", "mojibake"}),
    per_stratum={"train": 3, "selection": 3, "test": 9},
    suffix=".csv",
    seed=20261123,
)
