"""Every extra resolves, at the newest versions and at the lower bounds we claim."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

EXTRAS = (
    "rag", "gpu",
    *(pytest.param(name, marks=pytest.mark.full)
      for name in ("local", "openvino", "vqa", "ray", "math", "otel", "web", "dev")),
)  # fmt: skip
"""What the index has changes without us; constraints/ holds what is installed."""
# Elastic- or AGPL-licensed packages that must never come along.
UNWANTED = {"langgraph-api", "langgraph-runtime-inmem", "pymupdf", "pymupdf4llm", "ultralytics"}


def project(repository: Path) -> dict[str, dict[str, list[str]]]:
    return tomllib.loads((repository / "pyproject.toml").read_text())["project"]


def resolve(repository: Path, out: Path, extra: str, resolution: str) -> dict[str, Version]:
    uv = Path(sys.executable).parent / "uv"
    subprocess.run(
        [uv, "pip", "compile", "-q", "--extra", extra, "--resolution", resolution,
         "--python-version", "3.11", "pyproject.toml", "-o", out],
        cwd=repository, check=True, capture_output=True, text=True,
    )  # fmt: skip
    pins = re.findall(r"^([A-Za-z0-9._-]+)==(\S+)", out.read_text(), re.MULTILINE)
    return {name.lower(): Version(version) for name, version in pins}


@pytest.mark.parametrize("resolution", ["highest", "lowest-direct"])
@pytest.mark.parametrize("extra", EXTRAS)
def test_extra_resolves_within_its_bounds(
    repository: Path, tmp_path: Path, extra: str, resolution: str
) -> None:
    found = resolve(repository, tmp_path / "pins.txt", extra, resolution)
    table = project(repository)
    wanted = [*table["dependencies"], *table["optional-dependencies"][extra]]
    for text in wanted:
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate():
            assert requirement.specifier.contains(found[requirement.name.lower()]), text
    assert not UNWANTED & found.keys()
    if extra == "gpu":
        # A fastapi range that is too narrow makes resolvers fall back to an old vllm silently.
        assert found["vllm"] >= Version("0.32")


def test_core_is_light(repository: Path, tmp_path: Path) -> None:
    found = resolve(repository, tmp_path / "pins.txt", "web", "highest")
    assert not {"torch", "transformers", "faiss-cpu", "ray", "vllm", "openvino"} & found.keys()
