"""`harness doctor`: what this machine can do, and what to do about the rest."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import subprocess
from typing import TYPE_CHECKING, NamedTuple

import click

from harness.cli.options import json_option
from harness.cli.output import emit
from harness.core.plugins import load, plugins

if TYPE_CHECKING:
    from collections.abc import Iterator

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
EMBEDDED = "smollm2-135m"


class Finding(NamedTuple):
    """One thing that was looked at.

    Attributes:
        what: the thing.
        status: ok, missing (a feature is off), or warning (something may be wrong).
        found: what was found.
        remedy: what to do, "" if nothing.
    """

    what: str
    status: str
    found: str
    remedy: str = ""


@click.command()
@click.option("--refresh", is_flag=True, help="Probe the sandbox again instead of the cache.")
@json_option
def doctor(refresh: bool, as_json: bool) -> None:
    """Say what this machine can do, and what to do about the rest.

    Example: harness doctor
    """
    from harness.sandbox import preferred, probe_backends

    findings, reports = list(diagnose()), list(probe_backends(refresh=refresh))
    best = preferred(reports)
    lines = [
        f"{finding.status:8} {finding.what}: {finding.found}"
        + (f"\n           -> {finding.remedy}" if finding.remedy else "")
        for finding in findings
    ]
    lines += ["", f"sandbox: {best.name if best else 'none stops every attack'} is the default"]
    for report in reports:
        state = "admitted" if report.admitted else "off"
        speed = "" if report.spawn_ms is None else f", {report.spawn_ms:.0f} ms to start"
        stopped = f", stops {len(report.stopped)} attacks" if report.stopped else ""
        untried = "" if report.ever_run else ", never run by its authors"
        lines.append(f"  {report.name}: {state}{speed}{stopped}{untried}")
        if report.reason:
            lines.append(f"      {report.reason}")
        if report.escaped:
            lines.append(f"      lets through: {', '.join(report.escaped)}")
    result = {
        "findings": [finding._asdict() for finding in findings],
        "ladder": [report.model_dump(mode="json") for report in reports],
        "default_sandbox": best.name if best else None,
    }
    emit(result, as_json, "\n".join(lines))


def diagnose() -> Iterator[Finding]:
    """Look at this machine, its programs, the extras and the environment."""
    from harness.core import assets

    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    cores = f"{os.cpu_count()} cores"
    yield Finding("machine", "ok", f"Python {platform.python_version()}, {system}, {cores}")
    if shutil.which("soffice") or shutil.which("libreoffice"):
        yield Finding("LibreOffice", "ok", "found")
    else:
        remedy = "spreadsheets are scored without recalculation; apt-get install "
        remedy += "libreoffice-calc-nogui"
        yield Finding("LibreOffice", "missing", "no soffice on the PATH", remedy)
    if (tool := shutil.which("nvidia-smi")) is None:
        yield Finding("GPU", "missing", "no nvidia-smi: CPU only")
    else:
        listing = subprocess.run(
            [tool, "--query-gpu=name,memory.total", "--format=csv,noheader"],
            capture_output=True, text=True, check=False, timeout=20,
        )  # fmt: skip
        found = listing.stdout.strip().replace("\n", "; ")
        yield Finding("GPU", "ok" if found else "warning", found or "none answers")
    if "local" in plugins("weights"):
        path = load("weights", "local")(EMBEDDED)
        if path is not None:
            size = f"{path.stat().st_size / 1e6:.0f} MB in the cache"
            yield Finding(f"local/{EMBEDDED}", "ok", size)
        else:
            remedy = f"harness models pull {EMBEDDED}"
            yield Finding(f"local/{EMBEDDED}", "missing", "not fetched", remedy)
    for extra, module in EXTRAS.items():
        if importlib.util.find_spec(module):
            yield Finding(f"extra [{extra}]", "ok", module)
        else:
            remedy = f"pip install 'agent-skill-harness[{extra}]'"
            yield Finding(f"extra [{extra}]", "missing", f"no {module}", remedy)
    names = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "VLLM_BASE_URL")
    set_names = [name for name in names if os.environ.get(name)]
    yield Finding("endpoint", "ok", ", ".join(set_names) or "none set: local only")
    owners = importlib.metadata.packages_distributions().get("harness", [])
    strangers = sorted(set(owners) - {"agent-skill-harness"})
    if strangers:
        found = f"also installed by {', '.join(strangers)}"
        yield Finding("name `harness`", "warning", found, "use an environment of its own")
    else:
        yield Finding("name `harness`", "ok", f"assets in {assets.root().name}/")
