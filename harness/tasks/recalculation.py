"""Recalculating workbooks with LibreOffice, so that formulas have values that can be compared."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
from collections import ChainMap
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness.core import UnfitFile, read_work_file, temporary_work_folder
from harness.sandbox import Limits, Sandbox, select
from harness.tasks.workbooks import UnreadableWorkbook, check_limits

BATCH = 32
_FILTER = "xlsx:Calc MS Excel 2007 XML"
# Values that a spreadsheet program stored are kept (1 = never recalculate on load): LibreOffice
# lacks some of Excel's functions. Formulas without a stored value are computed in any case.
# A workbook must not make it ask the network either, in no sandbox at that: no external link is
# updated, and what is fetched nevertheless (a linked picture) goes to a proxy that is not there.
_SETTINGS = {
    "Office.Calc/Formula/Load/OOXMLRecalcMode": "1",
    "Office.Calc/Content/Update/Link": "2",
    "Office.Common/Security/Scripting/MacroSecurityLevel": "3",
    "Office.Common/Security/Scripting/BlockUntrustedRefererLinks": "true",
    "Inet/Settings/ooInetProxyType": "2",
    "Inet/Settings/ooInetNoProxy": "",
    **{f"Inet/Settings/ooInet{kind}ProxyName": "127.0.0.1" for kind in ("HTTP", "HTTPS", "FTP")},
    **{f"Inet/Settings/ooInet{kind}ProxyPort": "9" for kind in ("HTTP", "HTTPS", "FTP")},
}
_PROCESSORS = os.cpu_count() or 1
_workers = threading.BoundedSemaphore(_PROCESSORS)


def find_soffice() -> str | None:
    """Path of LibreOffice's `soffice`, or None where it is not installed."""
    return shutil.which("soffice") or shutil.which("libreoffice")


def recalculate(
    paths: Sequence[Path], out: Path, timeout: float = 120.0, sandbox: Sandbox | None = None
) -> dict[Path, Path]:
    """Recalculate workbooks into the folder `out`, many in one start of LibreOffice.

    A file on which a batch fails is tried once more alone. Each start has a profile of its own, and
    at most one per processor runs at a time.

    Args:
        paths: the workbooks; they are not changed.
        out: folder for the new workbooks, made if absent.
        timeout: seconds of one start (a batch of 32, or a single file).
        sandbox: where LibreOffice runs; None: the first one here that stops every attack.

    Returns:
        path -> recalculated workbook, without the paths where that was impossible; empty where
        LibreOffice is not installed (ask :func:`find_soffice`).
    """
    soffice = find_soffice()
    if soffice is None:
        return {}
    out.mkdir(parents=True, exist_ok=True)
    good: list[Path] = []
    for path in dict.fromkeys(paths):
        with contextlib.suppress(UnreadableWorkbook):
            check_limits(path)
            good.append(path)

    def convert(batch: Sequence[Path]) -> dict[Path, Path]:
        return _convert(batch, out, soffice, timeout, sandbox)

    with ThreadPoolExecutor(_PROCESSORS) as pool:
        batches = [good[start : start + BATCH] for start in range(0, len(good), BATCH)]
        results = dict(ChainMap(*pool.map(convert, batches)))
        again = [[path] for path in good if len(good) > 1 and path not in results]
        return dict(ChainMap(results, *pool.map(convert, again)))


def _convert(
    paths: Sequence[Path], out: Path, soffice: str, timeout: float, sandbox: Sandbox | None
) -> dict[Path, Path]:
    """One start of LibreOffice in a folder of its own; copies get plain, distinct names."""
    with _workers, temporary_work_folder("recalculate-") as folder:
        settings = folder / "profile" / "user" / "registrymodifications.xcu"
        settings.parent.mkdir(parents=True)
        settings.write_text(_profile(), "utf-8")
        (folder / "in").mkdir()
        copies = {path: f"{number:04d}.xlsx" for number, path in enumerate(paths)}
        for path, copy in copies.items():
            shutil.copyfile(path, folder / "in" / copy)
        command = [
            soffice,
            "--headless",
            "--norestore",
            f"-env:UserInstallation={(folder / 'profile').as_uri()}",
            "--convert-to",
            _FILTER,
            "--outdir",
            str(folder / "out"),
            *(str(folder / "in" / copy) for copy in copies.values()),
        ]
        # What it did is judged by the files that it leaves.
        limits = Limits(wall_s=timeout, cpu_s=int(timeout) + 1, memory_mb=4096)
        (sandbox or select()).exec(command, workdir=folder, limits=limits)
        results: dict[Path, Path] = {}
        for path, copy in copies.items():
            with contextlib.suppress(FileNotFoundError, UnfitFile):
                if data := read_work_file(folder, f"out/{copy}"):
                    handle, target = tempfile.mkstemp(f"-{path.stem[:40]}.xlsx", dir=out)
                    with os.fdopen(handle, "wb") as stream:
                        stream.write(data)
                    results[path] = Path(target)
        return results


def _profile() -> str:
    """The settings in the form of a user's profile."""
    items: list[str] = []
    for name, value in _SETTINGS.items():
        path, _, prop = name.rpartition("/")
        items.append(
            f'<item oor:path="/org.openoffice.{path}"><prop oor:name="{prop}" oor:op="fuse">'
            f"<value>{value}</value></prop></item>"
        )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<oor:items xmlns:oor="http://openoffice.org/2001/registry">'
        f"{''.join(items)}</oor:items>"
    )
