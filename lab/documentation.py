"""The documentation as a site (`make site`): what MkDocs does beyond its settings in mkdocs.yml.

The table of `docs/index.md` is the navigation, and links that leave `docs/` name the file instead.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#\s:]+)((?:#[^)\s]*)?)\)")


def on_config(config: Any) -> Any:
    """Sections and pages as the index lists them, each page once."""
    folder = Path(config.docs_dir)
    listed: set[str] = set()
    nav: list[Any] = ["index.md"]
    for row in (folder / "index.md").read_text("utf-8").splitlines():
        if not row.startswith("| ") or "](" not in row:
            continue
        intent, links = row.strip("| ").split(" | ")
        section: list[str] = []
        for _, path, _ in LINK.findall(links):
            pages = sorted((folder / path).parent.glob("*.md")) if "decisions" in path else []
            section += [page.relative_to(folder).as_posix() for page in pages] or [path]
        new = [path for path in section if path not in listed]
        listed.update(new)
        nav.append({intent[0].upper() + intent[1:]: new})
    config.nav = nav
    return config


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """A link to a file of the repository that is no page becomes the file's name."""
    here = Path(page.file.abs_src_path).parent
    folder = Path(config.docs_dir)

    def named(match: re.Match[str]) -> str:
        text, path, _ = match.groups()
        target = (here / path).resolve()
        if target.is_relative_to(folder) or not target.exists():
            return match.group()
        name = f"`{target.relative_to(folder.parent)}`"
        return name if text.strip("`") in name else f"{text} ({name})"

    return LINK.sub(named, markdown)


def on_post_page(output: str, *, page: Any, config: Any) -> str:
    """The theme's search is a dialog without a name, which axe-core objects to."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"')
