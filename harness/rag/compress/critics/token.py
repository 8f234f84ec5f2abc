"""The trained token critic: reads question and window together, scores tokens and sentences.

QwenLong-CPRS section 2.2 on a small encoder. Weights lie in `harness/rag/compress/weights`; how
they were made, and how well they do, stands in `report.json` beside them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from harness.core import BadInput
from harness.core.plugins import install_command
from harness.rag.compress.tokens import load_tokenizer
from harness.rag.compress.types import Query, Unit

WEIGHTS = Path(__file__).parent.parent / "weights"
# Word pieces of a question, of an input, and of a unit that two windows share, at most: headings,
# speakers and short sentences, which what follows may need. Longer ones added a seventh to the
# time and found nothing more (docs/concepts/compression.md).
QUERY_TOKENS, TOKENS, OVERLAP = 48, 224, 16
BATCH = 16


class Window(NamedTuple):
    """Neighbouring units in one input: their numbers, and the tokens of each."""

    units: tuple[int, ...]
    pieces: tuple[tuple[int, ...], ...]


class TokenCritic:
    """Scores units by the trained critic.

    A unit that is longer than a window is read in pieces, and its best piece counts; one that lies
    in two windows gets the better score.

    Args:
        folder: of the weights.

    Raises:
        BadInput: if the weights or the packages to run them are not there.
    """

    def __init__(self, folder: Path = WEIGHTS) -> None:
        packages = ("onnxruntime", "tokenizers")
        missing = [package for package in packages if find_spec(package) is None]
        if missing:
            raise BadInput(
                f"the token critic needs {' and '.join(missing)}: "
                f"{install_command('rag')}, or use the critic 'lexical'"
            )
        if not (folder / "critic.onnx").is_file():
            raise BadInput(f"expected the weights critic.onnx in {str(folder)!r}")
        self._session = _session(folder / "critic.onnx")
        self._tokenizer = load_tokenizer(folder / "tokenizer.json")
        report = folder / "report.json"
        facts: Any = json.loads(report.read_text(encoding="utf-8")) if report.is_file() else None
        self._thresholds: dict[str, float] = facts["critic"]["thresholds"] if facts else {}
        self.name = f"token critic ({folder.name})"

    def score(self, query: Query, units: Sequence[Unit]) -> list[float]:
        """Logits of "this answers the question"; comparable between calls."""
        if not units:
            return []
        best = [float("-inf")] * len(units)
        head = self._ids([query.text])[0][:QUERY_TOKENS] or [self._tokenizer.token_to_id("[MASK]")]
        windows = windows_of(
            units, self._ids([unit.text for unit in units]), TOKENS - len(head) - 3
        )
        # Windows of about one length share a batch: padding is computed too.
        windows.sort(key=lambda window: sum(map(len, window.pieces)))
        for start in range(0, len(windows), BATCH):
            batch = windows[start : start + BATCH]
            for window, scores in zip(batch, self._run(head, batch), strict=True):
                for unit, score in zip(window.units, scores, strict=False):
                    best[unit] = max(best[unit], float(score))
        # A unit without a token that the vocabulary knows ranks behind all that was read.
        lowest = min((score for score in best if score > float("-inf")), default=0.0) - 1
        return [max(score, lowest) for score in best]

    def threshold(self, recall: float, scores: Sequence[float]) -> float:
        """Least score to keep for that share of the gold units, calibrated on held-out groups.

        Raises:
            BadInput: for a recall above the highest one that was calibrated.
        """
        thresholds = {float(key): threshold for key, threshold in self._thresholds.items()}
        if recall > max(thresholds, default=0.0):
            raise BadInput(f"the critic is not calibrated for a recall of {recall!r}")
        return thresholds[min(reached for reached in thresholds if recall <= reached)]

    def _ids(self, texts: list[str]) -> list[list[int]]:
        encodings: Any = self._tokenizer.encode_batch(texts, add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def _run(self, head: Sequence[int], windows: Sequence[Window]) -> Any:
        """Sentence logits, shape (windows, most units)."""
        start, end = (self._tokenizer.token_to_id(name) for name in ("[CLS]", "[SEP]"))
        rows = [
            [start, *head, end, *(token for piece in window.pieces for token in piece), end]
            for window in windows
        ]
        shape = (len(rows), max(map(len, rows)))
        ids, mask = (np.zeros(shape, dtype=np.int64) for _ in range(2))
        query = np.ones((len(rows), len(head)), dtype=np.float32)
        member = np.zeros((len(rows), max(len(w.pieces) for w in windows), shape[1]), np.float32)
        for line, (row, window) in enumerate(zip(rows, windows, strict=True)):
            ids[line, : len(row)], mask[line, : len(row)] = row, 1
            place = len(head) + 2
            for number, piece in enumerate(window.pieces):
                member[line, number, place : place + len(piece)] = 1
                place += len(piece)
        inputs = {"input_ids": ids, "attention_mask": mask, "query": query, "member": member}
        return self._session.run(["sentences"], inputs)[0]


def windows_of(units: Sequence[Unit], ids: Sequence[list[int]], room: int) -> list[Window]:
    """Neighbouring units of one document, as many as fit; a short last one again in the next.

    Args:
        units: in document order.
        ids: their tokens; a unit with more than `room` comes in pieces.
        room: tokens of a window, at most.
    """
    groups: list[list[tuple[int, tuple[int, ...]]]] = []
    size = 0
    for number, unit in enumerate(units):
        tokens = ids[number]
        for start in range(0, len(tokens), room):
            piece = tuple(tokens[start : start + room])
            other_document = bool(groups) and units[groups[-1][-1][0]].doc != unit.doc
            if not groups or other_document or size + len(piece) > room:
                last = groups[-1][-1:] if groups and not other_document else []
                size = len(last[0][1]) if last else 0
                if size > OVERLAP or size + len(piece) > room:
                    last, size = [], 0
                groups.append(last)
            groups[-1].append((number, piece))
            size += len(piece)
    return [
        Window(tuple(number for number, _ in group), tuple(piece for _, piece in group))
        for group in groups
    ]


@cache
def _session(path: Path) -> Any:
    """The network, loaded once."""
    runtime: Any = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    # Threads that spin while they wait take the cores from everything else on the machine.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Weights come in 8 bits: multiplied out once, at loading, not in every call.
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
