"""The operations of a patch on one text file, whose lines remember which edit they come from.

Every operation changes the lines in place or withholds the edit; it returns a note on how the edit
was adapted, or None if the file already says it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.core import Edit
from harness.skills.markdown import PLACEHOLDER, Section, find_sections, headings, scan

_ITEM = r"\s*(?:[-*+]|\d+[.)])\s"
_MARKDOWN_START = re.compile(r"^(?:[-*+] |\d+[.)] |#{2,6} |\*\*|`{3}|~{3}|\||> )")
_CONTINUES = re.compile(rf"^(?:{_ITEM}|#{{1,6}}(?:\s|$)|\s*(?:`{{3}}|~{{3}})|\s*\||\s*<!--)")


class Withhold(Exception):
    """An edit cannot be applied; the message says why."""


@dataclass(frozen=True)
class Line:
    """One line.

    Attributes:
        owner: index of the edit that wrote it, None for the skill's own text.
        claims: edits that rely on it (their text or their anchor); others may not remove it.
    """

    text: str
    owner: int | None = None
    claims: frozenset[int] = frozenset()


Document = list[Line]


def document(text: str) -> Document:
    """The lines of a text, without its last line end."""
    return [Line(line) for line in text.removesuffix("\n").split("\n")]


def written_by(edit: int, block: Sequence[str]) -> Document:
    """Lines that an edit wrote, and that it relies on."""
    return [Line(text, edit, frozenset({edit})) for text in block]


def render(lines: Document) -> str:
    """The text of a document, ending in one line end."""
    return "\n".join(texts(lines)).rstrip("\n") + "\n"


def texts(lines: Document) -> list[str]:
    """The plain lines."""
    return [line.text for line in lines]


def front_length(lines: Document) -> int:
    """Count the lines of the frontmatter."""
    return scan(texts(lines)).kinds.count("frontmatter")


def claim(lines: Document, start: int, end: int, edit: int) -> None:
    """Mark lines that `edit` relies on."""
    lines[start:end] = [replace(line, claims=line.claims | {edit}) for line in lines[start:end]]


def refuse_claimed(lines: Document, start: int, end: int, edit: int) -> None:
    """Withhold an edit that would remove lines which another edit wrote or relies on."""
    claimants = sorted({number for line in lines[start:end] for number in line.claims} - {edit})
    if claimants:
        raise Withhold(f"touches the same lines as edit {', '.join(map(str, claimants))}, kept")


def clean_content(content: str) -> list[str]:
    """Lines of an edit's content: LF, no blank edges, fences closed, no placeholder heading."""
    lines = re.sub(r"\r\n?", "\n", content).split("\n")
    text = "\n".join(line.rstrip() for line in lines).strip("\n")
    block = text.split("\n")
    if not text:
        raise Withhold("empty content")
    if any(not (char.isprintable() or char in "\t\n") for char in text):
        raise Withhold("content holds control characters")
    if scan(["", *block]).open_fence is not None:
        raise Withhold("content opens a code fence and never closes it")
    if any(title.casefold() == PLACEHOLDER for *_, title in headings(["", *block])):
        raise Withhold("content holds the placeholder heading 'New Section'")
    return block


def _section(lines: Document, name: str) -> Section:
    """The one section called `name`."""
    matches = find_sections(texts(lines), name)
    if not matches:
        raise Withhold(f"no section {name!r}")
    if len(matches) > 1:
        paths = "; ".join(" > ".join(match.path) for match in matches)
        raise Withhold(f"{len(matches)} sections are called {name!r}: name the path ({paths})")
    return matches[0]


def _scope(lines: Document, name: str) -> tuple[int, int]:
    """Range of lines an edit may look at: its section, else everything behind the frontmatter."""
    if not name.strip():
        return front_length(lines), len(lines)
    section = _section(lines, name)
    return section.start, section.end


def _find_unique(
    lines: Document, passage: str, start: int, end: int, field: str
) -> tuple[int, int, int]:
    """(first line, last line, offset in the range's text) of the only occurrence of `passage`."""
    text = "\n".join(texts(lines[start:end]))
    count = text.count(passage)
    if count != 1:
        reason = f"occurs {count} times" if count else "is not in the file"
        raise Withhold(f"{field} {reason}: {passage!r}")
    offset = text.index(passage)
    first = start + text.count("\n", 0, offset)
    return first, first + passage.count("\n"), offset


def _already_there(lines: Document, block: list[str], start: int, end: int, edit: int) -> bool:
    """Find `block` as whole lines in the range, and claim them if so."""
    plain = texts(lines)
    for index in range(start, end - len(block) + 1):
        if plain[index : index + len(block)] == block:
            claim(lines, index, index + len(block), edit)
            return True
    return False


def _insert(lines: Document, index: int, block: Sequence[str], edit: int) -> None:
    """Insert lines, with a blank line around them unless a list or table goes on."""
    new = written_by(edit, block)
    before = lines[index - 1].text if index else ""
    after = lines[index].text if index < len(lines) else ""
    if before.strip() and not _goes_on(before, block[0]):
        new.insert(0, Line("", edit))
    if after.strip() and not _goes_on(block[-1], after):
        new.append(Line("", edit))
    lines[index:index] = new


def _goes_on(upper: str, lower: str) -> bool:
    if upper.lstrip().startswith("|") and lower.lstrip().startswith("|"):
        return True
    return bool(re.match(rf"{_ITEM}|\s+\S", upper) and re.match(_ITEM, lower))


def _adapt_headings(block: list[str], above: int) -> tuple[list[str], str]:
    """(block with every heading below level `above`, note): the outline stays as it was."""
    marks = headings(block)
    shift = max(0, above + 1 - min((mark[2] for mark in marks), default=7))
    if not shift:
        return block, ""
    adapted = list(block)
    for start, content, level, title in reversed(marks):
        adapted[start:content] = [f"{'#' * min(6, level + shift)} {title}"]
    return adapted, f"headings demoted by {shift}"


def _without_title(block: list[str], title: str) -> list[str]:
    """Content that repeats the heading it goes under, without the repetition."""
    marks = headings(block)
    if not marks or marks[0][0] != 0:
        return block
    if " ".join(marks[0][3].split()).casefold() != " ".join(title.split()).casefold():
        return block
    text = "\n".join(block[marks[0][1] :]).lstrip("\n")
    if not text:
        raise Withhold("content is nothing but the heading")
    return text.split("\n")


def append_to_section(lines: Document, edit: Edit, index: int) -> str | None:
    """Add text at the end of a section's own text; with headings, behind its subsections."""
    if not edit.target_section.strip():
        raise Withhold("append_to_section names no target_section")
    section = _section(lines, edit.target_section)
    block = _without_title(clean_content(edit.content), section.title)
    block, note = _adapt_headings(block, section.level)
    if _already_there(lines, block, section.content, section.end, index):
        return None
    end = section.end
    if not any(start == 0 for start, *_ in headings(block)):
        starts = (mark[0] for mark in headings(texts(lines)))
        end = next((start for start in starts if section.start < start < end), end)
    while end > section.content and not lines[end - 1].text.strip():
        end -= 1
    claim(lines, section.start, section.content, index)
    _insert(lines, end, block, index)
    return note


def add_section(lines: Document, edit: Edit, index: int) -> str | None:
    """Add a section behind `after_section` or at the end; one that exists is appended to."""
    block = clean_content(edit.content)
    heading = edit.target_section.strip()
    marks = headings(block)
    if not heading and marks and marks[0][0] == 0:
        heading = f"{'#' * marks[0][2]} {marks[0][3]}"
    match = re.match(r"^(#{0,6})\s*(.+?)\s*$", heading)
    if not match or "\n" in heading:
        raise Withhold("add_section needs a heading in target_section")
    title = match.group(2)
    if title.casefold() == PLACEHOLDER:
        raise Withhold("'New Section' is a placeholder, not a heading")
    if find_sections(texts(lines), heading):
        append = edit.model_copy(update={"target_section": heading})
        note = append_to_section(lines, append, index)
        return None if note is None else f"section existed: appended to it; {note}".rstrip("; ")
    has_top = any(mark[2] == 1 for mark in headings(texts(lines)))
    level = max(len(match.group(1)) or 2, 2 if has_top else 1)
    body, note = _adapt_headings(_without_title(block, title), level)
    end, placed = _section_end(lines, edit.after_section, level)
    _insert(lines, end, [f"{'#' * level} {title}", "", *body], index)
    return "; ".join(filter(None, (note, placed)))


def _section_end(lines: Document, after: str, level: int) -> tuple[int, str]:
    """(line where a new section of that level goes, note)."""
    end, note = len(lines), ""
    if after.strip() and find_sections(texts(lines), after):
        section = _section(lines, after)
        # Never between a deeper section and its siblings: they would change parents.
        top = min(level, section.level)
        later = (mark for mark in headings(texts(lines)) if mark[0] > section.start)
        end = next((start for start, _, depth, _ in later if depth <= top), end)
    elif after.strip():
        note = f"no section {after!r}: placed at the end"
    while end and not lines[end - 1].text.strip():
        end -= 1
    return end, note


def insert_at_anchor(lines: Document, edit: Edit, index: int) -> str | None:
    """insert_after and insert_before: whole lines beside the one that holds the anchor."""
    anchor = edit.target_text.strip("\n")
    if not anchor.strip():
        raise Withhold(f"{edit.op} with an empty target_text")
    block = clean_content(edit.content)
    start, end = _scope(lines, edit.target_section)
    if _already_there(lines, block, start, end, index):
        return None
    first, last, _ = _find_unique(lines, anchor, start, end, "target_text")
    position, note = _outside_code(lines, first, last, edit.op == "insert_after", block)
    claim(lines, first, last + 1, index)
    _insert(lines, position, block, index)
    return note


def _outside_code(
    lines: Document, first: int, last: int, after: bool, block: list[str]
) -> tuple[int, str]:
    """Find a line for prose that lies in no code fence, comment or paragraph."""
    kinds = scan(texts(lines)).kinds
    index = last + 1 if after else first
    kind = kinds[index] if 0 < index < len(lines) else "text"
    if kind in ("code", "comment") and kinds[index - 1] == kind:
        if not _MARKDOWN_START.match(block[0]):
            raise Withhold("the anchor lies in a code block: use replace_in_section there")
        while 0 < index < len(lines) and kinds[index if after else index - 1] == kind:
            index += 1 if after else -1
        return index, f"moved out of the {kind} block"
    if after:
        in_table = lines[last].text.lstrip().startswith("|")
        marks = headings(texts(lines))
        in_heading = any(start <= last < content for start, content, *_ in marks)
        while index < len(lines) and kinds[index] == "text" and lines[index].text.strip():
            if in_table and lines[index].text.lstrip().startswith("|"):
                if block[0].lstrip().startswith("|"):
                    break
            elif in_heading or _CONTINUES.match(lines[index].text):
                break
            index += 1
    return index, ""


def replace_in_section(lines: Document, edit: Edit, index: int) -> str | None:
    """Replace the one occurrence of `old_text`; empty content removes it."""
    old = edit.old_text.strip("\n")
    if not old.strip():
        raise Withhold("replace_in_section with an empty old_text")
    new = "\n".join(clean_content(edit.content)) if edit.content.strip() else ""
    start, end = _scope(lines, edit.target_section)
    text = "\n".join(texts(lines[start:end]))
    if new and new in text and old not in text.replace(new, "\x00"):
        first = start + text.count("\n", 0, text.index(new))
        claim(lines, first, first + new.count("\n") + 1, index)
        return None
    first, last, offset = _find_unique(lines, old, start, end, "old_text")
    refuse_claimed(lines, first, last + 1, index)
    prefix = text[:offset].rpartition("\n")[2]
    suffix = text[offset + len(old) :].partition("\n")[0]
    merged = (prefix + new + suffix).rstrip()
    lines[first : last + 1] = written_by(index, merged.split("\n")) if merged else []
    return ""


def delete_section(lines: Document, edit: Edit, index: int) -> str | None:
    """Remove a heading and everything under it."""
    if not edit.target_section.strip():
        raise Withhold("delete_section names no target_section")
    start, end = _scope(lines, edit.target_section)
    if not any(line.text.strip() for line in lines[front_length(lines) : start] + lines[end:]):
        raise Withhold("would leave the file empty")
    refuse_claimed(lines, start, end, index)
    del lines[start:end]
    while 0 < start < len(lines) and not lines[start - 1].text and not lines[start].text:
        del lines[start]
    return ""


OPERATIONS = {
    "append_to_section": append_to_section,
    "add_section": add_section,
    "insert_after": insert_at_anchor,
    "insert_before": insert_at_anchor,
    "replace_in_section": replace_in_section,
    "delete_section": delete_section,
}
