"""The trained token critic: reads question and window together, scores tokens and sentences.

QwenLong-CPRS section 2.2 on a small encoder. Weights lie in `harness/rag/compress/weights`; how
they were made, and how well they do, stands in `report.json` beside them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core import BadInput
from harness.rag.compress.types import Query, Unit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]

WEIGHTS = Path(__file__).parent.parent / "weights"
QUERY_TOKENS, TOKENS, OVERLAP = 48, 224, 16
"""Word pieces of a question, of an input, and of a unit that two windows share, at most: headings,
speakers and short sentences, which what follows may need. Longer ones added a seventh to the time
and found nothing more (docs/concepts/compression.md)."""
BATCH = 16


@dataclass(frozen=True)
class Window:
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
        missing = [one for one in ("onnxruntime", "tokenizers") if find_spec(one) is None]
        if missing:
            raise BadInput(
                f"the token critic needs {' and '.join(missing)}: "
                "pip install 'agent-skill-harness[rag]', or use the critic 'lexical'"
            )
        if not (folder / "critic.onnx").is_file():
            raise BadInput(f"expected the weights critic.onnx in {str(folder)!r}")
        self._session, self._tokenizer = _opened(folder)
        report = folder / "report.json"
        facts: Any = json.loads(report.read_text(encoding="utf-8")) if report.is_file() else None
        self._thresholds: dict[str, float] = facts["critic"]["thresholds"] if facts else {}
        self.name = f"token critic ({folder.name})"

    def score(self, query: Query, units: Sequence[Unit]) -> list[float]:
        """Logits of "this answers the question"; comparable between calls."""
        found = [float("-inf")] * len(units)
        if not units:
            return []
        head = self._ids([query.text])[0][:QUERY_TOKENS] or [self._tokenizer.token_to_id("[MASK]")]
        windows = windows_of(
            units, self._ids([unit.text for unit in units]), TOKENS - len(head) - 3
        )
        # Windows of about one length share a batch: padding is computed too.
        windows.sort(key=lambda window: sum(map(len, window.pieces)))
        for at in range(0, len(windows), BATCH):
            part = windows[at : at + BATCH]
            for window, scores in zip(part, self._run(head, part), strict=True):
                for unit, score in zip(window.units, scores, strict=False):
                    found[unit] = max(found[unit], float(score))
        # What holds no token that the vocabulary knows ranks behind all that was read.
        lowest = min((score for score in found if score > float("-inf")), default=0.0) - 1
        return [max(score, lowest) for score in found]

    def threshold(self, recall: float, scores: Sequence[float]) -> float:
        """Least score to keep for that share of the gold units, calibrated on held-out groups.

        Raises:
            BadInput: for a recall above the highest one that was calibrated.
        """
        for reached, value in sorted((float(key), one) for key, one in self._thresholds.items()):
            if recall <= reached:
                return value
        raise BadInput(f"the critic is not calibrated for a recall of {recall!r}")

    def _ids(self, texts: list[str]) -> list[list[int]]:
        encoded: Any = self._tokenizer.encode_batch(texts, add_special_tokens=False)
        return [one.ids for one in encoded]

    def _run(self, head: Sequence[int], windows: Sequence[Window]) -> Any:
        """Sentence logits, shape (windows, most units)."""
        import numpy as np

        start, end = (self._tokenizer.token_to_id(name) for name in ("[CLS]", "[SEP]"))
        rows = [
            [start, *head, end, *(one for piece in window.pieces for one in piece), end]
            for window in windows
        ]
        shape = (len(rows), max(map(len, rows)))
        ids, mask = (np.zeros(shape, dtype=np.int64) for _ in range(2))
        query = np.ones((len(rows), len(head)), dtype=np.float32)
        member = np.zeros((len(rows), max(len(w.pieces) for w in windows), shape[1]), np.float32)
        for at, (row, window) in enumerate(zip(rows, windows, strict=True)):
            ids[at, : len(row)], mask[at, : len(row)] = row, 1
            place = len(head) + 2
            for number, piece in enumerate(window.pieces):
                member[at, number, place : place + len(piece)] = 1
                place += len(piece)
        given = {"input_ids": ids, "attention_mask": mask, "query": query, "member": member}
        return self._session.run(["sentences"], given)[0]


def windows_of(units: Sequence[Unit], ids: Sequence[list[int]], room: int) -> list[Window]:
    """Neighbouring units of one document, as many as fit; a short last one again in the next.

    Args:
        units: in document order.
        ids: their tokens; a unit with more than `room` comes in pieces.
        room: tokens of a window, at most.
    """
    found: list[Window] = []
    open_: list[tuple[int, tuple[int, ...]]] = []

    def close() -> None:
        if open_:
            numbers, pieces = zip(*open_, strict=True)
            found.append(Window(numbers, pieces))

    for number, unit in enumerate(units):
        pieces = [tuple(ids[number][at : at + room]) for at in range(0, len(ids[number]), room)]
        for piece in pieces:
            other = bool(open_) and units[open_[-1][0]].doc != unit.doc
            if other or sum(len(one) for _, one in open_) + len(piece) > room:
                close()
                short = bool(open_) and len(open_[-1][1]) <= OVERLAP
                shared = open_[-1:] if short and not other else []
                fits = sum(len(one) for _, one in shared) + len(piece) <= room
                open_ = [*shared] if fits else []
            open_.append((number, piece))
    close()
    return found


@cache
def _opened(folder: Path) -> tuple[Any, Any]:
    """The session and the tokenizer, loaded once."""
    runtime: Any = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    # Threads that spin while they wait take the cores from everything else on the machine.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Weights come in 8 bits: multiplied out once, at loading, not in every call.
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    session = runtime.InferenceSession(
        str(folder / "critic.onnx"), options, providers=["CPUExecutionProvider"]
    )
    tokenizer: Any = import_module("tokenizers").Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return session, tokenizer
