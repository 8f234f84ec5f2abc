"""The one place that decides what a file from elsewhere may name.

| kind of file | programs | addresses | files |
|---|---|---|---|
| suite | checks and commands in the sandbox | none | below its folder |
| matrix | as its suites | this machine's, without a key | below its folder and the current one |
| run folder | none: its graph is played back | none | its suite's |
| skill | scripts, in the sandbox | none | in its folder |
| index | none | this machine's, without a key | in its folder |
| folder of documents | none | none | in it; where links lead only with `--follow-links` |
| trajectory, checkpoint | none | none | none |

Any of them may name an address that the user's own environment names. Whatever the file says, only
the command line loosens this: `--trust`, `--sandbox none`, `--base-url`, a path or a spec as typed.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import NamedTuple

from harness.core.errors import BadInput
from harness.core.files import inside
from harness.core.http import KEYLESS, on_loopback


class Origin(NamedTuple):
    """A file from elsewhere, and whether the user trusts it.

    Attributes:
        name: for messages, such as `suite 'demo'`.
        root: folder that holds all that it may name.
        trusted: whether the command line says so.
    """

    name: str
    root: Path
    trusted: bool = False

    def program(self, program: str) -> str:
        """Return a program that would run with the user's rights.

        Raises:
            BadInput: unless the file is trusted.
        """
        if not self.trusted:
            raise BadInput(
                f"{self.name} names {program!r}, which would run outside the sandbox or over the "
                "network: name it on the command line, or --trust it"
            )
        return program

    def sandbox(self, sandbox: str, typed: str) -> str:
        """Return the sandbox that is meant: the one that was typed, else the one in the file.

        Raises:
            BadInput: if only the file says `none`.
        """
        if sandbox == "none" != typed:
            raise BadInput(f"{self.name} says 'sandbox: none': that must be typed, --sandbox none")
        return sandbox if typed == "auto" else typed

    def address(self, url: str, users_url: str) -> str:
        """Return an address, marked as one to which no key is sent unless it is the user's own.

        Args:
            url: base URL, or several with commas.
            own: the one that the environment names, else the usual one.

        Raises:
            BadInput: if it leads to another machine, and the file is not trusted.
        """
        if url == users_url:
            return url
        if not self.trusted and not all(map(on_loopback, url.split(","))):
            raise BadInput(
                f"{self.name} names {url}, where all that is asked would be sent: if you trust "
                "that place, set OPENAI_BASE_URL (or VLLM_BASE_URL) to it"
            )
        return url + KEYLESS

    def file(self, path: Path) -> Path:
        """Return a file that it names, as it would be opened.

        Raises:
            BadInput: if it lies outside the folder, links followed, and the file is not trusted.
        """
        if not self.trusted and inside(self.root, path) is None:
            raise BadInput(
                f"{self.name}: expected its files below {str(self.root)!r}, found {str(path)!r}: "
                "move it there, or --trust it"
            )
        return path


def own_folder(base: Path) -> Path:
    """The folder of a suite, resolved.

    Raises:
        BadInput: if it also holds what is not the suite's, such as the home folder.
    """
    folder, home = base.resolve(), Path.home().resolve()
    shared = [home / name for name in ("Desktop", "Documents", "Downloads")]
    shared += [home, *home.parents, Path(tempfile.gettempdir()).resolve()]
    if folder in shared:
        raise BadInput(
            f"the suite lies in {str(folder)!r}, all of which it could read: expected a folder of "
            "its own; move it into one"
        )
    return folder
