"""The eight operations on one text file. Each changes the lines in place or withholds the edit.

Every function returns a note on how the edit was adapted, or None if the file already says it.
"""

from __future__ import annotations

import re

from harness.core import Edit
from harness.skills import document as doc
from harness.skills.document import Document, Line, Withhold
from harness.skills.markdown import find_sections, headings, scan

PLACEHOLDER = "new section"
_MARKDOWN_START = re.compile(r"^(?:[-*+] |\d+[.)] |#{2,6} |\*\*|`{3}|~{3}|\||> )")
_CONTINUES = re.compile(
    r"^(?:\s*(?:[-*+]|\d+[.)])\s|#{1,6}(?:\s|$)|\s*(?:`{3}|~{3})|\s*\||\s*<!--)"
)


def clean_content(content: str) -> list[str]:
    """Lines of an edit's content: LF, no blank edges, fences closed, no placeholder heading."""
    text = content.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    block = [line.rstrip() for line in text.split("\n")]
    while block and not block[0]:
        block.pop(0)
    while block and not block[-1]:
        block.pop()
    if not block:
        raise Withhold("empty content")
    if any(not (char.isprintable() or char == "\t") for line in block for char in line):
        raise Withhold("content holds control characters")
    if scan(["", *block]).open_fence is not None:
        raise Withhold("content opens a code fence and never closes it")
    if any(title.casefold() == PLACEHOLDER for *_, title in headings(["", *block])):
        raise Withhold("content holds the placeholder heading 'New Section'")
    return block


def append_to_section(lines: Document, edit: Edit, index: int) -> str | None:
    """Add text at the end of a section's own text; with headings, behind its subsections."""
    if not edit.target_section.strip():
        raise Withhold("append_to_section names no target_section")
    section = doc.the_section(lines, edit.target_section)
    block = _without_title(clean_content(edit.content), section.title)
    block, note = doc.adapt_headings(block, section.level)
    found = doc.find_block(lines, block, section.content, section.end)
    if found is not None:
        doc.claim(lines, found, found + len(block), index)
        return None
    marks = headings(doc.texts(lines))
    own_end = next((one[0] for one in marks if section.start < one[0] < section.end), section.end)
    starts_below = bool(headings(block)) and headings(block)[0][0] == 0
    end = section.end if starts_below else own_end
    while end > section.content and not lines[end - 1].text.strip():
        end -= 1
    doc.claim(lines, section.start, section.content, index)
    doc.insert_block(lines, end, block, index)
    return note


def add_section(lines: Document, edit: Edit, index: int) -> str | None:
    """Add a section behind `after_section` or at the end; one that exists is appended to."""
    block = clean_content(edit.content)
    heading = edit.target_section.strip()
    first = headings(block)
    if not heading and first and first[0][0] == 0:
        heading = f"{'#' * first[0][2]} {first[0][3]}"
    match = re.match(r"^(#{0,6})\s*(.+?)\s*$", heading)
    if not match or "\n" in heading:
        raise Withhold("add_section needs a heading in target_section")
    title = match.group(2)
    if title.casefold() == PLACEHOLDER:
        raise Withhold("'New Section' is a placeholder, not a heading")
    if find_sections(doc.texts(lines), heading):
        append = edit.model_copy(update={"target_section": heading})
        note = append_to_section(lines, append, index)
        return None if note is None else f"section existed: appended to it; {note}".rstrip("; ")
    has_top = any(mark[2] == 1 for mark in headings(doc.texts(lines)))
    level = max(len(match.group(1)) or 2, 2 if has_top else 1)
    body, note = doc.adapt_headings(_without_title(block, title), level)
    at, placed = _place_section(lines, edit.after_section, level)
    doc.insert_block(lines, at, [f"{'#' * level} {title}", "", *body], index)
    return "; ".join(filter(None, (note, placed)))


def _place_section(lines: Document, after: str, level: int) -> tuple[int, str]:
    at, note = len(lines), ""
    if after.strip():
        if find_sections(doc.texts(lines), after):
            section = doc.the_section(lines, after)
            # Never between a deeper section and its siblings: they would change parents.
            top = min(level, section.level)
            later = (m[0] for m in headings(doc.texts(lines)) if m[0] > section.start)
            levels = {m[0]: m[2] for m in headings(doc.texts(lines))}
            at = next((one for one in later if levels[one] <= top), len(lines))
        else:
            note = f"no section {after!r}: placed at the end"
    while at and not lines[at - 1].text.strip():
        at -= 1
    return at, note


def insert_at_anchor(lines: Document, edit: Edit, index: int) -> str | None:
    """insert_after and insert_before: whole lines beside the one that holds the anchor."""
    anchor = edit.target_text.strip("\n")
    if not anchor.strip():
        raise Withhold(f"{edit.op} with an empty target_text")
    block = clean_content(edit.content)
    start, end = doc.scope(lines, edit.target_section)
    found = doc.find_block(lines, block, start, end)
    first, last, _ = (
        doc.find_unique(lines, anchor, start, end, "target_text")
        if found is None
        else (found, found + len(block) - 1, 0)
    )
    if found is not None:
        doc.claim(lines, first, last + 1, index)
        return None
    if first < doc.front_length(lines):
        raise Withhold("the frontmatter is protected")
    at, note = _outside_code(lines, first, last, edit.op == "insert_after", block)
    doc.claim(lines, first, last + 1, index)
    doc.insert_block(lines, at, block, index)
    return note


def _outside_code(
    lines: Document, first: int, last: int, after: bool, block: list[str]
) -> tuple[int, str]:
    """Where to insert so that prose never lands in a code fence, a comment or a paragraph."""
    kinds = scan(doc.texts(lines)).kinds
    at = last + 1 if after else first
    inside = 0 < at < len(lines) and kinds[at - 1] == kinds[at] != "text"
    if inside and kinds[at] in ("code", "comment"):
        if not _MARKDOWN_START.match(block[0]):
            raise Withhold("the anchor lies in a code block: use replace_in_section there")
        kind = kinds[at]
        while 0 < at < len(lines) and kinds[at if after else at - 1] == kind:
            at += 1 if after else -1
        return at, f"moved out of the {kind} block"
    if after:
        row = lines[last].text.lstrip().startswith("|")
        while at < len(lines) and kinds[at] == "text" and lines[at].text.strip():
            same_table = row and lines[at].text.lstrip().startswith("|")
            if same_table and block[0].lstrip().startswith("|"):
                break
            if not same_table and (_CONTINUES.match(lines[at].text) or headings_at(lines, last)):
                break
            at += 1
    return at, ""


def headings_at(lines: Document, index: int) -> bool:
    """Whether line `index` belongs to a heading."""
    return any(start <= index < content for start, content, *_ in headings(doc.texts(lines)))


def replace_in_section(lines: Document, edit: Edit, index: int) -> str | None:
    """Replace the one occurrence of `old_text`; empty content removes it."""
    old = edit.old_text.strip("\n")
    if not old.strip():
        raise Withhold("replace_in_section with an empty old_text")
    new = "\n".join(clean_content(edit.content)) if edit.content.strip() else ""
    start, end = doc.scope(lines, edit.target_section)
    text = "\n".join(doc.texts(lines[start:end]))
    if new and new in text and old not in text.replace(new, "\x00"):
        first = start + text.count("\n", 0, text.index(new))
        doc.claim(lines, first, first + new.count("\n") + 1, index)
        return None
    first, last, offset = doc.find_unique(lines, old, start, end, "old_text")
    if first < doc.front_length(lines):
        raise Withhold("the frontmatter is protected")
    doc.refuse_claimed(lines, first, last + 1, index)
    line_start = text.rfind("\n", 0, offset) + 1
    tail = lines[last].text
    cut = offset + len(old)
    line_end = text.find("\n", cut)
    prefix = text[line_start:offset]
    suffix = text[cut : line_end if line_end >= 0 else len(text)] if tail else ""
    merged = (prefix + new + suffix).rstrip()
    lines[first : last + 1] = (
        [Line(one, index, frozenset({index})) for one in merged.split("\n")] if merged else []
    )
    return ""


def delete_section(lines: Document, edit: Edit, index: int) -> str | None:
    """Remove a heading and everything under it."""
    if not edit.target_section.strip():
        raise Withhold("delete_section names no target_section")
    section = doc.the_section(lines, edit.target_section)
    rest = doc.texts(lines[doc.front_length(lines) : section.start] + lines[section.end :])
    if not any(text.strip() for text in rest):
        raise Withhold("would leave the file empty")
    doc.refuse_claimed(lines, section.start, section.end, index)
    del lines[section.start : section.end]
    while section.start < len(lines) and section.start and not lines[section.start - 1].text:
        if lines[section.start].text:
            break
        del lines[section.start]
    return ""


def _without_title(block: list[str], title: str) -> list[str]:
    """Content that repeats the heading it goes under, without the repetition."""
    marks = headings(block)
    if not marks or marks[0][0] != 0:
        return block
    if " ".join(marks[0][3].split()).casefold() != " ".join(title.split()).casefold():
        return block
    rest = block[marks[0][1] :]
    while rest and not rest[0]:
        rest.pop(0)
    if not rest:
        raise Withhold("content is nothing but the heading")
    return rest


OPERATIONS = {
    "append_to_section": append_to_section,
    "add_section": add_section,
    "insert_after": insert_at_anchor,
    "insert_before": insert_at_anchor,
    "replace_in_section": replace_in_section,
    "delete_section": delete_section,
}
