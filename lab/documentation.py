"""The documentation as a site (`make site`): what MkDocs does beyond its settings in mkdocs.yml.

The tables of `docs/index.md` are the navigation; links that leave `docs/` name the file instead.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#\s:]+)((?:#[^)\s]*)?)\)")


def on_config(config: Any) -> Any:
    """Shelves and pages as the index lists them, each page once."""
    folder = Path(config.docs_dir)
    listed: set[str] = set()
    nav: list[Any] = ["index.md"]
    shelf = nav
    for row in (folder / "index.md").read_text("utf-8").splitlines():
        if row.startswith("## "):
            nav.append({row[3:]: (shelf := [])})
        pages: list[str] = []
        for _, path, _ in LINK.findall(row):
            others = sorted((folder / path).parent.glob("*.md")) if "decisions" in path else []
            pages += [page.relative_to(folder).as_posix() for page in others] or [path]
        new = [path for path in pages if path not in listed]
        listed.update(new)
        named = row.startswith("|") and len(new) > 1
        shelf += [{row.split(" | ")[0].strip("| ").capitalize(): new}] if named else new
    config.nav = nav
    return config


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """A link to a file of the repository that is no page becomes the file's name."""
    page_folder = Path(page.file.abs_src_path).parent
    folder = Path(config.docs_dir)

    def named(match: re.Match[str]) -> str:
        text, path, _ = match.groups()
        target = (page_folder / path).resolve()
        if target.is_relative_to(folder) or not target.exists():
            return match.group()
        name = f"`{target.relative_to(folder.parent)}`"
        return name if text.strip("`") in name else f"{text} ({name})"

    return LINK.sub(named, markdown)


def on_post_page(output: str, *, page: Any, config: Any) -> str:
    """The theme's search is a dialog without a name, which axe-core objects to."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"')
