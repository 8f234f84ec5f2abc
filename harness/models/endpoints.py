"""Model spec strings, the same in every command, file and run record; and where they lead.

That is base URLs and a key, or a back end in this process.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args
from urllib.parse import parse_qsl, unquote, urlsplit

from harness.core import BadInput, Value, limit_async_reply
from harness.core.http import ACCEPTED, KEYLESS
from harness.core.plugins import load, plugins
from harness.models.types import Backend, Body, Refused, Role

if TYPE_CHECKING:
    import openai

    from harness.core.trust import Origin

OPENAI_URL = "https://api.openai.com/v1"
ADDRESSES = {
    "openai": ("OPENAI_BASE_URL", OPENAI_URL),
    "vllm": ("VLLM_BASE_URL", "http://127.0.0.1:8000/v1"),
}
"""Kind -> the variable that names its base URL, and the base URL without it."""
PROVIDERS = {
    "openai": (OPENAI_URL, "OPENAI_API_KEY"),
    "anthropic": ("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    "gemini": ("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    "mistral": ("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "groq": ("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "deepseek": ("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "openrouter": ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "ollama": ("http://127.0.0.1:11434/v1", ""),
}
"""Kind -> where a provider speaks the OpenAI protocol, and the variable of its key, if any."""
IDLE_S = 4.0
"""Seconds after which an idle connection is not used again."""
IN_PROCESS_URL = "http://in-process/v1"
KINDS = (*PROVIDERS, "vllm", "replay", "scripted")
"""Kinds of the spine; engines of wings and of other packages add theirs as plugins."""

DEFAULT_SPEC = "local/smollm2-135m"

_FORMS = """\
  openai/<model>       any OpenAI-compatible endpoint (--base-url, OPENAI_API_KEY)
  anthropic/<model>    and gemini/, mistral/, groq/, deepseek/, openrouter/, ollama/ (own keys)
  vllm/<model>         a vLLM server (--base-url or VLLM_BASE_URL)
  replay/<file>        recorded calls: a calls.sqlite or an exported .jsonl
  scripted/<file>      replies written in a .json or .jsonl file
  none                 of an agent that asks no model"""


class ModelSpec(Value):
    """Name of a model with its provider; `str()` gives the spec string back.

    Attributes:
        kind: what kind of endpoint.
        name: model name, file (replay, scripted) or profile.
    """

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}" if self.name else self.kind


def parse_spec(spec: str) -> ModelSpec:
    """Read a spec string such as `openai/gpt-4.1-mini`.

    Raises:
        BadInput: if the kind is unknown or the name is missing; the message lists the forms.
    """
    kind, _, name = spec.strip().partition("/")
    if spec.strip() == "none":
        return ModelSpec(kind="none", name="")
    if name and (kind in KINDS or kind in plugins("engines")):
        return ModelSpec(kind=kind, name=name)
    engines = "".join(f"\n  {engine}/<name>" for engine in plugins("engines"))
    raise BadInput(f"unknown model spec {spec!r}; expected one of\n{_FORMS}{engines}")


def parse_roles(specs: Sequence[str]) -> dict[Role, ModelSpec]:
    """Read `[ROLE=]SPEC` strings into the model of every role.

    A spec without a role is the model of all roles that are not named; without one it is
    `local/smollm2-135m`. The last string for a role counts.

    Raises:
        BadInput: for an unknown role or spec.
    """
    roles: tuple[Role, ...] = get_args(Role)
    kind, _, name = DEFAULT_SPEC.partition("/")
    default = ModelSpec(kind=kind, name=name)  # not parsed: its engine may be absent, and not asked
    by_role: dict[Role, ModelSpec] = {}
    for text in specs:
        role, equals, spec = text.partition("=")
        if not equals or "/" in role:
            default = parse_spec(text)
        elif role.strip() in roles:
            by_role[roles[roles.index(role.strip())]] = parse_spec(spec)
        else:
            raise BadInput(f"unknown role in {text!r}; expected one of {', '.join(roles)}")
    return {role: by_role.get(role, default) for role in roles}


@dataclass(frozen=True)
class Endpoint:
    """Address that requests are sent to.

    Attributes:
        kind: part of the cache key.
        model: model name on the wire.
        url: base URL. A user name, a password and a query go into the requests of
            :meth:`client_options` and are shown nowhere.
        key: API key, from the environment.
        key_variable: the variable it comes from, for messages.
        backend: answers in this process; None where the URLs are asked over HTTP.
        streams: whether the back end gives chunks where it is asked for a stream.
        slots: requests that the back end answers at one time; None where that is not known.
        simulated: whether a simulated or scripted model answers.
        constrains: whether replies can be held to a JSON schema, so that none is malformed. Of a
            recording: whether they were.
    """

    kind: str
    model: str
    url: str = IN_PROCESS_URL
    key: str = "EMPTY"
    key_variable: str = ""
    backend: Backend | None = None
    streams: bool = False
    slots: int | None = None
    simulated: bool = False
    constrains: bool = False
    given_url: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "given_url", self.url)
        object.__setattr__(self, "url", public_url(self.url))

    @property
    def official(self) -> bool:
        """True for OpenAI's own endpoint."""
        return self.kind == "openai" and self.url == OPENAI_URL

    def client_options(self) -> dict[str, Any]:
        """Return the options of a client of `openai`."""
        headers, query = credentials(self.given_url)
        return {
            "api_key": self.key,
            "base_url": self.url,
            "default_headers": headers,
            "default_query": query,
        }

    def client(self, concurrency: int) -> openai.AsyncOpenAI:
        """A client of the endpoint; it never retries by itself."""
        import openai

        usual: Any = openai.DEFAULT_CONNECTION_LIMITS
        most = max(concurrency, usual.max_connections or 0)
        # Many servers close a connection that was idle for five seconds: never race with them.
        limits = type(usual)(
            max_connections=most, max_keepalive_connections=most, keepalive_expiry=IDLE_S
        )
        # Below the client, aiohttp: its parser is compiled and its pool does not look at every
        # connection for every request; a call takes 1.1 ms less processor time.
        compiled = find_spec("aiohttp") is not None
        kind = openai.DefaultAioHttpClient if compiled else openai.DefaultAsyncHttpxClient
        return openai.AsyncOpenAI(
            max_retries=0,
            http_client=kind(
                limits=limits,
                headers=ACCEPTED,
                event_hooks={"response": [limit_async_reply]},
                follow_redirects=False,  # prompts go where the user sends them
            ),
            **self.client_options(),
        )


def resolve(spec: ModelSpec, base_url: str | None) -> Endpoint:
    """Find the endpoint of a spec.

    Raises:
        BadInput: for a missing key, a base URL that is none, an unknown embedded model, profile,
            script or recording.
    """
    keyless = (base_url or "").endswith(KEYLESS)
    match spec.kind:
        case kind if kind in PROVIDERS:
            default, variable = PROVIDERS[kind]
            url = _url(base_url, kind)
            key = "" if keyless else os.environ.get(variable, "")
            if variable and not key and url == default:
                raise BadInput(
                    f"{spec}: {variable} is not set; set it, or name another endpoint with "
                    "--base-url"
                )
            return Endpoint(kind, spec.name, url, key or "EMPTY", variable)
        case "vllm":
            url = _url(base_url, "vllm")
            key = "EMPTY" if keyless else os.environ.get("VLLM_API_KEY") or "EMPTY"
            return Endpoint("vllm", spec.name, url, key, "VLLM_API_KEY", constrains=True)
        case "replay":
            from harness.models.replay import Recording

            recording = Recording(Path(spec.name))
            return Endpoint(
                "replay",
                "recorded",
                backend=recording.answer,
                simulated=recording.simulated,
                constrains=recording.constrained,
            )
        case "scripted":
            from harness.models.scripted import Script

            script = Script(Path(spec.name))
            return Endpoint("scripted", script.name, backend=script.answer, simulated=True)
        case "none":
            return Endpoint("none", "none", backend=_refuse)
        case _:
            return load("engines", spec.kind)(spec, base_url)


async def _refuse(body: Body) -> Body:
    raise Refused(400, "this run has no model (--model none), and was asked")


def _url(base_url: str | None, kind: str) -> str:
    """The base URL that is meant; that of an earlier run is kept without credentials, which the
    variable may still have.
    """
    environment, default = _default_urls(kind)
    if base_url and environment and base_url == public_url(environment):
        return check_url(environment)
    return check_url(base_url or environment or default)


def _default_urls(kind: str) -> tuple[str, str]:
    """The base URL that the environment names for a kind (or ""), and the usual one (or "")."""
    variable, default = ADDRESSES.get(kind) or ("", PROVIDERS.get(kind, ("", ""))[0])
    return os.environ.get(variable, ""), default


def foreign_url(origin: Origin, spec: str, url: str) -> str:
    """The base URL that a file from elsewhere names for a model, if it may be asked.

    Raises:
        BadInput: see :meth:`harness.core.trust.Origin.address`.
    """
    environment, default = _default_urls(spec.partition("/")[0])
    return origin.address(url, public_url(environment) or default)


def check_url(text: str) -> str:
    """Return a base URL without a slash at its end.

    Raises:
        BadInput: if it is none, or several.
    """
    parts = (part.strip().rstrip("/") for part in text.split(","))
    urls = {public_url(part): part for part in parts if part}
    if len(urls) > 1:
        raise BadInput(
            f"expected one base URL, got {len(urls)} ({', '.join(urls)}): requests are no longer "
            "balanced here; let vLLM serve the copies behind one address (--data-parallel), or put "
            "its router before the servers"
        )
    url = next(iter(urls.values()), text)
    if not url.startswith(("http://", "https://")):
        raise BadInput(f"expected a base URL such as {OPENAI_URL}, got {public_url(url)!r}")
    return url


def public_url(url: str) -> str:
    """A URL, or several with commas, without user names, passwords, queries and fragments."""
    addresses: list[str] = []
    for part in url.split(","):
        scheme, slashes, address = part.partition("://")
        host, slash, path = re.split(r"[?#]", address, maxsplit=1)[0].partition("/")
        bare = f"{scheme}{slashes}{host.rpartition('@')[2]}{slash}{path}"
        addresses.append(bare if slashes else part)
    return ",".join(addresses)


def credentials(url: str) -> tuple[dict[str, str], dict[str, str]]:
    """Headers and parameters of the query that stand for what :func:`public_url` leaves out."""
    parts = urlsplit(url)
    headers: dict[str, str] = {}
    if parts.username is not None:
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Authorization"] = f"Basic {base64.b64encode(login.encode()).decode()}"
    return headers, dict(parse_qsl(parts.query, keep_blank_values=True))
