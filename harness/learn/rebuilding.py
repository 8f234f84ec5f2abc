"""Tasks made again from sessions: a repository at a commit, the first prompt, a test command."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from contextlib import suppress
from itertools import chain
from pathlib import Path

from harness.core import (
    BadInput,
    Task,
    Trajectory,
    digest,
    mapping,
    remove_tree,
    string,
    temporary_work_folder,
)
from harness.core.redaction import Redactor
from harness.learn.acts import acts, prompts
from harness.learn.shell import Program, parse
from harness.learn.signs import is_test_file, test_run
from harness.learn.tables import sign
from harness.sandbox import Limits, Result, Sandbox
from harness.skills.git import git
from harness.trajectories import dump

MOST_FILES, MOST_BYTES = 4000, 64 * 2**20
SECONDS = 120.0
_NO_PROGRAM = re.compile(
    r"No module named|command not found|: not found|cannot find module"
    r"|^bash: [^\n]*: No such file or directory",
    re.I | re.M,
)


class NotRebuilt(BadInput):
    """Reason why a session's task cannot be made again, in one sentence."""


def root_of(cwd: str) -> Path:
    """The repository that holds a session's folder.

    Raises:
        BadInput: if the folder is gone, or in no repository.
        OSError: if it is another user's, as in a container's log.
    """
    folder = Path(cwd)
    if not cwd:
        raise NotRebuilt("the log does not say in which folder it worked")
    if not folder.is_dir():
        raise NotRebuilt(f"its folder is gone: {cwd!r}")
    return Path(git(folder, "rev-parse", "--show-toplevel"))


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
        except BadInput as error:
            raise NotRebuilt(f"the commit that the log names is gone: {recorded[:12]}") from error
    if not started:
        raise NotRebuilt("the log names neither a commit nor a time")
    for reference in (branch, "HEAD"):
        if not reference:
            continue
        with suppress(BadInput):  # there is no such branch any more
            git(root, "rev-parse", "--verify", "--quiet", f"{reference}^{{commit}}")
            commit = git(root, "rev-list", "-1", f"--before={started}", reference, "--")
            if commit:
                return commit
    raise NotRebuilt(f"no commit is older than the session ({started})")


def check_out(root: Path, commit: str, into: Path) -> None:
    """Put the files of a commit into the folder `into`, without history: it holds the answer.

    Raises:
        NotRebuilt: if they are not all there.
    """
    into = into.resolve()  # git runs in the repository: a relative path would lie in there
    into.parent.mkdir(parents=True, exist_ok=True)
    with temporary_work_folder(".clone-", into.parent) as folder:
        clone = folder / "tree"
        clone.mkdir()
        # Its objects are lent, nothing of its settings: they name programs (filters, merges).
        words = ("--show-object-format", "--path-format=absolute", "--git-path", "objects")
        form, _, objects = git(root, "rev-parse", *words).partition("\n")
        git(clone, "init", "--quiet", f"--object-format={form}")
        (clone / ".git/objects/info/alternates").write_text(f"{objects}\n")
        git(clone, "checkout", "--quiet", "--detach", commit)
        remove_tree(clone / ".git")
        remove_tree(into)
        clone.rename(into)


def rebuild(
    trajectory: Trajectory, task_id: str, folder: Path, sandbox: Sandbox | None, redactor: Redactor
) -> tuple[Task, str]:
    """Make a session's task again under the suite folder `folder`: a row of the suite, with the
    test command as the log has it.

    The test command must fail on the untouched repository: one that passes cannot tell whether
    anybody did the work. Tests that the following commit brought are put in place before it runs.

    Raises:
        NotRebuilt: with the reason.
    """
    command, inner, builds = tests_of(trajectory)
    cwd = string(trajectory.harness.get("cwd"))
    root = root_of(cwd)
    state = mapping(trajectory.harness.get("git"))
    branch = string(state.get("branch")) or string(trajectory.harness.get("gitBranch"))
    started = next((step.timestamp for step in trajectory.steps if step.timestamp), "") or ""
    commit = commit_before(root, string(state.get("commit_hash")), started, branch)
    top = root.resolve()
    edited = [
        (Path(cwd) / path).resolve()
        for act in acts(trajectory)
        for path in (act.paths if act.kind == "edit" else ())
        if path
    ]
    inside = [path.relative_to(top).as_posix() for path in edited if path.is_relative_to(top)]
    later = ""  # the first commit after it that changed one of the session's files
    if files := list(dict.fromkeys(inside)):
        span = ("--reverse", "--ancestry-path", f"{commit}..HEAD")
        later = git(root, "rev-list", *span, "--", *files).partition("\n")[0]
    tree = folder / "repositories" / f"{root.name}-{digest([str(root), commit])[:10]}"
    if not tree.is_dir():
        _take(root, commit, tree, redactor)
    hidden = _hidden_tests(root, commit, later, folder / "tests" / task_id) if later else ""
    base = Path(cwd).resolve().relative_to(top)
    within = Path(os.path.normpath(base / inner))
    if within.parts[:1] == ("..",):
        raise NotRebuilt(f"its tests ran outside of its repository: {str(inner)!r}")
    # Hidden tests in place, what is built first, then the command in its folder.
    steps = [f'cp -R "{{base}}/{hidden}/." .'] if hidden else []
    if builds:
        steps.append(f"(cd {shlex.quote(base.as_posix())} && {' && '.join(builds)})")
    steps += [f"cd {shlex.quote(within.as_posix())}"] if within.parts else []
    check = f"bash -c {shlex.quote(' && '.join([*steps, command]))}"
    verified = _verify(check, tree, folder, root, later, sandbox)
    # From the whole session without secrets: one that is bare here may be named elsewhere.
    clean = Redactor(thorough=True, home=redactor.home).clean(dump(trajectory))
    prompt = prompts(Trajectory.model_validate(clean))[0]
    if within.parts:
        prompt += f"\n\n(Work in the folder `{within.as_posix()}`.)"
    task = Task(
        id=task_id,
        prompt=prompt,
        files={
            path.relative_to(tree).as_posix(): path.relative_to(folder).as_posix()
            for path in sorted(tree.rglob("*"))
            if path.is_file() and not path.is_symlink()
        },
        check=check,
        meta={
            "commit": commit,
            "repository": root.name,
            "verified": verified,
            "check_seconds": SECONDS,
            "session": trajectory.trajectory_id,
        },
    )
    return task, command


def tests_of(trajectory: Trajectory) -> tuple[str, Path, list[str]]:
    """The last test command of a session, the folder that it went into first, and what the session
    built before: commands for its own folder.

    Raises:
        NotRebuilt: if the session ran no tests, or their folder cannot be told.
    """
    cwd = string(trajectory.harness.get("cwd")) or "."
    commands = [act for act in acts(trajectory) if act.kind == "command"]
    last = max((number for number, act in enumerate(commands) if test_run(act)), default=None)
    if last is None:
        raise NotRebuilt("it ran no tests")
    went_well = [act for act in commands[:last] if act.exit_code in (0, None)]
    *before, line = [parse(act.text, act.folder).programs for act in (*went_well, commands[last])]
    tests = next(program for program in line if program.tests)
    builds: list[str] = []
    for program in (*chain(*before), *line[: line.index(tests)]):
        if sign("builds").match(program.bare):
            folder = shlex.quote(str(_folder_of(program, cwd)))
            builds.append(f"mkdir -p {folder} && (cd {folder} && {program.again})")
    return tests.again, _folder_of(tests, cwd), list(dict.fromkeys(builds))


def _folder_of(program: Program, cwd: str) -> Path:
    """The folder that a program ran in, seen from the session's."""
    if program.folder is None:  # only a shell of that time could tell
        reason = "the folder that its tests ran in cannot be told"
        raise NotRebuilt(f"{reason}: {program.source[:80]!r}")
    folder = program.folder or "."
    inner = Path(os.path.relpath(folder, cwd) if folder[:1] == "/" else folder)
    if inner.parts[:1] == ("..",):
        raise NotRebuilt(f"its tests ran outside of its folder: {program.folder!r}")
    return inner


def _take(root: Path, commit: str, tree: Path, redactor: Redactor) -> None:
    """The files of the commit, without secrets: an agent will read them."""
    draft = tree.with_name(f".{tree.name}")  # in its place once no secret is left
    try:
        check_out(root, commit, draft)
        files = [path for path in draft.rglob("*") if path.is_file() and not path.is_symlink()]
        size = sum(path.stat().st_size for path in files)
        if len(files) > MOST_FILES or size > MOST_BYTES:
            raise NotRebuilt(f"its repository is too large: {len(files):,} files, {size:,} bytes")
        cleaner = Redactor(thorough=True)  # paths in code must stay as they are
        for path in files:
            content = path.read_bytes()
            try:
                clean = cleaner.text(content.decode()).encode()
            except UnicodeDecodeError:
                clean = cleaner.content(content) if b"\0" not in content else content  # no text
            if clean != content:
                path.write_bytes(clean)
        redactor.counts.update(
            {f"{kind}, in the repository": n for kind, n in cleaner.counts.items()}
        )
        draft.rename(tree)
    finally:
        remove_tree(draft)


def _hidden_tests(root: Path, commit: str, later: str, into: Path) -> str:
    """Tests that the following commit brought, put beside the suite; their folder, "" if none."""
    # With -z, names stand as they are; without it git quotes what is not ASCII.
    form = ("-z", "--no-renames", "--name-only", "--diff-filter=AM")
    names = filter(is_test_file, git(root, "diff", *form, commit, later).split("\0"))
    checkout = into.parent / f".{into.name}"
    remove_tree(into)
    try:
        check_out(root, later, checkout)
        for name in names:
            # A link may lead to any file of this machine, and the sandbox reads what is copied.
            source = checkout / name
            within = source.resolve().is_relative_to(checkout.resolve())
            if source.is_symlink() or not source.is_file() or not within:
                continue
            target = into / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    finally:
        remove_tree(checkout)
    return f"tests/{into.name}" if into.is_dir() else ""


def _verify(
    check: str, tree: Path, folder: Path, root: Path, later: str, sandbox: Sandbox | None
) -> bool:
    """Run the check: it must pass where the work was done, and fail where it was not.

    Raises:
        NotRebuilt: if it cannot be run, passes on the untouched repository, or fails on the
            finished one.
    """
    if sandbox is None:
        raise NotRebuilt("its tests are code from a log: they need a sandbox, and there is none")
    before = _run(check, tree, folder, sandbox)
    if before.ok:
        raise NotRebuilt("its tests pass before any work: they cannot tell whether it was done")
    output = before.stdout + before.stderr
    if before.exit_code in (None, 126, 127) or _NO_PROGRAM.search(output):
        reason = before.limit or (output.strip().splitlines() or ["no message"])[-1][:160]
        raise NotRebuilt(f"its tests cannot be run here: {reason}")
    if not later:
        return False
    finished = folder / "repositories" / f".later-{later[:12]}"
    try:
        check_out(root, later, finished)
        if not _run(check, finished, folder, sandbox).ok:
            raise NotRebuilt("its tests fail on the finished work too")
        return True
    finally:
        remove_tree(finished)


def _run(check: str, tree: Path, folder: Path, sandbox: Sandbox) -> Result:
    command = [word.replace("{base}", str(folder.resolve())) for word in shlex.split(check)]
    with temporary_work_folder("harness-learn-") as scratch:
        work = scratch / "work"
        shutil.copytree(tree, work, symlinks=True)
        limits = Limits(wall_s=SECONDS)
        return sandbox.exec(command, workdir=work, limits=limits, readable=[folder.resolve()])
