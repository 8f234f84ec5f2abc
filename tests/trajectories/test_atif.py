"""ATIF v1.8: what the format accepts is accepted and written back; what it refuses is refused."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from harness.core import Trajectory

AGENT = {"name": "a", "version": "1"}
STEP = {"step_id": 1, "source": "user", "message": "hi"}
FULL: dict[str, Any] = {
    "schema_version": "ATIF-v1.8",
    "session_id": "s",
    "trajectory_id": "t",
    "agent": {
        **AGENT,
        "model_name": "m",
        "tool_definitions": [{"type": "function", "function": {"name": "bash"}}],
        "extra": {"k": None},
    },
    "steps": [
        {
            "step_id": 1,
            "source": "user",
            "timestamp": "2026-11-21T05:00:00Z",
            "message": [
                {"type": "text", "text": "look"},
                {"type": "image", "source": {"media_type": "image/png", "path": "a.png"}},
                {
                    "type": "audio",
                    "source": {"media_type": "audio/wav", "path": "a.wav", "duration_sec": 1.5},
                },
            ],
            "is_copied_context": True,
        },
        {
            "step_id": 2,
            "source": "agent",
            "model_name": "m2",
            "reasoning_effort": "high",
            "message": "",
            "reasoning_content": "hm",
            "tool_calls": [
                {
                    "tool_call_id": "c1",
                    "function_name": "bash",
                    "arguments": {"command": "ls", "n": None},
                    "extra": {"retry": 1},
                }
            ],
            "observation": {
                "results": [
                    {
                        "source_call_id": "c1",
                        "content": [{"type": "text", "text": "out"}],
                        "subagent_trajectory_ref": [{"trajectory_id": "sub"}],
                        "extra": {"score": 0.5},
                    }
                ]
            },
            "metrics": {
                "prompt_tokens": 3,
                "completion_tokens": 2,
                "cached_tokens": 1,
                "cost_usd": 0.25,
                "prompt_token_ids": [1, 2, 3],
                "completion_token_ids": [4, 5],
                "logprobs": [-0.5, -1.5],
                "extra": {},
            },
            "llm_call_count": 1,
            "extra": {"x": [1, {"y": None}]},
        },
        {"step_id": 3, "source": "agent", "message": "go", "llm_call_count": 0},
    ],
    "notes": "n",
    "final_metrics": {"total_prompt_tokens": 3, "total_steps": 3, "extra": {}},
    "continued_trajectory_ref": "next.json",
    "extra": {"any": "thing"},
    "subagent_trajectories": [
        {
            "schema_version": "ATIF-v1.7",
            "trajectory_id": "sub",
            "agent": AGENT,
            "steps": [STEP],
        }
    ],
}


def _document(**changes: Any) -> dict[str, Any]:
    return {"schema_version": "ATIF-v1.8", "agent": AGENT, "steps": [STEP], **changes}


def _round_trip(document: dict[str, Any]) -> dict[str, Any]:
    return Trajectory.model_validate(document).model_dump(mode="json", exclude_none=True)


def test_every_field_comes_back() -> None:
    assert _round_trip(FULL) == FULL


def test_a_document_without_id_comes_back_without() -> None:
    assert _round_trip(_document()) == _document()
    assert _round_trip(_document(trajectory_id=None)) == _document()
    assert Trajectory.model_validate(_document()).trajectory_id == ""


@pytest.mark.parametrize("number", range(9))
def test_older_versions_are_read(number: int) -> None:
    document = _document(schema_version=f"ATIF-v1.{number}")
    assert _round_trip(document) == document


def test_aliases_of_audio_types_become_the_registered_one() -> None:
    part = {"type": "audio", "source": {"media_type": " Audio/MP3", "path": "a"}}
    made = _round_trip(_document(steps=[{**STEP, "message": [part]}]))
    assert made["steps"][0]["message"][0]["source"]["media_type"] == "audio/mpeg"


FORBIDDEN: list[tuple[dict[str, Any], str]] = [
    ({"schema_version": "ATIF-v9"}, "schema_version"),
    ({"steps": []}, "at least 1"),
    ({"steps": [{**STEP, "step_id": 2}]}, "expected step_id 1"),
    ({"steps": [{**STEP, "timestamp": "yesterday"}]}, "isoformat"),
    ({"steps": [{**STEP, "metrics": {}}]}, "no place"),
    ({"steps": [{**STEP, "source": "agent", "llm_call_count": 0, "metrics": {}}]}, "no place"),
    ({"steps": [{**STEP, "message": [{"type": "text"}]}]}, "a text part"),
    (
        {
            "steps": [
                {
                    **STEP,
                    "message": [
                        {"type": "image", "source": {"media_type": "audio/wav", "path": "a"}}
                    ],
                }
            ]
        },
        "media_type",
    ),
    (
        {"steps": [{**STEP, "observation": {"results": [{"source_call_id": "c"}]}}]},
        "not among",
    ),
    ({"subagent_trajectories": [_document()]}, "id of its own"),
    (
        {"subagent_trajectories": [_document(trajectory_id="x"), _document(trajectory_id="x")]},
        "id of its own",
    ),
    ({"unknown": 1}, "Extra inputs"),
]


@pytest.mark.parametrize(("changes", "message"), FORBIDDEN)
def test_what_the_format_forbids_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Trajectory.model_validate(_document(**changes))
