"""Static HTML pages: everything escaped, an undefined variable is an error."""

from __future__ import annotations

from pathlib import Path


def render_page(template: Path, **variables: object) -> str:
    """Render an HTML template of a room; its header comment lists the variables."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(template.parent), undefined=StrictUndefined, autoescape=True
    )
    return environment.get_template(template.name).render(**variables)
