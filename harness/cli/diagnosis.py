"""What this machine can do: the facts behind `harness doctor`."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import subprocess
from typing import Literal

from harness.core import Value, assets
from harness.engines import is_pulled, location
from harness.sandbox import BackendReport, preferred, probe_backends

Status = Literal["ok", "missing", "warning"]
EXTRAS = {
    "local": "openvino_genai",
    "rag": "faiss",
    "vqa": "rapidocr",
    "gpu": "vllm",
    "ray": "ray",
    "math": "math_verify",
    "otel": "prometheus_client",
    "web": "fastapi",
}


class Finding(Value):
    """One thing that was looked at.

    Attributes:
        what: the thing.
        status: ok, missing (a feature is off), or warning (something may be wrong).
        found: what was found.
        remedy: what to do, "" if nothing.
    """

    what: str
    status: Status
    found: str
    remedy: str = ""


class Diagnosis(Value):
    """Findings, and the back ends of the sandbox.

    Attributes:
        findings: one per thing looked at.
        ladder: every back end of the sandbox.
        default_sandbox: the back end that `auto` takes, None if none stops every attack.
    """

    findings: tuple[Finding, ...]
    ladder: tuple[BackendReport, ...]
    default_sandbox: str | None


def diagnose(*, refresh: bool = False) -> Diagnosis:
    """Look at this machine; `refresh` probes the sandbox again."""
    reports = tuple(probe_backends(refresh=refresh))
    best = preferred(reports)
    findings = (
        _machine(),
        _libreoffice(),
        _gpu(),
        _embedded_model(),
        *_extras(),
        _keys(),
        _name_clash(),
    )
    return Diagnosis(findings=findings, ladder=reports, default_sandbox=best.name if best else None)


def _machine() -> Finding:
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    found = f"Python {platform.python_version()}, {system}, {os.cpu_count()} cores"
    return Finding(what="machine", status="ok", found=found)


def _libreoffice() -> Finding:
    path = shutil.which("soffice") or shutil.which("libreoffice")
    if path:
        return Finding(what="LibreOffice", status="ok", found="found")
    return Finding(
        what="LibreOffice",
        status="missing",
        found="no soffice on the PATH",
        remedy="spreadsheets are scored without recalculation; apt-get install "
        "libreoffice-calc-nogui",
    )


def _gpu() -> Finding:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return Finding(what="GPU", status="missing", found="no nvidia-smi: CPU only")
    listing = subprocess.run(
        [tool, "--query-gpu=name,memory.total", "--format=csv,noheader"],
        capture_output=True, text=True, check=False, timeout=20,
    )  # fmt: skip
    found = listing.stdout.strip().replace("\n", "; ")
    return Finding(what="GPU", status="ok" if found else "warning", found=found or "none answers")


def _embedded_model() -> Finding:
    name = "smollm2-135m"
    if is_pulled(name):
        size = location(name).stat().st_size / 1e6
        return Finding(what=f"local/{name}", status="ok", found=f"{size:.0f} MB in the cache")
    return Finding(
        what=f"local/{name}",
        status="missing",
        found="not fetched",
        remedy=f"harness models pull {name}",
    )


def _extras() -> tuple[Finding, ...]:
    return tuple(
        Finding(what=f"extra [{extra}]", status="ok", found=module)
        if importlib.util.find_spec(module)
        else Finding(
            what=f"extra [{extra}]",
            status="missing",
            found=f"no {module}",
            remedy=f"pip install 'agent-skill-harness[{extra}]'",
        )
        for extra, module in EXTRAS.items()
    )


def _keys() -> Finding:
    names = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "VLLM_BASE_URL")
    found = [name for name in names if os.environ.get(name)]
    return Finding(what="endpoint", status="ok", found=", ".join(found) or "none set: local only")


def _name_clash() -> Finding:
    owners = importlib.metadata.packages_distributions().get("harness", [])
    others = sorted(set(owners) - {"agent-skill-harness"})
    if others:
        return Finding(
            what="name `harness`",
            status="warning",
            found=f"also installed by {', '.join(others)}",
            remedy="use an environment of its own",
        )
    return Finding(what="name `harness`", status="ok", found=f"assets in {assets.root().name}/")
