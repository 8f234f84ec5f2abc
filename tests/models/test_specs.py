"""Spec strings, roles and prices."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core import BadInput
from harness.models import PRICES_VARIABLE, ModelSpec, open_model, parse_roles, parse_spec, price_of
from harness.models.budget import FREE
from harness.models.endpoints import PROVIDERS, resolve
from tests.models.http_server import completion, serve

pytestmark = pytest.mark.wing("engines")

NAMES = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1)


@given(st.sampled_from(["openai", "vllm", "local", "replay", "simulated"]), NAMES)
def test_a_spec_survives_printing(kind: str, name: str) -> None:
    assert str(parse_spec(f"{kind}/{name}")) == f"{kind}/{name}"


@pytest.mark.parametrize("spec", ["", "gpt-4.1", "openai/", "claude/opus", "/x", "OpenAI/x"])
def test_an_unknown_spec_lists_the_forms(spec: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_spec(spec)
    for form in (repr(spec), "openai/", "vllm/", "local/", "replay/", "simulated/"):
        assert form in str(caught.value)


def test_roles_fall_back_to_the_spec_without_a_role() -> None:
    roles = parse_roles(["openai/a", "analyst=vllm/org/b=c", "openai/d", "merger=simulated/lookup"])
    assert str(roles["agent"]) == "openai/d"
    assert str(roles["analyst"]) == "vllm/org/b=c"
    assert str(roles["merger"]) == "simulated/lookup"
    assert str(parse_roles(["openai/ft=x"])["judge"]) == "openai/ft=x"
    assert str(parse_roles([])["agent"]) == "local/smollm2-135m"


def test_none_is_a_model_for_agents_alone() -> None:
    spec = parse_roles(["none"])["agent"]
    assert (str(spec), price_of(spec, official=False)) == ("none", FREE)
    with pytest.raises(BadInput, match="needed for the role 'judge'"):
        open_model(spec, role="judge")


def test_an_unknown_role_is_named() -> None:
    with pytest.raises(BadInput, match=r"unknown role in 'pilot=openai/x'.*analyst"):
        parse_roles(["pilot=openai/x"])


def test_unknown_prices_are_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PRICES_VARIABLE, raising=False)
    listed = ModelSpec(kind="openai", name="gpt-4.1-mini")
    price = price_of(listed, official=True)
    assert price is not None
    assert price.cost(1_000_000, 1_000_000) == pytest.approx(2.0)
    assert price_of(listed, official=False) is None
    assert price_of(ModelSpec(kind="openai", name="nobody"), official=True) is None
    local = price_of(ModelSpec(kind="local", name="x"), official=False)
    assert local is not None
    assert local.cost(10, 10) == 0.0
    table = tmp_path / "prices.json"
    table.write_text(json.dumps({"models": {"vllm/x": {"input": 1.0, "output": 3.0}}}))
    monkeypatch.setenv(PRICES_VARIABLE, str(table))
    own = price_of(ModelSpec(kind="vllm", name="x"), official=False)
    assert own is not None
    assert own.cost(10, 10, cached=5) == pytest.approx(40e-6)


def test_a_broken_price_table_is_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "broken.json"
    table.write_text('{"models": {"vllm/x": {"input": -1, "output": 3}}}')
    monkeypatch.setenv(PRICES_VARIABLE, str(table))
    with pytest.raises(BadInput, match=PRICES_VARIABLE):
        price_of(ModelSpec(kind="vllm", name="x"), official=False)


def test_a_missing_key_is_found_before_any_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(BadInput, match="OPENAI_API_KEY is not set"):
        open_model("openai/gpt-4.1")


@pytest.mark.parametrize("url", [",", " , ", "ftp://x"])
def test_a_base_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(BadInput, match="expected a base URL such as"):
        open_model("vllm/m", base_url=url)


@pytest.mark.parametrize("spec", ["simulated/nobody", "replay/no/such/file.jsonl"])
def test_what_does_not_exist_is_found_on_opening(spec: str) -> None:
    with pytest.raises(BadInput):
        open_model(spec)


@pytest.mark.parametrize("kind", sorted(PROVIDERS.keys() - {"ollama"}))
def test_a_provider_is_asked_where_it_lives_with_its_own_key(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, variable = PROVIDERS[kind]
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv(variable, raising=False)
    with pytest.raises(BadInput, match=f"{variable} is not set"):
        resolve(parse_spec(f"{kind}/m"), None)
    with serve(lambda _body: completion("yes")) as served:
        monkeypatch.setenv(variable, "k-of-this-one")
        assert resolve(parse_spec(f"{kind}/m"), None).url == url
        model = open_model(f"{kind}/m", base_url=served.url)
        reply = asyncio.run(model.complete([{"role": "user", "content": "?"}]))
    assert (reply.text, served.headers[0]["authorization"]) == ("yes", "Bearer k-of-this-one")


def test_ollama_needs_no_key() -> None:
    assert resolve(parse_spec("ollama/qwen3"), None).url == "http://127.0.0.1:11434/v1"


def test_several_base_urls_are_refused_and_the_router_is_named() -> None:
    with pytest.raises(BadInput, match=r"one base URL, got 2 \(http://a/v1, http://b/v1\).*router"):
        open_model("vllm/m", base_url="http://a/v1,http://user:secret@b/v1/")
    assert resolve(parse_spec("vllm/m"), "http://a/v1, http://a/v1/").url == "http://a/v1"
