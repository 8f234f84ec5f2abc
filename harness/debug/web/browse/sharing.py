"""What leaves the machine in a static copy: no secrets, no names of folders of this machine."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.core.redaction import redact

_HOMES = re.compile(r"(?<![\w.])/(?:home|Users)/[^/\s\"'<>:;,()\[\]{}|]+")


def shareable(root: Path) -> Callable[[Any], Any]:
    """A function that cleans every text of a JSON value.

    Secrets are taken out, and the folders that tell of this machine get short names: the folder
    that is shown (`.`), the working folder (`.`), the temporary folder (`TMP`), and homes (`~`).
    """
    places = [
        (root.resolve(), "."), (Path.cwd(), "."), (Path(tempfile.gettempdir()).resolve(), "TMP"),
        (Path.home(), "~"),
    ]  # fmt: skip
    names = {str(path): name for path, name in reversed(places) if len(path.parts) > 1}
    longest = sorted(names, key=len, reverse=True)
    found = re.compile(
        rf"(?<![\w.])(?:{'|'.join(map(re.escape, longest))})(?![\w-])" if longest else r"(?!)"
    )

    def text(value: str) -> str:
        short = found.sub(lambda match: names[match.group()], redact(value))
        return _HOMES.sub("~", short)

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return text(value)
        if isinstance(value, list):
            return [clean(one) for one in value]  # pyright: ignore[reportUnknownVariableType]  # JSON
        if isinstance(value, dict):
            return {name: clean(one) for name, one in value.items()}  # pyright: ignore[reportUnknownVariableType]  # JSON
        return value

    return clean
