"""The vqa graph against a scripted endpoint: what goes over the wire, and how an attempt ends."""

from __future__ import annotations

import json
from base64 import b64decode
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from harness.core import Task
from harness.tasks import family
from lab.corpora.folio import write_split
from tests.agents.scripted import Script, attempt, completion, native
from tests.models.http_server import Answer
from tests.vision.looking import kind_of, looking_script, pictures, prompt_of

pytestmark = pytest.mark.usefixtures("environment")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return pictures(tmp_path / "work")


def _run(script: Script, work: Path, **settings: Any) -> Any:
    return attempt(script, work, spec="graph:vqa", **settings)


def test_what_goes_over_the_wire(work: Path) -> None:
    run, served = _run(looking_script(), work)
    assert run.answer == "40"
    assert run.invalid is None
    kinds = [kind_of(body["messages"]) for body in served.bodies]
    assert kinds == ["perceive", "plan", "look", "look", "reason"]
    for kind, body in zip(kinds, served.bodies, strict=True):
        assert set(body) >= {"model", "messages"}
        (message,) = body["messages"]
        if kind == "plan":
            assert isinstance(message["content"], str)  # no image: the list is made from words
            continue
        types = [part["type"] for part in message["content"]]
        assert types == ["text", "image_url", "text", "image_url", "text"]
        for part in (message["content"][1], message["content"][3]):
            head, _, data = part["image_url"]["url"].partition(",")
            assert head in ("data:image/png;base64", "data:image/jpeg;base64")
            with Image.open(BytesIO(b64decode(data, validate=True))) as image:
                assert image.size[0] * image.size[1] <= 1_003_520
    looks = [prompt_of(body["messages"]) for body in served.bodies[2:4]]
    assert "the bar of Jan" in looks[0]
    assert "the bar of Jan: Jan is 40" in looks[1]
    assert "the unit: Jan is 40" in prompt_of(served.bodies[4]["messages"])


def test_the_pixel_budget_is_that_of_the_models_profile(work: Path) -> None:
    from harness.vision.images import pack_file
    from harness.vision.profiles import vision_profile

    sizes = {
        name: pack_file(work / "b.jpg", vision_profile(name).images).images[0].size
        for name in ("vllm/Qwen2.5-VL-7B", "vllm/Kimi-VL-A3B-Thinking-2506", "Kimi-VL-A3B-Instruct")
    }
    areas = [width * height for width, height in sizes.values()]
    assert areas[1] > 3 * areas[0] > 3 * areas[2]


def test_a_look_may_use_a_tool(work: Path) -> None:
    def script(messages: list[dict[str, Any]]) -> Answer:
        if kind_of(messages) == "look" and messages[-1]["role"] == "user":
            code = "from pathlib import Path; print(sorted(p.name for p in Path('.').iterdir()))"
            return native("python", json.dumps({"code": code}))
        if kind_of(messages) == "look":
            return completion(f"Seen: {messages[-1]['content'].strip()}")
        return looking_script(plan=completion("- the files"))(messages)

    run, served = _run(script, work, tools=("python",))
    assert run.answer == "40"
    asked, told = served.bodies[2], served.bodies[3]
    assert [tool["function"]["name"] for tool in asked["tools"]] == ["python"]
    assert [message["role"] for message in told["messages"]] == ["user", "assistant", "tool"]
    assert "a.png" in told["messages"][-1]["content"]
    assert "a.png" in prompt_of(served.bodies[4]["messages"])
    (call,) = [call for step in run.trajectory.steps for call in step.tool_calls or ()]
    assert call.function_name == "python"


def test_endless_tool_calls_end(work: Path) -> None:
    def script(messages: list[dict[str, Any]]) -> Answer:
        if kind_of(messages) == "look" and "use a tool" in prompt_of(messages):
            return native("no_such_tool", "{}")
        return looking_script(plan=completion("- one"))(messages)

    run, served = _run(script, work, tools=("python",))
    assert run.answer == "40"
    assert "no tool 'no_such_tool'" in served.bodies[-2]["messages"][-1]["content"]
    assert "tools" not in served.bodies[-2]


def test_an_unreadable_solution_is_corrected(work: Path) -> None:
    def script(messages: list[dict[str, Any]]) -> Answer:
        corrected = any("[Format error]" in str(m["content"]) for m in messages)
        if kind_of(messages) == "reason" and not corrected:
            return completion("It is 40.")
        return looking_script()(messages)

    run, served = _run(script, work, max_turns=5)
    assert run.answer == "40"
    assert [m["role"] for m in served.bodies[-1]["messages"]] == ["user", "assistant", "user"]


def test_a_model_that_never_solves_is_invalid(work: Path) -> None:
    run, _ = _run(looking_script(reason=completion("It is 40.")), work)
    assert run.answer is None
    assert "could not be read" in run.invalid


def test_few_turns_shorten_the_checklist(work: Path) -> None:
    run, served = _run(looking_script(), work, max_turns=4)
    assert run.answer == "40"
    assert len(served.bodies) == 4
    run, served = _run(looking_script(), work, max_turns=2)
    assert run.answer == "40"
    assert [kind_of(body["messages"]) for body in served.bodies] == ["perceive", "reason"]


def test_an_observation_without_its_mark_is_taken_as_it_is(work: Path) -> None:
    _, served = _run(looking_script(look=completion("It says\n40.")), work)
    assert "the unit: It says 40." in prompt_of(served.bodies[-1]["messages"])


def test_a_damaged_image_is_invalid_not_a_crash(work: Path) -> None:
    (work / "c.png").write_bytes(b"\x89PNG broken")
    run, served = _run(looking_script(), work)
    assert run.answer is None
    assert "'c.png'" in run.invalid
    assert served.bodies == []


def test_tasks_of_the_folio_from_picture_to_score(tmp_path: Path) -> None:
    """A scripted reader that knows the facts, one task of every scene."""
    tasks = write_split("train", tmp_path / "set")
    scenes = {str(task.meta["scene"]): task for task in tasks}
    for number, task in enumerate(scenes.values()):
        folder = tmp_path / f"work-{number}"
        folder.mkdir()
        judged = family(task)
        prompt = judged.prepare(task, tmp_path / "set", folder)
        run, _ = _run(_reader(task), folder, prompt=prompt)
        assert judged.score(task, tmp_path, folder, run.answer).outcome == "pass"


def _reader(task: Task) -> Script:
    assert isinstance(task.answer, list)
    solution = {"steps": [{"text": "I read it.", "seen": "it"}], "answer": str(task.answer[0])}
    return looking_script(reason=completion(json.dumps(solution)))
