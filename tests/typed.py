"""The command line as its entry point has it, in this process: the libraries are imported once."""

from __future__ import annotations

import io
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from harness.cli import main


def typed(*words: str | Path, cwd: Path | None = None, lines: str = "") -> CompletedProcess[str]:
    """Run `harness` with these words in a folder, and these lines on its standard input."""
    output, errors, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(cwd or Path.cwd())
        patch.setattr(sys, "argv", ["harness", *map(str, words)])
        patch.setattr(sys, "stdin", io.StringIO(lines))
        patch.setattr(warnings, "formatwarning", warnings.formatwarning)
        with redirect_stdout(output), redirect_stderr(errors):
            try:
                main()
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else 1
    return CompletedProcess(words, code, output.getvalue(), errors.getvalue())
