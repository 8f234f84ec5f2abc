"""Sources of skills: a folder, a `.skill` or `.zip` file, or a git repository.

What a stranger made is treated as such: git runs no program that a repository names and asks for
no password, archives are unpacked within limits, and only what the loader admits is copied.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import zipfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.core import BadInput, Value, decoding, inside, open_foreign, temporary_work_folder
from harness.skills.git import git
from harness.skills.shipping.export import (
    BESIDE,
    Exported,
    Folder,
    install,
    receipt_files,
    refuse_ungated,
)
from harness.skills.skill import SKILL_FILE, load_skill, strict

GITHUB = re.compile(r"[\w.-]+/[\w.-]+")
ADDRESS = re.compile(
    r"(?P<address>(?:https|ssh)://[^\s/-][^\s/]*/[^\s@]+|file:///[^\s@]+|\w[\w.-]*@[\w.-]+:[^\s@]+"
    rf"|(?!-){GITHUB.pattern})(?:@(?P<ref>(?!-)[\w./-]+))?"
)
"""Of a repository, with a branch, a tag or a commit."""
GIT_SECONDS = 300
DEEPEST, MOST_SKILLS = 6, 500
"""Levels below the root of a repository at which skills are looked for, and how many."""
MOST_FILES, MOST_BYTES = 4000, 64 * 2**20
"""Of an archive, unpacked."""


class Origin(Value):
    """Source of an installed skill, as the lock keeps it.

    Attributes:
        source: as the user wrote it.
        skill: its name there.
        commit: of a git repository, "" for others.
        digest: of the skill as it was installed.
    """

    source: str
    skill: str
    commit: str = ""
    digest: str


@dataclass(frozen=True)
class Source:
    """A source of skills, read from `SOURCE[@REF]`.

    Attributes:
        text: as the user wrote it.
        path: folder or archive on this machine; None for a repository.
        address: of the repository.
        ref: branch, tag or commit; "" for the repository's own choice.
    """

    text: str
    path: Path | None = None
    address: str = ""
    ref: str = ""


def parse_source(text: str) -> Source:
    """Read a path, the address of a git repository, or `OWNER/REPO` of GitHub.

    Raises:
        BadInput: if it is none of them.
    """
    if Path(text).exists():
        return Source(text, path=Path(text))
    if (match := ADDRESS.fullmatch(text)) is None:
        raise BadInput(
            f"no skill at {text!r}: expected a folder, a .skill or .zip file, OWNER/REPO, or the "
            "address of a git repository (https://, ssh://, git@host:), with @REF for a branch, a "
            "tag or a commit"
        )
    address, ref = match["address"], match["ref"] or ""
    if GITHUB.fullmatch(address):
        address = f"https://github.com/{address}"
    return Source(text, address=address, ref=ref)


@contextmanager
def opened(source: Source) -> Generator[tuple[Path, str]]:
    """The folder that a source's skills lie in, while a block runs, and its commit.

    Raises:
        BadInput: if it cannot be fetched or unpacked.
    """
    if source.path is not None and source.path.is_dir():
        yield source.path, ""
        return
    with temporary_work_folder("skills-") as folder:
        if source.path is not None:
            unpack(source.path, folder)
            for part in BESIDE:  # as `skill export` lays them
                path = source.path.with_suffix(f".{part}")
                if path.is_file() and not path.is_symlink():
                    shutil.copyfile(path, folder / path.name)
            yield folder, ""
        else:
            _git(source, folder, "init", "--quiet")
            ref = source.ref or "HEAD"
            _git(source, folder, "fetch", "--quiet", "--depth=1", "--", source.address, ref)
            _git(source, folder, "checkout", "--quiet", "--detach", "FETCH_HEAD")
            yield folder, _git(source, folder, "rev-parse", "HEAD")


def _git(source: Source, folder: Path, *words: str) -> str:
    try:
        return git(folder, *words, protocols="https:ssh:file", seconds=GIT_SECONDS)
    except BadInput as error:
        raise BadInput(f"{source.text!r}: {error}") from error


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a zip below a folder.

    Raises:
        BadInput: if it is no zip, too large, or holds links or names that lead out of the folder.
    """
    remaining = MOST_BYTES
    with (
        decoding(archive),
        open_foreign(archive) as file,
        zipfile.ZipFile(file) as opened_archive,
    ):
        entries = [entry for entry in opened_archive.infolist() if not entry.is_dir()]
        if len(entries) > MOST_FILES:
            raise BadInput(f"{str(archive)!r} holds {len(entries)} files, at most {MOST_FILES}")
        for entry in entries:
            mode = entry.external_attr >> 16
            path = inside(folder, folder / entry.filename)
            if path is None or stat.S_ISLNK(mode):
                raise BadInput(f"{str(archive)!r}: {entry.filename!r} leads out of it")
            with opened_archive.open(entry) as stream:
                data = stream.read(remaining + 1)  # whatever size the archive claims
            remaining -= len(data)
            if remaining < 0:
                raise BadInput(f"{str(archive)!r}: more than {MOST_BYTES:,} bytes unpacked")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            path.chmod(0o755 if mode & 0o100 else 0o644)


def skills_in(root: Path) -> dict[str, Path]:
    """The skill directories of a folder, itself among them, by name; links are not followed.

    Raises:
        BadInput: if there is none, or two have the same name.
    """
    folders: dict[str, Path] = {}
    for directory, names, files in os.walk(root):
        folder = Path(directory)
        if SKILL_FILE in files or "skill.md" in files:
            name = load_skill(folder).name or folder.name
            if name in folders and load_skill(folders[name]).digest != load_skill(folder).digest:
                raise BadInput(
                    f"two skills are named {name!r}: give the folder of the one you want"
                )
            folders.setdefault(name, folder)
            names.clear()
        depth = len(folder.relative_to(root).parts)
        names[:] = [] if depth >= DEEPEST else sorted(name for name in names if name != ".git")
        if len(folders) > MOST_SKILLS:
            raise BadInput(f"more than {MOST_SKILLS} skills: name a folder with fewer")
    if not folders:
        raise BadInput(f"no {SKILL_FILE} in {str(root)!r} and below")
    return folders


def install_from(
    text: str,
    project: Path,
    names: Sequence[str] = (),
    *,
    force: bool = False,
    check: bool = False,
    ungated: bool = False,
) -> list[Exported]:
    """Install skills of a source into a project, and keep in its lock where they came from.

    Args:
        text: as :func:`parse_source` reads it.
        project: its folder.
        names: of skills; default the only one there is.
        force: overwrite copies that were edited since.
        check: write nothing.
        ungated: also evolved skills that no gate accepted.

    Raises:
        BadInput: if the source cannot be read or has no such skill, or the skill is not valid.
        Refused: for an evolved skill that no gate accepted.
    """
    with opened(parse_source(text)) as (root, commit):
        skills = skills_in(root)
        listed = ", ".join(skills)
        if not names and len(skills) > 1:
            raise BadInput(f"{text!r} has {len(skills)} skills: name some with --skill: {listed}")
        if missing := [name for name in names if name not in skills]:
            raise BadInput(f"no skill {missing[0]!r} in {text!r}: expected one of {listed}")
        exports: list[Exported] = []
        for name in names or skills:
            folder = skills[name]
            if not ungated:
                refuse_ungated(folder)
            skill = load_skill(folder)
            receipt = receipt_files(folder, skill)
            exports += install(skill, project, force=force, check=check, receipt=receipt)
            if not check:
                origin = Origin(source=text, skill=name, commit=commit, digest=strict(skill).digest)
                Folder(project).note(name, origin.model_dump(exclude_defaults=True))
    return exports


def update_installed(
    project: Path, names: Sequence[str] = (), *, force: bool = False, check: bool = False
) -> list[Exported]:
    """Install again, from where they came, the skills that a project's lock names.

    Raises:
        BadInput: if the lock names none of them, or a source no longer has the skill.
    """
    origins = {
        name: Origin.model_validate(row) for name, row in Folder(project).lock()["sources"].items()
    }
    if missing := [name for name in names if name not in origins]:
        installed = ", ".join(origins) or "none"
        raise BadInput(f"no skill {missing[0]!r} was installed from a source here: {installed}")
    if not origins:
        raise BadInput(f"nothing was installed into {str(project)!r} by `harness skill install`")
    exports: list[Exported] = []
    for name in names or origins:
        origin = origins[name]
        exports += install_from(
            origin.source, project, [origin.skill], force=force, check=check, ungated=True
        )
    return exports
