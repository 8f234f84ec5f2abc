"""What the embedded engine accepts: a chat request, each parameter honoured or refused by name."""

from __future__ import annotations

import json
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator

from harness.models import Body, Refused

DEFAULT_MAX_TOKENS = 1024
"""Where a request sets none: a small model that loops must not fill its whole context."""

Form = TypeVar("Form", bound=BaseModel)
ANY_OBJECT = '{"type":"object"}'


class Rejected(Refused):
    """A request that cannot be honoured."""

    def __init__(self, param: str | None, message: str) -> None:
        super().__init__(400, message, param)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class TextPart(_Strict):
    """A part of a message that is text."""

    type: Literal["text"]
    text: str


class _Url(_Strict):
    url: str
    detail: Literal["auto", "low", "high"] = "auto"


class ImagePart(_Strict):
    """A part of a message that is an image."""

    type: Literal["image_url"]
    image_url: _Url


class _Message(_Strict):
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[TextPart]


class _VisionMessage(_Strict):
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[Annotated[TextPart | ImagePart, Field(discriminator="type")]]


class _StreamOptions(_Strict):
    include_usage: bool = False


class _Request(_Strict):
    model: str
    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, gt=0, le=1)
    max_tokens: int | None = Field(None, ge=1)
    seed: int | None = Field(None, ge=0)
    tools: list[JsonValue] | None = Field(None, max_length=0)


class VisionRequest(_Request):
    """Body of `POST /v1/chat/completions` of a vision model; other parameters are refused."""

    messages: list[_VisionMessage] = Field(min_length=1)
    stop: list[str] | None = None
    stream: Literal[False] | None = None


class ChatRequest(_Request):
    """Body of `POST /v1/chat/completions`.

    A parameter that is not listed here is refused. Of those that are, `n`, `logprobs` and `tools`
    are accepted with the value that asks for nothing, because clients send it.
    """

    messages: list[_Message] = Field(min_length=1)
    top_k: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    stop: str | list[str] | None = None
    presence_penalty: float | None = Field(None, ge=-2, le=2)
    frequency_penalty: float | None = Field(None, ge=-2, le=2)
    repetition_penalty: float | None = Field(None, gt=0)
    response_format: dict[str, JsonValue] | None = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    user: str | None = None
    n: Literal[1] | None = None
    logprobs: Literal[False] | None = None
    tool_choice: Literal["none", "auto"] | None = None

    @field_validator("stop")
    @classmethod
    def _stops_are_not_empty(cls, value: str | list[str] | None) -> str | list[str] | None:
        if value == "" or (isinstance(value, list) and "" in value):
            raise ValueError("expected stop strings, found an empty one")
        return value

    @property
    def conversation(self) -> list[dict[str, str]]:
        """The messages as role and text, in the form that the chat template takes."""
        return [
            {
                "role": "system" if message.role == "developer" else message.role,
                "content": message.content
                if isinstance(message.content, str)
                else "\n".join(part.text for part in message.content),
            }
            for message in self.messages
        ]

    @property
    def limit(self) -> int:
        """Tokens that may be generated."""
        return self.max_completion_tokens or self.max_tokens or DEFAULT_MAX_TOKENS

    def schema_text(self) -> str | None:
        """JSON schema that the answer must follow, as canonical text; None for free text.

        Raises:
            Rejected: if `response_format` is of no known form.
        """
        form = self.response_format
        if form is None or form == {"type": "text"}:
            return None
        if form == {"type": "json_object"}:
            return ANY_OBJECT
        inner = form.get("json_schema")
        if form.get("type") != "json_schema" or not isinstance(inner, dict):
            raise Rejected(
                "response_format",
                f"expected type text, json_object or json_schema, found {form!r}",
            )
        if not isinstance(inner.get("schema"), dict):
            raise Rejected(
                "response_format.json_schema.schema",
                f"expected a JSON schema, found {inner.get('schema')!r}",
            )
        return json.dumps(inner["schema"])


def parse(body: Body, form: type[Form]) -> Form:
    """Read a request body of a form.

    Raises:
        Rejected: naming the first parameter that cannot be honoured.
    """
    try:
        return form.model_validate(body)
    except ValidationError as error:
        first = error.errors()[0]
        param = ".".join(str(part) for part in first["loc"]) or "body"
        if first["type"] == "extra_forbidden":
            raise Rejected(param, f"{param}: the embedded engine has no such parameter") from error
        raise Rejected(param, f"{param}: {first['msg']}, found {first['input']!r:.80}") from error
