"""Bring a skill to the clients: folders they read, indexes they look up, or one `.skill` file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

from harness.core import BadInput
from harness.core.values import Value
from harness.skills.archive import pack
from harness.skills.creator import Benchmark, Evals, History, creator_text
from harness.skills.marketplace import place_plugin
from harness.skills.place import Placed, Status, place_file, place_skill
from harness.skills.types import Skill
from harness.skills.validate import validate
from harness.skills.wellknown import place_well_known
from harness.skills.write import strict

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
}
EVALS_FILE = "evals/evals.json"
CODEX_FILE, CODEX_WIDTH = "agents/openai.yaml", 64


class Exported(Value):
    """What an export did, or with `check` would do.

    Attributes:
        target: never an alias.
        path: of the skill, or of the one file.
        status: of all that was to be written: "unchanged" if every part was there.
        diff: from what was there to the skill, "" where nothing was.
        also: further files, with indexes that other skills share.
    """

    target: Target
    path: str
    status: Status
    diff: str = ""
    also: tuple[str, ...] = ()


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
    overwritten. The files of `receipt` (:func:`harness.skills.receipt_files`) are put beside the
    skill directory, also inside a plugin and below `.well-known/skills`, where `harness skill
    verify` finds them; clients pass them over. skill-creator adds files to the skill, so that a
    receipt would no longer speak of it, and gets none.

    Raises:
        BadInput: if the skill does not validate, or the copy there was edited and not `force`.
    """
    kind, ready = ALIASES.get(target, target), _valid(skill)
    if kind == "skill":
        placed = [place_file(pack(ready), out, f"{ready.name}.skill", check=check)]
    elif kind == "skill-creator":
        return export_creator(ready, out, force=force, check=check)
    elif kind == "plugin":
        placed = place_plugin(ready, out, force=force, check=check)
    elif kind == "well-known":
        placed = place_well_known(ready, out, force=force, check=check)
    else:
        shaped = _for_codex(ready) if kind == "codex" else ready
        path = f"{FOLDERS[kind]}/{ready.name}"
        placed = [place_skill(shaped, out, path, force=force, check=check)]
    beside = placed[0].path.rpartition("/")[0]
    for name, data in (receipt or {}).items():
        placed.append(place_file(data, out, f"{beside}/{name}".lstrip("/"), check=check))
    return _report(kind, out, placed)


def export_creator(
    skill: Skill,
    out: Path,
    *,
    evals: Evals | None = None,
    benchmark: Benchmark | None = None,
    history: History | None = None,
    force: bool = False,
    check: bool = False,
) -> Exported:
    """Write what Anthropic's skill-creator opens: `<name>/` and, beside it, `<name>-workspace/`.

    `evals/evals.json` goes into the skill; `benchmark.json` and `history.json` into the workspace.
    A file that is not given is not written.

    Raises:
        BadInput: as :func:`export`.
    """
    ready = _valid(skill)
    if evals is not None:
        files = {**ready.files, EVALS_FILE: creator_text(evals).encode()}
        ready = replace(ready, files=files)
    placed = [place_skill(ready, out, ready.name, force=force, check=check)]
    beside = {"benchmark.json": benchmark, "history.json": history}
    for name, value in beside.items():
        if value is not None:
            path = f"{ready.name}-workspace/{name}"
            placed.append(place_file(creator_text(value), out, path, check=check))
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
    planned = [
        export(skill, target, project, force=force, check=True, receipt=receipt)
        for target in targets
    ]
    if check:
        return planned
    return [export(skill, target, project, force=force, receipt=receipt) for target in targets]


def _report(target: Target, out: Path, placed: list[Placed]) -> Exported:
    changed: list[Status] = [one.status for one in placed if one.status != "unchanged"]
    return Exported(
        target=target,
        path=str(out / placed[0].path),
        status=changed[0] if changed else "unchanged",
        diff="".join(one.diff for one in placed),
        also=tuple(str(out / one.path) for one in placed[1:]),
    )


def _for_codex(skill: Skill) -> Skill:
    """With the file that Codex shows the skill by, unless the skill brings its own."""
    if CODEX_FILE in skill.files:
        return skill
    return replace(skill, files={**skill.files, CODEX_FILE: _codex_file(skill)})


def as_measured(skill: Skill) -> Skill:
    """The skill without the file that an export for Codex added: no agent is told what it says."""
    if skill.files.get(CODEX_FILE) != _codex_file(skill):
        return skill
    kept = {path: data for path, data in skill.files.items() if path != CODEX_FILE}
    return replace(skill, files=kept)


def _codex_file(skill: Skill) -> bytes:
    short = skill.description
    if len(short) > CODEX_WIDTH:
        short = short[: CODEX_WIDTH - 1].rsplit(" ", 1)[0] + "…"
    name = skill.name.replace("-", " ").capitalize()
    rows = [("display_name", name), ("short_description", short)]
    lines = [f"  {key}: {json.dumps(value, ensure_ascii=False)}" for key, value in rows]
    return "\n".join(["interface:", *lines, ""]).encode()


def _valid(skill: Skill) -> Skill:
    ready = replace(strict(skill), directory=None)  # it gets a directory of its own name
    errors = [one for one in validate(ready) if one.level == "error"]
    if errors:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        raise BadInput(f"skill {skill.name!r} does not validate: {errors[0]}{more}")
    return ready
