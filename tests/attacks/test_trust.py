"""Every kind of file from elsewhere, and all that it may name: programs, addresses, files."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import ormsgpack
import pytest

from harness.api import EvalSettings
from harness.checkpoints import open_store
from harness.core import BadInput, digest
from harness.core.trust import Origin
from harness.debug.attempts import Settings, find_item, open_own_graph
from harness.evals import load_suite
from harness.evals.matrix.run import MatrixRun, MatrixSettings
from harness.evals.matrix.spec import read_matrix
from harness.evals.runner import Evaluator
from harness.rag.retrieve import Document, create_index, open_encoder, open_index, parse_paths
from harness.rag.retrieve.manifest import MANIFEST
from harness.skills import load_skill
from harness.trajectories import EXPORTS, export_trajectories, import_trajectories
from tests.attacks.running import KEY, command, suite_of
from tests.models.http_server import completion, serve

FAR = "http://203.0.113.7/v1"
"""An address of nobody."""
TASK = {"id": "t", "prompt": "p", "answer": "ok"}
MARKS = "import pathlib\npathlib.Path({mark!r}).touch()\n"
GRAPH = """
from langgraph.graph import END, START, MessagesState, StateGraph
builder = StateGraph(MessagesState)
builder.add_node("end", lambda state: {"messages": [("ai", "ok")]})
builder.add_edge(START, "end")
builder.add_edge("end", END)
graph = builder.compile()
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder: a key in the environment, and a file that is nobody else's."""
    folder = tmp_path / "home"
    (folder / "work").mkdir(parents=True)
    (folder / "private.jsonl").write_text(json.dumps({**TASK, "prompt": "private"}) + "\n")
    monkeypatch.chdir(folder / "work")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    return folder


def opened_suite(folder: Path, row: dict[str, Any] = TASK, **head: Any) -> object:
    suite = str(suite_of(folder, [row], **head))
    return Evaluator(EvalSettings(suite=suite, sandbox="none"), load_suite(suite))


def judge_of(folder: Path, **judge: str) -> object:
    suite = load_suite(str(suite_of(folder, [TASK], judge=judge)))
    assert suite.suite.judge is not None
    return suite.suite.judge.loaded(folder, trusted=False)


def run_matrix(folder: Path, **fields: Any) -> None:
    """A matrix that says so is run as `--sandbox` and `--trust` are by themselves."""
    suite_of(folder / "suite", [TASK])
    (folder / "s.json").write_text('[{"text": "ok"}]')
    settings = fields.pop("settings", MatrixSettings())
    head = {"name": "m", "suites": ["suite"], "models": [f"scripted/{folder}/s.json"]}
    (folder / "m.yaml").write_text(json.dumps({**head, **fields}))
    MatrixRun(read_matrix(folder / "m.yaml"), folder, folder / "out", settings).run()


def index_of(folder: Path, **encoder: Any) -> object:
    """An index from elsewhere whose manifest says that of its encoder; it is opened."""
    create_index(folder, open_encoder("lexical")).add([Document("d", "text")])
    row = json.loads((folder / MANIFEST).read_text())
    row.pop("checksum")
    row["encoder"] |= encoder
    (folder / MANIFEST).write_text(json.dumps({**row, "checksum": digest(row)}))
    return open_index(folder)


def skill_of(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text("---\nname: s\ndescription: Short answers.\n---\n# S\n")
    return folder


def far_skill(folder: Path) -> None:
    """A link in a skill leads to a file of the user: it is no part of what is read."""
    skill_of(folder / "s")
    (folder / "s" / "references").mkdir()
    (folder / "s" / "references" / "a.md").symlink_to(folder.parent / "home" / "private.jsonl")
    assert "private" not in str(load_skill(folder / "s").files)
    raise BadInput("passed over")


def run_folder(folder: Path) -> Any:
    """A finished run of a graph in a file that leaves a mark."""
    mark = folder.parent / "mark"
    folder.mkdir()
    (folder / "own.py").write_text(GRAPH + MARKS.format(mark=str(mark)))
    suite = suite_of(folder / "suite", [TASK])
    done = command("eval", suite, "--agent", "graph:own.py:graph", "--model", "none",
                   "--out", folder / "run", cwd=folder)  # fmt: skip
    assert done.returncode == 0 and mark.exists(), done.stderr
    mark.unlink()
    (Path.cwd() / "own.py").write_bytes((folder / "own.py").read_bytes())
    return find_item(folder / "run", "t")


def program_of_a_run(folder: Path) -> None:
    finished = run_folder(folder)
    with open_store(folder / "c.sqlite") as store, ExitStack() as stack:
        subject = open_own_graph(finished, store, folder / "work", Settings(), stack)
        assert not (folder.parent / "mark").exists() and "--trust" in subject.notes[0]
        open_own_graph(finished, store, folder / "work", Settings(trust=True), stack)
        assert (folder.parent / "mark").exists()
    raise BadInput("played back")


CALL = ("os", "mkdir", ("mark",))


class Planted:
    def __reduce__(self) -> Any:
        return Path.touch, (Path("mark"),)


def code_in_a_checkpoint(folder: Path) -> None:
    """Values that name a function, in both forms of LangGraph's."""
    folder.mkdir()
    with open_store(folder / "c.sqlite") as store:
        for kind, data in {
            "pickle": pickle.dumps(Planted()),
            "msgpack": ormsgpack.packb(
                ormsgpack.Ext(0, ormsgpack.packb(("os", "mkdir", ("mark",))))
            ),
        }.items():
            try:
                store.serde.loads_typed((kind, data))
            except Exception:  # noqa: BLE001  # however it refuses
                continue
    assert not Path("mark").exists()
    raise BadInput("no code")


def names_in_a_trajectory(folder: Path) -> None:
    """Images, a recording and a sub-agent that lie elsewhere: imported, read and exported."""
    secret = folder.parent / "home" / "private.png"
    secret.write_text("4711")
    with serve(lambda _body: completion("ok")) as served:
        sources = [
            ("image", "png", str(secret)),
            ("image", "png", f"{served.url}/a.png"),
            ("image", "png", "../../home/private.png"),
            ("audio", "wav", str(secret)),
        ]
        message = [
            {"type": kind, "source": {"media_type": f"{kind}/{form}", "path": path}}
            for kind, form, path in sources
        ]
        parts = [{"trajectory_path": str(secret)}, {"trajectory_path": f"{served.url}/t.json"}]
        observation = {"results": [{"content": "done", "subagent_trajectory_ref": parts}]}
        document = {
            "schema_version": "ATIF-v1.7", "trajectory_id": "t", "session_id": "s",
            "agent": {"name": "a", "version": "1"},
            "steps": [
                {"step_id": 1, "source": "user", "message": message},
                {"step_id": 2, "source": "agent", "message": "ok", "observation": observation},
            ],
        }  # fmt: skip
        folder.mkdir()
        (folder / "t.json").write_text(json.dumps(document))
        import_trajectories(folder, folder / "store")
        for name in EXPORTS:
            export_trajectories(folder / "store", folder / "out" / name, name)
        read = [path.read_bytes() for path in (folder / "out").rglob("*") if path.is_file()]
        assert len(read) >= len(EXPORTS)
        assert b"4711" not in b"".join(read) and not served.bodies and not served.headers
    raise BadInput("only named")


def linked_documents(folder: Path) -> None:
    """A link in a folder of documents leads to a file of the user."""
    folder.mkdir()
    (folder / "a.txt").symlink_to(folder.parent / "home" / "private.jsonl")
    parse_paths([folder])


def model_at(url: str) -> dict[str, Any]:
    return {"models": {"m": {"spec": "openai/m", "base_url": url}}}


CELLS: dict[tuple[str, str], Callable[[Path], object]] = {
    ("suite", "function"): lambda f: opened_suite(f, agent="py:a.py:run"),
    ("suite", "graph"): lambda f: opened_suite(f, agent="graph:a.py:graph"),
    ("suite", "address of tools"): lambda f: opened_suite(f, tools=[f"mcp:{FAR}"]),
    ("suite", "tools of this machine"): lambda f: opened_suite(f, tools=["mcp[a]:http://[::1]:9"]),
    ("suite", "file of tasks"): lambda f: opened_suite(f, tasks="../home/private.jsonl"),
    ("suite", "folder of a data set"): lambda f: opened_suite(f, tasks=f"hf:{f.parent}/home"),
    ("suite", "input"): lambda f: opened_suite(f, {**TASK, "files": ["../home/private.jsonl"]}),
    ("suite", "rubric"): lambda f: judge_of(f, rubric="../home/private.md"),
    ("suite", "replies of a judge"): lambda f: judge_of(f, model="scripted/../home/private.jsonl"),
    ("matrix", "no sandbox"): lambda f: run_matrix(f, sandbox="none"),
    ("matrix", "function"): lambda f: run_matrix(f, contexts={"c": {"agent": "py:a.py:run"}}),
    ("matrix", "address of a model"): lambda f: run_matrix(f, **model_at(FAR)),
    ("matrix", "second address"): lambda f: run_matrix(f, **model_at(f"http://[::1]:9,{FAR}")),
    ("matrix", "tools"): lambda f: run_matrix(f, contexts={"c": {"tools": ["mcp:" + FAR]}}),
    ("matrix", "suite"): lambda f: run_matrix(f, suites=["../home/private.jsonl"]),
    ("matrix", "columns"): lambda f: run_matrix(f, suites=["../home/private.jsonl?prompt=prompt"]),
    ("matrix", "skill"): lambda f: run_matrix(f, skills=[str(skill_of(f.parent / "home" / "s"))]),
    ("matrix", "replies"): lambda f: run_matrix(f, models=["scripted/../home/private.jsonl"]),
    ("run folder", "graph"): program_of_a_run,
    ("skill", "link"): far_skill,
    ("index", "address of an encoder"): lambda f: index_of(f, spec="openai/e", base_url=FAR),
    ("checkpoint", "function"): code_in_a_checkpoint,
    ("trajectory", "files and addresses"): names_in_a_trajectory,
    ("folder of documents", "link"): linked_documents,
}  # fmt: skip


@pytest.mark.parametrize(("kind", "names"), CELLS)
def test_named(kind: str, names: str, tmp_path: Path) -> None:
    """A suite, matrix, run, skill, index, trajectory or checkpoint names what is not its own."""
    with pytest.raises(BadInput):
        CELLS[kind, names](tmp_path / "stranger")


def test_data_set_with_a_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands behind OWNER/NAME is a configuration: the folder is the one in front of it."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(BadInput, match="--trust"):
        opened_suite(Path("stranger"), tasks="hf:../home/default")
    with pytest.raises(BadInput, match="--trust"):
        run_matrix(Path("matrix"), suites=["hf:../home/default:test"])


def test_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A matrix and an index name a server of this machine, which waits for the user's key."""
    with serve(lambda _body: completion("ok")) as served:
        typed = {"settings": MatrixSettings(sandbox="none")}
        run_matrix(tmp_path / "a", **model_at(served.url), **typed)
        run_matrix(tmp_path / "b", **model_at(served.url + "?x=1#y"), **typed)
        trusted = MatrixSettings(sandbox="none", trust=True)
        run_matrix(tmp_path / "c", **model_at(served.url), settings=trusted)
        with pytest.raises(Exception):  # noqa: B017  # it makes no embeddings
            index_of(tmp_path / "i", spec="openai/e", base_url=served.url)
        assert len(served.bodies) >= 4 and KEY not in str(served.headers)
        monkeypatch.setenv("OPENAI_BASE_URL", served.url)
        run_matrix(tmp_path / "d", **model_at(served.url), **typed)
    assert KEY in str(served.headers[-1])


def test_only_what_is_typed_counts(tmp_path: Path) -> None:
    """Trust is a parameter of the reader, and no field of any file."""
    stranger = Origin("a suite", tmp_path)
    for refused in (
        lambda: stranger.program("a"), lambda: stranger.address(FAR, ""),
        lambda: stranger.file(tmp_path / ".."), lambda: stranger.sandbox("none", "auto"),
    ):  # fmt: skip
        with pytest.raises(BadInput, match="a suite"):
            refused()
    with pytest.raises(BadInput, match="trust"):
        run_matrix(tmp_path / "m", trust=True)
