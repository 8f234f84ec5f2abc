"""How answers to questions over documents are judged; the search and longdoc families share it.

| metric | pass | value |
|---|---|---|
| `em` | normalised answer is an accepted one | 1 or 0 |
| `f1` | token F1 of at least `meta["threshold"]` (default 1) | token F1 |
| `rouge` | ROUGE-L of at least `meta["threshold"]` (default 1) | ROUGE-L |
| `choice` | the right letter, alone | 1 or 0 |
| `exam` | all right letters and no other | 1 or 0 |
| `boolean` | the right one of yes and no | 1 or 0 |
| `all` | every answer stands in the reply | share of them |
| `part` | any answer stands in the reply | 1 or 0 |
| `numbers` | every number of the reply is the answer | share of the reply's numbers |
| `classes` | the right class alone is named | 1 over the classes named |
"""

from __future__ import annotations

from harness.tasks.reading.forms import bare_question, with_form
from harness.tasks.reading.judging import JUDGES, check, evidence_of, judge, metric_of
from harness.tasks.reading.rouge import rouge
from harness.tasks.reading.squad import best_overlap, exact_match, official_normal, overlap
from harness.tasks.reading.support import cited_support, joint, split_citations, support

__all__ = [
    "JUDGES",
    "bare_question",
    "best_overlap",
    "check",
    "cited_support",
    "evidence_of",
    "exact_match",
    "joint",
    "judge",
    "metric_of",
    "official_normal",
    "overlap",
    "rouge",
    "split_citations",
    "support",
    "with_form",
]
