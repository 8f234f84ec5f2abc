"""The receipt that lies beside a skill directory, as files that travel with it.

This room knows their names and the digest that they speak of; what a receipt says is the matter of
`harness.receipts`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness.core import BadInput
from harness.skills.types import Skill

RECEIPT, RECORDS, CARD = "receipt.json", "receipt.jsonl", "receipt.html"


def beside(skill: Path, what: str) -> Path:
    """Where a part of the receipt of a skill directory lies: beside it, as its provenance does."""
    folder = skill.resolve()
    return folder.parent / f"{folder.name}.{what}"


def receipt_files(folder: Path, skill: Skill) -> dict[str, bytes]:
    """File name -> content of the receipt of a skill directory; {} if there is none.

    Args:
        folder: the skill directory; its receipt lies beside it.
        skill: the skill as it is exported.

    Raises:
        BadInput: if the receipt is damaged, or speaks of other files than these: it would tell
            readers of the copy something that was never measured.
    """
    receipt = beside(folder, RECEIPT)
    if not receipt.is_file():
        return {}
    speaks_of = _digest(receipt)
    if speaks_of != skill.digest:
        raise BadInput(
            f"{receipt.name} speaks of skill {speaks_of[:12]}, this one is "
            f"{skill.digest[:12]}: run `harness skill audit` again, or move the receipt away"
        )
    found = (receipt, beside(folder, RECORDS), beside(folder, CARD))
    return {path.name: path.read_bytes() for path in found if path.is_file()}


def _digest(path: Path) -> str:
    try:
        value: Any = json.loads(path.read_bytes())
        return str(value["digests"]["skill"])
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{str(path)!r} is no receipt: {error!r}") from error
