"""Models: specs, the OpenAI-compatible client, cache, budget, embedded engine, simulator."""

from __future__ import annotations

from harness.models.budget import Budget, Spend
from harness.models.calls import CallStore, SentCall, StoredCall
from harness.models.client import ChatModel, open_model
from harness.models.prices import Price, price_of
from harness.models.recordings import export_calls, import_calls
from harness.models.specs import DEFAULT_SPEC, ModelSpec, parse_roles, parse_spec
from harness.models.types import Message, Model, ModelCall, Reply, Role, Sampling

__all__ = [
    "DEFAULT_SPEC",
    "Budget",
    "CallStore",
    "ChatModel",
    "Message",
    "Model",
    "ModelCall",
    "ModelSpec",
    "Price",
    "Reply",
    "Role",
    "Sampling",
    "SentCall",
    "Spend",
    "StoredCall",
    "export_calls",
    "import_calls",
    "open_model",
    "parse_roles",
    "parse_spec",
    "price_of",
]
