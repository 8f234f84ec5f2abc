"""Vectors that a build has made so far, so that a killed one does not embed twice."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from harness.rag.retrieve.encoder import Encoder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

Progress = Callable[[int, int], None]
"""Called with (chunks embedded, chunks in all)."""

BATCH = 64
_KEY, _CRC = 32, 4


class VectorJournal:
    """Fixed-size records: digest of encoder and text, vector, CRC-32. A torn tail is cut off."""

    def __init__(self, path: Path, encoder: Encoder) -> None:
        self._encoder = encoder
        self._path = path
        self._size = _KEY + 4 * encoder.dimension + _CRC
        self._known: dict[bytes, int] = {}
        self._open()

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        """Vectors of shape (n, dimension); only texts without a record are embedded."""
        import numpy as np

        keys = [sha256(f"{self._encoder.name}\n{text}".encode()).digest() for text in texts]
        pairs = dict(zip(keys, texts, strict=True))
        missing = {key: text for key, text in pairs.items() if key not in self._known}
        # Texts of like length together: less padding, the same vectors.
        order = sorted(missing, key=lambda key: len(missing[key]))
        done = len(texts) - len(order)
        with self._path.open("ab") as stream:
            batches = [order[at : at + BATCH] for at in range(0, len(order), BATCH)]
            wanted = [[missing[key] for key in batch] for batch in batches]
            for number, rows in self._encoder.encode_batches(wanted):
                for key, row in zip(batches[number], rows, strict=True):
                    self._known[key] = len(self._known)
                    record = key + row.tobytes()
                    stream.write(record + zlib.crc32(record).to_bytes(_CRC, "little"))
                stream.flush()
                done += len(batches[number])
                if progress is not None:
                    progress(done, len(texts))
        if not texts:
            return np.zeros((0, self._encoder.dimension), dtype=np.float32)
        records = np.memmap(self._path, np.uint8, "r").reshape(-1, self._size)
        places = np.array([self._known[key] for key in keys])
        raw = np.ascontiguousarray(records[places, _KEY:-_CRC])
        return raw.view(np.float32)

    def remove(self) -> None:
        """Forget everything: the vectors are in the index now."""
        self._path.unlink(missing_ok=True)
        self._known.clear()

    def _open(self) -> None:
        """Read the keys of intact records, cut off what is behind them."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        intact = 0
        with self._path.open("a+b") as stream:
            stream.seek(0)
            while len(record := stream.read(self._size)) == self._size:
                if zlib.crc32(record[:-_CRC]).to_bytes(_CRC, "little") != record[-_CRC:]:
                    break
                self._known[record[:_KEY]] = len(self._known)
                intact += self._size
            stream.truncate(intact)
