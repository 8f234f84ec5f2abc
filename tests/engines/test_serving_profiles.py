"""Profiles of served models and the command line that they give."""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner
from jinja2.sandbox import ImmutableSandboxedEnvironment

from harness.cli import cli
from harness.core import BadInput, Unreachable, on_loopback
from harness.engines.vllm import (
    Figures,
    Launch,
    command_line,
    find_profile,
    parse_figures,
    read_figures,
    shipped_profiles,
    warm_bodies,
)
from harness.vision.profiles import vision_profile

MODELS = {
    "Qwen/Qwen3.5-35B-A3B": ("qwen3.5", "qwen3_coder", "qwen3"),
    "Qwen/Qwen3.5-0.8B": ("qwen3.5", "qwen3_coder", "qwen3"),
    "Qwen/Qwen3-VL-8B-Thinking": ("qwen-vl-thinking", "hermes", "qwen3"),
    "Qwen/Qwen3-VL-8B-Instruct": ("qwen-vl", "hermes", None),
    "Qwen/Qwen2.5-VL-7B-Instruct": ("qwen2.5-vl", None, None),
    "moonshotai/Kimi-VL-A3B-Thinking-2506": ("kimi-vl", None, None),
    "somebody/my-Kimi-VL-tune": ("kimi-vl-of-others", None, None),
    "/data/moonshotai/Kimi-VL-A3B": ("kimi-vl-of-others", None, None),
    "/data/qwen3-runs/llama-3-8b/": ("generic", None, None),
    "cache/models--Qwen--Qwen3-8B/snapshots/1a2b": ("qwen3", "hermes", "qwen3"),
    "Qwen/Qwen3Guard-Gen-8B": ("qwen3guard", None, None),
    "Qwen/Qwen3-32B": ("qwen3", "hermes", "qwen3"),
    "Qwen/Qwen3-Coder-30B-A3B-Instruct": ("qwen3-coder", "qwen3_coder", None),
    "Qwen/Qwen3-Embedding-0.6B": ("qwen3-embedding", None, None),
    "Qwen/Qwen3-Reranker-0.6B": ("qwen3-reranker", None, None),
    "HuggingFaceTB/SmolLM2-135M-Instruct": ("smollm2", "hermes", None),
    "meta/some-model": ("generic", None, None),
}


def launch(model: str, **changes: object) -> Launch:
    """A launch of a model by its own profile."""
    values = {"model": model, "profile": find_profile(model), "python": "python3"}
    return Launch.model_validate({**values, **changes})


def words(model: str, **changes: object) -> list[str]:
    """The command line."""
    return command_line(launch(model, **changes), 8000)


def after(command: list[str], flag: str) -> str:
    """The value of a flag."""
    return command[command.index(flag) + 1]


@pytest.mark.parametrize("model", MODELS)
def test_a_model_finds_its_profile(model: str) -> None:
    found = find_profile(model)
    assert (found.name, found.tool_parser, found.reasoning_parser) == MODELS[model]


def test_only_the_authors_code_is_run_unless_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusted = [model for model in MODELS if "--trust-remote-code" in words(model)]
    assert trusted == ["moonshotai/Kimi-VL-A3B-Thinking-2506"]
    assert find_profile("somebody/tune", "kimi-vl").trust_remote_code
    (tmp_path / trusted[0]).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert not find_profile(trusted[0]).trust_remote_code, "a folder, which vLLM would serve"


def test_images_are_those_that_the_client_packs() -> None:
    for model, (name, _, _) in MODELS.items():
        if "vl" in name:
            assert find_profile(model).images == vision_profile(model).images.images


def test_the_command_line_of_a_model_with_tools_and_images() -> None:
    command = words("Qwen/Qwen3.5-35B-A3B", tensor_parallel=4, name="qwen", drain_s=30)
    assert command[:3] == ["python3", "-m", "vllm.entrypoints.openai.api_server"]
    assert {"--enable-prefix-caching", "--enable-auto-tool-choice"} < set(command)
    assert "--enable-prompt-tokens-details" in command
    assert "--data-parallel-size" not in command
    wanted = {
        "--model": "Qwen/Qwen3.5-35B-A3B", "--served-model-name": "qwen",
        "--tensor-parallel-size": "4", "--tool-call-parser": "qwen3_coder",
        "--reasoning-parser": "qwen3", "--shutdown-timeout": "30", "--host": "127.0.0.1",
        "--port": "8000", "--limit-mm-per-prompt": '{"image": 16, "video": 0}',
    }  # fmt: skip
    assert {flag: after(command, flag) for flag in wanted} == wanted


def test_embedding_and_reranking_have_no_flags_of_chat() -> None:
    command = words("Qwen/Qwen3-Reranker-0.6B")
    assert after(command, "--runner") == "pooling"
    assert json.loads(after(command, "--hf-overrides"))["classifier_from_token"] == ["no", "yes"]
    assert "--enable-auto-tool-choice" not in command
    assert after(words("any", profile=find_profile("any", "embedding")), "--runner") == "pooling"


def test_adapters_are_checked_and_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"expected a folder with adapter_config\.json"):
        words("m", lora={"mine": str(tmp_path)})
    (tmp_path / "adapter_config.json").write_text("{}")
    assert after(words("m", lora={"mine": str(tmp_path)}), "--lora-modules") == f"mine={tmp_path}"


def test_a_profile_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text('{"name": "mine", "structured_output": "guidance", "prefix_caching": false}')
    command = words("m", profile=find_profile("m", str(path)), extra=("--seed", "1"))
    assert json.loads(after(command, "--structured-outputs-config")) == {"backend": "guidance"}
    assert "--no-enable-prefix-caching" in command
    assert command[-2:] == ["--seed", "1"]


@pytest.mark.parametrize(
    "extra",
    ["--host 0.0.0.0", "--host=0.0.0.0", "--hos 0.0.0.0", "--port 9", "--uds /x", "--api_key=k"],
)
def test_further_arguments_do_not_open_the_door(extra: str) -> None:
    with pytest.raises(BadInput, match=r"expected no --(host|port|uds|api-key)"):
        words("m", extra=tuple(extra.split()))


def test_a_profile_decides_how_many_images_there_may_be(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text('{"name": "mine", "images": 4}')
    serve = ["models", "serve", "org/model", "--profile", str(path), "--python", sys.executable]
    taken = CliRunner().invoke(cli, [*serve, "--dry-run", "--images", "3"])
    assert taken.exception is None and '{"image": 3, "video": 0}' in taken.stdout
    refused = CliRunner().invoke(cli, [*serve, "--dry-run", "--images", "5"])
    assert isinstance(refused.exception, BadInput) and "4 at most" in str(refused.exception)


@pytest.mark.parametrize("pairs", [("mine",), ("=folder",), ("mine=", "mine=folder")])
def test_an_adapter_is_a_name_and_a_folder(pairs: tuple[str, ...]) -> None:
    options = [word for pair in pairs for word in ("--lora", pair)]
    refused = CliRunner().invoke(cli, ["models", "serve", "org/model", "--dry-run", *options])
    assert isinstance(refused.exception, BadInput)
    assert str(refused.exception) == f"--lora: expected NAME=DIR, found {pairs[0]!r}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: [", "not YAML"),
        ("name: x\ntool_parsers: y", "tool_parsers: no such field"),
        ("name: x\nmatch: ['(']", "match '\\('"),
        ("name: x\nchat_template: none.jinja", "there is no chat template"),
        ("- 1", "the file: expected fields"),
    ],
)
def test_a_malformed_profile_says_where(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(BadInput, match=message):
        find_profile("m", str(path))


def test_an_unknown_profile_lists_what_there_is() -> None:
    with pytest.raises(BadInput, match=r"no profile 'best'; there is .*smollm2"):
        find_profile("m", "best")
    assert list(shipped_profiles())[-1] == "generic"


def test_figures_of_all_engines_add_up() -> None:
    text = (
        "# TYPE vllm:prefix_cache_hits_total counter\n"
        'vllm:prefix_cache_hits_total{engine="0",model_name="m"} 30.0\n'
        'vllm:prefix_cache_hits_total{engine="1",model_name="m"} 1.5e+02\n'
        'vllm:prefix_cache_queries_total{engine="0",model_name="m"} 200.0\n'
        'vllm:num_requests_running{engine="0",model_name="m"} 2.0\n'
    )
    found = parse_figures(text)
    assert found == Figures(running=2, cache_queries=200, cache_hits=180)
    assert found.hit_rate == 0.9
    assert (found - Figures(cache_queries=100, cache_hits=90, running=7)).running == 2
    assert Figures().hit_rate is None


class Metrics(BaseHTTPRequestHandler):
    """Says at /metrics that two requests run, to who has the key."""

    def do_GET(self) -> None:
        known = self.headers["Authorization"] == "Bearer secret" and self.path == "/metrics"
        self.send_response(200 if known else 401)
        self.end_headers()
        self.wfile.write(b"vllm:num_requests_running 2\n")

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_figures_of_this_machine_go_past_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("VLLM_API_KEY", "secret")
    with HTTPServer(("127.0.0.1", 0), Metrics) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        assert read_figures(f"http://127.0.0.1:{server.server_port}/v1").running == 2
    with pytest.raises(Unreachable):  # through the proxy, where nobody is
        read_figures("http://192.0.2.1:8000/v1")


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://127.0.0.1:8000/v1", True), ("http://127.8.0.1", True), ("http://[::1]:1/v1", True),
        ("http://LOCALHOST:8000/v1", True), ("http://10.0.0.1/v1", False),
        ("http://127.0.0.1.example.org/v1", False), ("http:///v1", False),
    ],
)  # fmt: skip
def test_what_is_on_loopback(url: str, local: bool) -> None:
    assert on_loopback(url) is local


def test_a_recording_is_warmed_by_its_instructions_and_tools(tmp_path: Path) -> None:
    import asyncio

    from harness.models import CallStore, open_model

    async def ask(calls: CallStore) -> None:
        model = open_model("simulated/lookup", calls=calls)
        for skill, count in (("One.", 1), ("Two.", 3)):
            for task in range(count):
                user = {"role": "user", "content": f"Question: {task}?"}
                await model.complete([{"role": "system", "content": skill}, user])
        await model.aclose()

    with CallStore(tmp_path / "calls.sqlite") as calls:
        asyncio.run(ask(calls))
    bodies = warm_bodies(tmp_path)
    assert [body["messages"][0]["content"] for body in bodies] == ["Two.", "One."]
    assert all(body["messages"][1]["content"] == "Hello" for body in bodies)
    (tmp_path / "bad.json").write_text("[]")
    with pytest.raises(BadInput, match="expected a request with messages"):
        warm_bodies(tmp_path / "bad.json")


def test_the_chat_template_shows_tools_and_their_calls() -> None:
    template = find_profile("smollm2").chat_template
    assert template is not None
    # As transformers renders them.
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    call = {"function": {"name": "read_cell", "arguments": '{"cell": "B2"}'}}
    text = environment.from_string(template.read_text("utf-8")).render(
        tools=[{"type": "function", "function": {"name": "read_cell"}}],
        messages=[
            {"role": "system", "content": "A skill."},
            {"role": "user", "content": "Read."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "content": "7"},
        ],
        add_generation_prompt=True,
    )
    assert text == (
        "<|im_start|>system\nA skill.\n\nFunctions that you may call, one JSON signature a line:\n"
        '<tools>\n{"function": {"name": "read_cell"}, "type": "function"}\n</tools>\n'
        "To call one, answer with\n<tool_call>\n"
        '{"name": NAME, "arguments": ARGUMENTS}\n</tool_call><|im_end|>\n'
        "<|im_start|>user\nRead.<|im_end|>\n"
        '<|im_start|>assistant\n\n<tool_call>\n{"name": "read_cell", "arguments": {"cell": "B2"}}\n'
        "</tool_call><|im_end|>\n"
        "<|im_start|>user\n<tool_response>\n7\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\n"
    )
