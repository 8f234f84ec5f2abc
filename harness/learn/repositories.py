"""The repository that a session worked in, as it was before the session began."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from harness.core import BadInput

SECONDS = 120
_ASIDE = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0")


class NotRebuilt(BadInput):
    """Why a session's task cannot be made again, in one sentence."""


def git(folder: Path, *words: str) -> str:
    """What a git command prints.

    Raises:
        NotRebuilt: if git is missing, the command fails or takes too long.
    """
    try:
        done = subprocess.run(
            ["git", *_ASIDE, "-C", str(folder), *words],
            capture_output=True, text=True, errors="replace", timeout=SECONDS, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise NotRebuilt("git is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise NotRebuilt(f"git {words[0]} took more than {SECONDS} s") from error
    if done.returncode:
        tail = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise NotRebuilt(f"git {words[0]}: {tail[0][:200]}")
    return done.stdout.strip()


def root_of(cwd: str) -> Path:
    """The repository that holds a session's folder.

    Raises:
        NotRebuilt: if the folder is gone, or in no repository.
    """
    folder = Path(cwd) if cwd else None
    if folder is None:
        raise NotRebuilt("the log does not say in which folder it worked")
    try:
        there = folder.is_dir()
    except OSError as error:  # of another user, as in a container's log
        raise NotRebuilt(f"its folder cannot be read: {cwd[:200]!r}: {error.strerror}") from error
    if not there:
        raise NotRebuilt(f"its folder is gone: {cwd!r}")
    try:
        return Path(git(folder, "rev-parse", "--show-toplevel"))
    except NotRebuilt as error:
        raise NotRebuilt(f"{cwd!r} is in no git repository") from error


def commit_before(root: Path, recorded: str, started: str, branch: str) -> str:
    """The commit that a session began on: the one that its log names, else by time.

    By time it is the last commit of the session's branch before its first message. Changes that
    were not committed then are in no log and cannot be made again.

    Raises:
        NotRebuilt: if there is none.
    """
    if recorded:
        try:
            return git(root, "rev-parse", "--verify", "--quiet", f"{recorded}^{{commit}}")
        except NotRebuilt as error:
            raise NotRebuilt(f"the commit that the log names is gone: {recorded[:12]}") from error
    if not started:
        raise NotRebuilt("the log names neither a commit nor a time")
    for reference in (branch, "HEAD"):
        if reference and _exists(root, reference):
            found = git(root, "rev-list", "-1", f"--before={started}", reference, "--")
            if found:
                return found
    raise NotRebuilt(f"no commit is older than the session ({started})")


def commit_after(root: Path, base: str, files: Sequence[str]) -> str:
    """The first commit behind `base` that changed one of the session's files, "" if none did."""
    named = [file for file in files if file]
    if not named:
        return ""
    range_ = f"{base}..HEAD"
    found = git(root, "rev-list", "--reverse", "--ancestry-path", range_, "--", *named)
    return found.partition("\n")[0]


def changed_files(root: Path, base: str, later: str) -> list[str]:
    """Files that differ between two commits and are in the later one."""
    # With -z, names stand as they are; without it git quotes what is not ASCII.
    text = git(root, "diff", "-z", "--no-renames", "--name-only", "--diff-filter=AM", base, later)
    return [name for name in text.split("\0") if name]


def _exists(root: Path, reference: str) -> bool:
    try:
        git(root, "rev-parse", "--verify", "--quiet", f"{reference}^{{commit}}")
    except NotRebuilt:
        return False
    return True


def check_out(root: Path, commit: str, into: Path) -> None:
    """Put the files of a commit into the folder `into`, without history: it holds the answer.

    Raises:
        NotRebuilt: if the repository cannot be cloned.
    """
    into = into.resolve()  # git runs in the repository: a relative path would lie in there
    into.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into.parent, prefix=".clone-") as folder:
        clone = Path(folder) / "tree"
        git(root, "clone", "--quiet", "--no-checkout", "--shared", str(root), str(clone))
        git(clone, "checkout", "--quiet", "--detach", commit)
        shutil.rmtree(clone / ".git")
        shutil.rmtree(into, ignore_errors=True)
        clone.rename(into)
