"""Command lines as the programs that they start, read by the grammar of bash.

The parser is tree-sitter's; here stands which of its nodes matter, and what programs do to files.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from harness.learn.tables import runners, sign
from harness.trajectories.lenient import load

if TYPE_CHECKING:
    from tree_sitter import Node

_ATTACHED = ("file_redirect", "heredoc_body")
_NO_WORDS = ("variable_assignment", "herestring_redirect")
_QUIET = {"cd", "export", "source", ".", "set", "pushd", "echo", "true"}
Change = tuple[tuple[str, ...], str | None, str, bool]


@dataclass(frozen=True)
class Program:
    """One program that a command line starts.

    Attributes:
        text: its name and arguments, quotes resolved; expansions stand as they were written.
        words: the same, apart.
        folder: that it starts in, from the line's own `cd`s; None if that cannot be told.
        writes: files that its redirections write.
        script: text of its here-document.
        source: its line as it was typed, redirections left out.
    """

    text: str
    words: tuple[str, ...]
    folder: str | None
    writes: tuple[str, ...] = ()
    script: str = ""
    source: str = ""

    @property
    def name(self) -> str:
        """The program, without the folder that it lies in."""
        return posixpath.basename(self.words[0])

    @property
    def bare(self) -> str:
        """Its text, without what wraps it."""
        wrapper = sign("wrappers").match(self.text)
        return self.text[wrapper.end() if wrapper else 0 :].strip()

    @property
    def again(self) -> str:
        """Its source without what wraps it, but with the variables that say where code lies."""
        wrapper = sign("wrappers").match(self.source)
        variables = sign("code_variables").findall(wrapper[0]) if wrapper else []
        return " ".join([*variables, self.source[wrapper.end() if wrapper else 0 :]])

    @property
    def tests(self) -> str:
        """The command that runs tests, without what wraps it; "" if it runs none."""
        runs = runners("command").match(self.bare) and not sign("no_run").search(self.bare)
        return self.bare if runs else ""

    @property
    def target(self) -> str | None:
        """The folder that its tests are of; None if that cannot be told."""
        sent = sign("sent").search(self.text)
        return joined(self.folder, (sent[1] or sent[2]) if sent else "")


class Line(NamedTuple):
    """A command line.

    Attributes:
        programs: in order.
        alone: whether the line ends with the status of its only program that can fail.
        chained: whether the line ends well only if every program in it did.
        folder: that the line leaves the shell in, None if that cannot be told.
    """

    programs: tuple[Program, ...]
    alone: bool
    chained: bool
    folder: str | None


@cache
def parse(line: str, folder: str | None = "") -> Line:
    """The programs of a command line that starts in `folder`, those of its functions too."""
    reader = _Reader(folder)
    root = _tree(line.strip(), "bash")
    reader.walk(root)
    ran, several = reader.programs, root.named_child_count > 1
    loud = [program for program in ran if program.name not in _QUIET]
    is_alone = len(loud) == 1 and loud[0] is ran[-1] and not reader.kinds & {"||", "|", "|&", "&"}
    chained = not (several or reader.kinds & {"||", "|", "|&", "&", ";"})
    return Line(tuple(ran), is_alone, chained, reader.folder)


def _tree(text: str, language: str) -> Node:
    from tree_sitter import Language, Parser

    grammar = import_module(f"tree_sitter_{language}")
    parser = Parser(Language(grammar.language()))  # pyright: ignore[reportDeprecated]  # untyped
    return parser.parse(text.encode("utf-8", "replace")).root_node


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def joined(folder: str | None, path: str) -> str | None:
    """A path seen from a folder; None if that cannot be told."""
    if folder is None or sign("untold").search(path):
        return None
    return posixpath.normpath(posixpath.join(folder, path)) if path else folder


class _Reader:
    def __init__(self, folder: str | None) -> None:
        self.programs: list[Program] = []
        self.kinds: set[str] = set()
        self.folder = folder

    def walk(self, node: Node) -> None:
        before = self.folder
        self.kinds.add(node.type)
        if node.type == "command":
            words = [_word(child) for child in node.named_children if child.type not in _NO_WORDS]
            if words[:1] in (["cd"], ["pushd"]):
                self.folder = joined(self.folder, words[-1]) if len(words) > 1 else None
            if inner := sign("inner").match(" ".join(words)):
                self.walk(_tree(inner[1], "bash"))
            elif words:
                source = _text(node)
                self.programs.append(
                    Program(" ".join(words), tuple(words), self.folder, source=source)
                )
        elif node.type in _ATTACHED and self.programs:
            last = self.programs.pop()
            document = node.type == "heredoc_body"
            written = not document and any(
                ">" in c.type and c.type[-1:] != "&" for c in node.children
            )
            writes = (*last.writes, _word(node.children[-1])) if written else last.writes
            script = _text(node) if document else last.script
            self.programs.append(replace(last, writes=writes, script=script))
        else:
            late = node.type == "heredoc_redirect"  # what follows on its line stands in it
            for child in sorted(node.children, key=lambda c: late and c.type not in _ATTACHED):
                self.walk(child)
        if node.type in ("subshell", "command_substitution"):
            self.folder = before


def _word(node: Node) -> str:
    if node.type in ("string", "concatenation", "command_name"):
        return "".join(_word(child) for child in node.children if child.type != '"')
    text = _text(node)
    if node.type == "raw_string":
        return text[1:-1]
    return text.replace('\\"', '"') if node.type == "string_content" else text.replace("\\", "")


def changes(program: Program) -> Iterator[Change]:
    """List a program's changes to files that are work: (paths, replaced, inserted, hidden).

    A path that cannot be told is "", replaced text that the line does not show is None, and hidden
    is a change of what was there before.
    """
    elsewhere, words = sign("elsewhere").match, program.words[1:]
    files = [word for word in words if not (word.startswith("-") or elsewhere(word))]
    written = [*program.writes, *(files if program.name == "tee" else ())]
    if work := [path for path in written if not elsewhere(path)]:
        yield tuple(work), None, program.script, False
    work = [path for path in files if "." in path.strip(".")]
    code = program.script or ("" if words[:1] not in (("-c",), ("-e",)) else " ".join(words[1:2]))
    if sign("in_place").match(program.text):
        pairs = [match.group(2, 3) for word in words if (match := sign("substitution").match(word))]
        renames = pairs and all(sign("renaming").match(text) for pair in pairs for text in pair)
        old, new = ("\n".join(pair[side] for pair in pairs) for side in (0, 1))
        targets = [path for path in work if not sign("substitution").match(path)]
        yield tuple(targets or [""]), old if pairs else None, new, not renames
    elif sign("interpreters").match(program.name):
        if sign("writing").search(code):
            yield tuple(dict.fromkeys(sign("literal").findall(code))) or ("",), None, "", True
    elif does := sign("changing").match(program.text):
        copied = tuple(path for path in words[-1:] if not elsewhere(path))
        if paths := ("",) if does[3] else copied if does[2] else tuple(work):
            yield paths, None, "", True


def called_tools(script: str) -> Iterator[tuple[str, dict[str, str]]]:
    """(name, arguments) of every tool that a script of Codex's code mode calls.

    A text alone lies under `input`; what only running the script could tell is "".
    """
    names: dict[str, Node] = {}
    waiting = [_tree(script, "javascript")]
    while waiting:
        node = waiting.pop()
        waiting += reversed(node.children)
        if node.type == "variable_declarator":
            names[_text(node.children[0])] = node.children[-1]
        if node.type == "call_expression" and (call := sign("tool").match(_text(node))):
            values = node.children[-1].named_children
            pairs = values[0].named_children if values and values[0].type == "object" else ()
            arguments = {_text(p.children[0]).strip("'\""): _literal(p.children[-1], names)
                     for p in pairs if p.children}  # fmt: skip
            yield call[1], arguments or {"input": _literal(node.children[-1], names)}


def _literal(node: Node, names: dict[str, Node]) -> str:
    text = _text(node)
    if node.type == "identifier" and text in names:
        return _literal(names[text], {key: names[key] for key in names if key != text})
    if node.type == "escape_sequence":
        return str(load(f'"{text}"'.encode()) or text[1:])
    if node.type in ("string_fragment", "number"):
        return text
    joint = "\n" if node.type == "array" else ""
    return joint.join(_literal(child, names) for child in node.named_children)
