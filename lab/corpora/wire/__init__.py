"""Our own corpus of logs and JSON: 12 kinds of wrangling as tasks on small files, from a seed."""

from __future__ import annotations

from lab.corpora.drafts import FileCorpus
from lab.corpora.wire import document_kinds, event_kinds

WIRE = FileCorpus(
    name="wire",
    kinds={
        "sessions": event_kinds.sessions,
        "layers": document_kinds.layers,
        "flatten": document_kinds.flatten,
        "errors": event_kinds.errors,
        "traces": event_kinds.traces,
        "changes": document_kinds.changes,
        "pairs": event_kinds.pairs,
        "violations": document_kinds.violations,
        "retries": document_kinds.retries,
        "zones": event_kinds.zones,
        "percentiles": event_kinds.percentiles,
        "embedded": document_kinds.embedded,
    },
    unseen=frozenset({"flatten", "changes", "retries", "embedded"}),
    per_stratum={"train": 3, "selection": 3, "test": 9},
    suffix=".json",
    seed=20261124,
)
