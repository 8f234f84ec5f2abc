"""Token counts in a named tokenizer: budgets hold in the one that will read the text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from harness.core import BadInput
from harness.skills import TOKENIZER as ESTIMATE
from harness.skills import count_tokens


@dataclass(frozen=True)
class Tokenizer:
    """Counts tokens, special tokens left out.

    Attributes:
        name: stands beside every count.
    """

    name: str
    _counts: Callable[[list[str]], list[int]]

    def count(self, text: str) -> int:
        """Tokens of one text."""
        return self._counts([text])[0]

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Tokens of many texts."""
        return self._counts(list(texts)) if texts else []


def open_tokenizer(name: str = "estimate") -> Tokenizer:
    """The tokenizer of that name.

    Args:
        name: `estimate` (an upper bound without a vocabulary, the default), `minilm` (WordPiece
            of all-MiniLM-L6-v2), or the path of a `tokenizer.json` or of a folder that holds one.

    Raises:
        BadInput: if there is no such tokenizer.
    """
    if name in ("estimate", ESTIMATE):
        return Tokenizer(ESTIMATE, lambda texts: [count_tokens(text) for text in texts])
    path = Path(name)
    if name == "minilm":
        from harness.rag.retrieve import bundled_model

        path = bundled_model()
    path = path / "tokenizer.json" if path.is_dir() else path
    if not path.is_file():
        raise BadInput(
            f"expected the tokenizer 'estimate', 'minilm' or the path of a tokenizer.json, got "
            f"{name!r}"
        )
    tokenizer = load_tokenizer(path)
    return Tokenizer(
        name, lambda texts: [len(ids) for ids in tokenizer.encode_batch_fast(texts, False, False)]
    )


@cache
def load_tokenizer(path: Path) -> Any:
    """The tokenizer of a `tokenizer.json`, which neither cuts nor fills up texts.

    Raises:
        BadInput: if the file is of another kind.
    """
    loader: Any = import_module("tokenizers").Tokenizer
    try:
        tokenizer = loader.from_file(str(path))
    except Exception as error:  # the bindings raise bare Exception
        raise BadInput(f"{str(path)!r} is no tokenizer file: {error}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
