"""Reply forms go to servers that hold a model to them, and say nothing but a form."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from harness.models import Model
from harness.rag.check.blind import answers_format, pairs_format


def model(spec: str, constrains: bool) -> Model:
    return cast(Model, SimpleNamespace(spec=spec, simulated=False, constrains=constrains))


def test_other_endpoints_are_asked_in_words_alone() -> None:
    for spec in ("openai/x", "simulated/lookup", "replay/x.jsonl"):
        assert answers_format(model(spec, False), 2) is None
        assert pairs_format(model(spec, False)) is None


def test_the_embedded_engine_takes_them() -> None:
    local = model("local/smollm2-135m", True)
    for form in (answers_format(local, 3), pairs_format(local)):
        schema: Any = (form or {})["json_schema"]
        schema = schema["schema"]
        assert schema["type"] == "array"
    answers: Any = answers_format(local, 3)
    schema = answers["json_schema"]["schema"]
    assert schema["minItems"] == schema["maxItems"] == 3
    assert schema["items"]["required"] == ["evidence", "answer"]
