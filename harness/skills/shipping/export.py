"""Bring a skill to the clients: folders they read, indexes they look up, or one `.skill` file.

A lock file in the export folder holds the digest of everything that was written, so that a copy
which somebody edited since is never overwritten.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from harness.core import (
    BadInput,
    Refused,
    Value,
    digest,
    inside,
    read_foreign,
    read_json,
    write_atomic,
)
from harness.skills.provenance import Provenance, read_value
from harness.skills.shipping.catalogues import marketplace_files, pack, site_files
from harness.skills.skill import SKILL_FILE, Skill, diff, load_skill, strict, write_skill
from harness.skills.validate import validate

LOCK, PROVENANCE = "harness-skills.lock.json", "provenance.json"
RECEIPTS = "harness-receipts"
"""Folder of an export with the receipts of skills in the clients' own folders."""
Target = Literal[
    "universal",
    "claude",
    "codex",
    "cursor",
    "gemini",
    "copilot",
    "plugin",
    "well-known",
    "skill",
    "skill-creator",
    "agents",
    "zip",
]
ALIASES: dict[Target, Target] = {"agents": "universal", "zip": "skill"}
FOLDERS: dict[Target, str] = {
    "universal": ".agents/skills",
    "claude": ".claude/skills",
    "codex": ".agents/skills",  # with agents/openai.yaml for its user interface
    "cursor": ".cursor/skills",
    "gemini": ".gemini/skills",
    "copilot": ".github/skills",
    "well-known": ".well-known/skills",
    "skill-creator": ".",
}
EVALS_FILE = "evals/evals.json"
CODEX_FILE, CODEX_WIDTH = "agents/openai.yaml", 64
RECEIPT, RECORDS, CARD = "receipt.json", "receipt.jsonl", "receipt.html"
LADDER, LADDER_RECORDS, LADDER_PAGE = "ladder.json", "ladder.jsonl", "ladder.html"
MEASURED = {
    "audit": (RECEIPT, RECORDS, CARD), "ladder": (LADDER, LADDER_RECORDS, LADDER_PAGE),
}  # fmt: skip
BESIDE = (PROVENANCE, *MEASURED["audit"], *MEASURED["ladder"])
"""Parts of what lies beside a skill that is given away."""
Status = Literal["written", "unchanged", "would write"]
_NO_GATE = {
    "none": "no gate has shown that it helps (gate: none)",
    "refused": "its gate refused it (gate: refused)",
    "edited": "it is no longer the skill that its gate accepted: it was edited since",
}


class Placed(Value):
    """Outcome for one skill directory or file; `path` is relative to the export folder."""

    path: str
    status: Status
    diff: str = ""


def render(value: Any) -> bytes:
    """JSON as exported files are written: readable, keys in the order given."""
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


@dataclass(frozen=True)
class Folder:
    """An export folder.

    Attributes:
        root: the folder.
        force: overwrite copies that were edited since.
        check: write nothing, say what would be.
    """

    root: Path
    force: bool = False
    check: bool = False

    def place_skill(self, relative: str, skill: Skill) -> Placed:
        """Write a skill directory unless it is there.

        Raises:
            BadInput: if the copy there was edited or is not ours, and not `force`.
        """
        path, changes, recorded = self.root / relative, "", self.lock()["skills"].get(relative)
        copy = load_skill(path) if (path / SKILL_FILE).is_file() else None
        same = False
        if copy is not None:
            same = copy.all_files == skill.all_files and copy.executable == skill.executable
            if not same and not self.force and copy.digest != recorded:
                raise BadInput(
                    f"{str(path)!r} was edited since it was exported, or is not ours: "
                    "compare with `harness skill diff`, then use --force"
                )
            changes = diff(copy, skill)
        elif path.exists():
            raise BadInput(f"{str(path)!r} exists and is no skill: move it away")
        if not same and not self.check:
            write_skill(skill, path)
        return self._placed(relative, skill.digest, same, changes)

    def place_file(self, relative: str, content: Any) -> Placed:
        """Write a generated file (bytes, or what becomes JSON) unless it is there."""
        path = self.root / relative
        data = content if isinstance(content, bytes) else render(content)
        same = path.is_file() and read_foreign(path) == data
        if not same and not self.check:
            write_atomic(path, data)
        return self._placed(relative, digest(data), same)

    def _placed(self, relative: str, sha: str, same: bool, changes: str = "") -> Placed:
        status: Status = "unchanged" if same else "would write" if self.check else "written"
        if not self.check and self.lock()["skills"].get(relative) != sha:
            self._write("skills", relative, sha)
        return Placed(path=relative, status=status, diff=changes)

    def note(self, name: str, origin: dict[str, str]) -> None:
        """Keep where a skill came from."""
        if self.lock()["sources"].get(name) != origin:
            self._write("sources", name, origin)

    def _write(self, part: str, name: str, value: Any) -> None:
        lock = self.lock()
        lock[part] = dict(sorted({**lock[part], name: value}.items()))
        write_atomic(self.root / LOCK, render({**lock, "version": 1}))

    def lock(self) -> dict[str, dict[str, Any]]:
        """`skills`: path -> digest of what was written there; `sources`: name -> origin.

        Raises:
            BadInput: if it is damaged.
        """
        path = self.root / LOCK
        if not path.is_file():
            return {"skills": {}, "sources": {}}
        try:
            value: Any = json.loads(read_foreign(path))
            skills = {str(name): str(sha) for name, sha in value["skills"].items()}
            sources = {str(name): dict(row) for name, row in value.get("sources", {}).items()}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise BadInput(f"{str(path)!r} is damaged: delete it and use --force once") from error
        return {"skills": skills, "sources": sources}


class Exported(Value):
    """Changes made by an export, or with `check` those that it would make.

    Attributes:
        target: never an alias.
        path: of the skill, or of the one file.
        status: of all that was to be written: "unchanged" if every part was there.
        diff: from what was there to the skill, "" where nothing was.
        also: further files, with indexes that other skills share.
        lock: the file that holds their digests; "" while there is none.
    """

    target: Target
    path: str
    status: Status
    diff: str = ""
    also: tuple[str, ...] = ()
    lock: str = ""


def export(
    skill: Skill,
    target: Target,
    out: Path,
    *,
    force: bool = False,
    check: bool = False,
    receipt: Mapping[str, bytes] | None = None,
) -> Exported:
    """Write `skill` under the folder `out` for one kind of client.

    `universal` (or `agents`): `.agents/skills/<name>`, which Codex, Cursor, Gemini CLI, Copilot,
    OpenCode and others read; `claude`, `codex`, `cursor`, `gemini`, `copilot`: the client's own
    folder; `plugin`: a plugin marketplace; `well-known`: a web site's `.well-known` folder;
    `skill` (or `zip`): `<name>.skill`, the same bytes every time; `skill-creator`: as
    :func:`export_creator`, without results. A lock file in `out` holds the
    digest of everything that was written, so that a copy which somebody edited since is not
    overwritten. The files of `receipt` (:func:`harness.skills.receipt_files`) are put beside a
    `.skill` file, inside a plugin and below `.well-known/skills`; those of skills in a client's own
    folder go to `harness-receipts/<client>` in `out`. `harness skill verify` finds them at both
    places. skill-creator adds files to the skill, so that a receipt would no longer speak of it,
    and gets none.

    Raises:
        BadInput: if the skill does not validate, or the copy there was edited and not `force`.
    """
    kind, ready = ALIASES.get(target, target), _valid(skill)
    folder, files = Folder(out, force=force, check=check), dict[str, Any]()
    if kind == "skill":
        placed = [folder.place_file(f"{ready.name}.skill", pack(ready))]
    else:
        path = f"{FOLDERS.get(kind, f'plugins/{ready.name}/skills')}/{ready.name}"
        if kind == "codex" and CODEX_FILE not in ready.files:
            ready = replace(ready, files={**ready.files, CODEX_FILE: _codex_file(ready)})
        elif kind == "plugin":
            files = marketplace_files(ready, out)
        elif kind == "well-known":
            files = site_files(ready, out)
        placed = [folder.place_skill(path.removeprefix("./"), ready)]
    if receipt and kind != "skill-creator":
        folder_path = placed[0].path.rpartition("/")[0]
        if folder_path.startswith(".") and kind != "well-known":
            folder_path = f"{RECEIPTS}/{folder_path.partition('/')[0].lstrip('.')}"
        files |= {f"{folder_path}/{name}".lstrip("/"): data for name, data in receipt.items()}
    return _report(kind, out, placed + [folder.place_file(*file) for file in files.items()])


def export_creator(
    skill: Skill,
    out: Path,
    *,
    evals: dict[str, Any] | None = None,
    benchmark: dict[str, Any] | None = None,
    history: dict[str, Any] | None = None,
    force: bool = False,
    check: bool = False,
) -> Exported:
    """Write what Anthropic's skill-creator opens: `<name>/` and, beside it, `<name>-workspace/`.

    `evals/evals.json` goes into the skill; `benchmark.json` and `history.json` into the workspace
    (see :mod:`harness.skills.shipping.creator`). A file that is not given is not written.

    Raises:
        BadInput: as :func:`export`.
    """
    ready = _valid(skill)
    if evals is not None:
        ready = replace(ready, files={**ready.files, EVALS_FILE: render(evals)})
    folder = Folder(out, force=force, check=check)
    placed = [folder.place_skill(ready.name, ready)]
    for name, value in {"benchmark.json": benchmark, "history.json": history}.items():
        if value is not None:
            placed.append(folder.place_file(f"{ready.name}-workspace/{name}", value))
    return _report("skill-creator", out, placed)


def install(
    skill: Skill,
    project: Path,
    *,
    force: bool = False,
    check: bool = False,
    receipt: Mapping[str, bytes] | None = None,
) -> list[Exported]:
    """Export into a project folder for both kinds of clients; nothing is written if one refuses.

    Raises:
        BadInput: as :func:`export`, or if `project` is no folder.
    """
    if not project.is_dir():
        raise BadInput(f"expected a project folder, found none at {str(project)!r}")
    targets: tuple[Target, ...] = ("universal", "claude")

    def run(check: bool) -> list[Exported]:
        return [
            export(skill, target, project, force=force, check=check, receipt=receipt)
            for target in targets
        ]

    planned = run(check=True)
    for path in (path for part in planned for path in (part.path, *part.also)):
        if inside(project, Path(path)) is None:
            raise BadInput(f"{path!r} leads out of the project {str(project)!r} by a link")
    return planned if check else run(check=False)


def _report(target: Target, out: Path, placed: list[Placed]) -> Exported:
    changed: list[Status] = [part.status for part in placed if part.status != "unchanged"]
    return Exported(
        target=target,
        path=str(out / placed[0].path),
        status=changed[0] if changed else "unchanged",
        diff="".join(part.diff for part in placed),
        also=tuple(str(out / part.path) for part in placed[1:]),
        lock=str(out / LOCK) if (out / LOCK).is_file() else "",
    )


def _valid(skill: Skill) -> Skill:
    ready = replace(strict(skill), directory=None)  # it gets a directory of its own name
    errors = [problem for problem in validate(ready) if problem.level == "error"]
    if errors:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        raise BadInput(f"skill {skill.name!r} does not validate: {errors[0]}{more}")
    return ready


def as_measured(skill: Skill) -> Skill:
    """The skill without the file that an export for Codex added: no agent reads it."""
    if skill.files.get(CODEX_FILE) != _codex_file(skill):
        return skill
    files = {path: data for path, data in skill.files.items() if path != CODEX_FILE}
    return replace(skill, files=files)


def _codex_file(skill: Skill) -> bytes:
    """Write the file by which Codex presents a skill."""
    short = skill.description
    if len(short) > CODEX_WIDTH:
        short = short[: CODEX_WIDTH - 1].rsplit(" ", 1)[0] + "…"
    rows = {"display_name": skill.name.replace("-", " ").capitalize(), "short_description": short}
    lines = [f"  {key}: {json.dumps(value, ensure_ascii=False)}" for key, value in rows.items()]
    return "\n".join(["interface:", *lines, ""]).encode()


def refuse_ungated(skill: Path) -> None:
    """Refuse an evolved skill that no gate accepted; one without provenance was written by hand.

    A gate's verdict holds for the skill that it ran, and for no other.

    Raises:
        Refused: with what to do.
        BadInput: if its provenance is damaged.
    """
    path = beside(skill, PROVENANCE)
    if not path.is_file():
        return
    provenance = read_value(path, Provenance, "is no provenance file")
    gate: str = provenance.gate
    if gate == "accepted" and provenance.skill != load_skill(skill).digest:
        gate = "edited"
    if gate in _NO_GATE:
        why, hint = _NO_GATE[gate], "run `harness evolve` with a gate"
        if gate == "none" and provenance.gate_said:
            why = f"its gate could not tell whether it helps (not gated: {provenance.gate_said})"
            hint = "run `harness evolve` with more tasks"
        raise Refused(
            f"{str(skill)!r}: {why}: {hint}, or read it (`harness skill review`) and add --ungated"
        )


def beside(skill: Path, part: str) -> Path:
    """Return the path of a part of a skill's receipt: it lies beside it, as its provenance does,
    or in the receipts of the export that brought the skill into a client's folder.
    """
    folder = skill.resolve()
    path, client = folder.parent / f"{folder.name}.{part}", folder.parent.parent
    exported = f"{client.name}/skills" in FOLDERS.values() and (client.parent / LOCK).is_file()
    if path.exists() or not exported:
        return path
    return client.parent / RECEIPTS / client.name.lstrip(".") / path.name


def receipt_files(folder: Path, skill: Skill) -> dict[str, bytes]:
    """File name -> content of the receipt and the ladder of a skill directory, as far as there are.

    This room knows the names of these files and the digest that they name; what they say
    is up to `harness.receipts`.

    Args:
        folder: the skill directory; its receipt and ladder lie beside it.
        skill: the skill as it is exported.

    Raises:
        BadInput: if one is damaged, or describes other files than these: it would tell
            readers of the copy something that was never measured.
    """
    files: dict[str, bytes] = {}
    verdict = beside(folder, PROVENANCE)
    if verdict.is_file():  # what the gate said alone: the rest quotes the user's own sessions
        provenance = read_value(verdict, Provenance, "is no provenance file")
        files[verdict.name] = render(
            provenance.model_dump(include={"skill", "parent", "gate", "gate_said"})
        )
    for command, parts in MEASURED.items():
        paths = [beside(folder, part) for part in parts]
        if not paths[0].is_file():
            continue
        try:
            value: Any = read_json(paths[0])
            measured = str(value["digests"]["skill"])
        except (ValueError, KeyError, TypeError) as error:
            raise BadInput(f"{str(paths[0])!r} is no receipt: {error!r}") from error
        if measured != skill.digest:
            raise BadInput(
                f"{paths[0].name} speaks of skill {measured[:12]}, this one is "
                f"{skill.digest[:12]}: run `harness skill {command}` again, or move it away"
            )
        # A link would bring a file of the host into what is exported.
        regular = (path for path in paths if path.is_file() and not path.is_symlink())
        files |= {path.name: read_foreign(path) for path in regular}
    return files
