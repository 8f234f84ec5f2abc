"""The form of the evolution's report: what it saves in a browser is what `review` applies."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.core import Edit
from harness.skills import (
    apply_review,
    load_skill,
    open_review,
    read_review,
    review_form,
    review_rows,
    rows_of,
    sources_of,
    take_decisions,
)
from tests.skills.evolved import evolve

# Stands in for the user: unticks the first edit, says why, presses the button, keeps the download.
USER = """<pre id="saved"></pre><script>
URL.createObjectURL = (blob) => {
  blob.text().then((text) => { document.getElementById("saved").textContent = text; });
  return "#";
};
const row = document.querySelector("tr[data-edit]");
row.querySelector("input[type=checkbox]").checked = false;
row.querySelector("input[type=text]").value = 'too "vague" <b>';
document.querySelector(".skill-review button").click();
</script>"""


def test_what_the_page_saves_is_applied(tmp_path: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no browser to open the report in")
    folder = evolve(tmp_path)
    review, version = open_review(folder)
    rows = rows_of(folder, review, version)
    page = tmp_path / "page.html"
    page.write_text(f"<!doctype html>{review_form(rows, version.digest)}{USER}")
    command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += [f"--user-data-dir={tmp_path}/browser", "--virtual-time-budget=2000"]
    done = subprocess.run(
        [*command, page.as_uri()], capture_output=True, text=True, timeout=60, check=True
    )
    saved = re.search(r'<pre id="saved">(.*?)</pre>', done.stdout, re.DOTALL)
    assert saved is not None
    path = tmp_path / "review.json"
    path.write_text(html.unescape(saved.group(1)))
    made = take_decisions(review, read_review(path), rows)
    result = apply_review(folder, made, version)
    assert [one.reason for one in result.rejected] == ['too "vague" <b>']
    assert len(result.approved) == 2
    assert "read back" not in load_skill(folder).text


def test_hostile_text_stays_text() -> None:
    attack = '</script><script>alert(1)</script><img src=x onerror="alert(2)">'
    edit = Edit(file="SKILL.md", op="add_section", content=attack, sources=(attack,))
    records = [{"trajectory_id": attack, "summary": attack, "evidence": [attack]}]
    rows = review_rows([edit], sources_of(records))
    text = review_form(rows, "d" * 64)
    assert text.count("<script>") == 1
    assert "<img" not in text
