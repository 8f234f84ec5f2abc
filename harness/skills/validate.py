"""Demands of all clients of a skill together, points for a reviewer, and sizes.

The union of the agentskills specification, skills-ref, `npx skills`, Gemini CLI, Codex and
Anthropic's packager, and of the limits that Trace2Skill sets itself.

Warnings about content are secrets, machine paths, injected instructions, hidden text, scripts: a
skill is text that a model obeys, and evolved skills come from traces that anybody may have written.
Each is a reason to look, not a proof.
"""

from __future__ import annotations

import base64
import binascii
import posixpath
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.core import BadInput, Value
from harness.core.redaction import find_secrets
from harness.skills.markdown import (
    KEYS,
    PLACEHOLDER,
    TOKENIZER,
    count_tokens,
    headings,
    render_header,
    scan,
    sections,
)
from harness.skills.skill import SKILL_FILE, Problem, Skill, error, load_skill, warning

MAX_LENGTHS = {"name": 64, "description": 1024, "compatibility": 500}
"""Key of the frontmatter -> its characters at most."""
_CUT = re.compile(r"([\w-]+):\s+(?![\"'|>#])\S.*?\s#")
_LONGEST = 2000
"""Characters of a link's target: without a bound, links that never end take quadratic time."""
_LINK = re.compile(rf"\]\(\s*+<?([^)\s>]{{1,{_LONGEST}}}+)>?[^)]{{0,{_LONGEST}}}+\)")
_MENTION = re.compile(r"(?<![\w./-])((?:references|scripts|assets)/[\w./-]*\.\w+)")
_ABSOLUTE = re.compile(
    r"(?<![\w.:/)}])(?:/(?:home|Users|root|mnt|tmp|var|opt|private|workspace)/[\w.-]+"
    r"|[A-Z]:[\\/](?!path[\\/])[\w.-]+|\\\\[\w.-]+\\[\w$.-]+)|\bfile:///\S"
)
_SECRET = re.compile(
    r"(?i)\b(?:password|passwd|secret|api[_-]?key|access[_-]?token|auth[_-]?token)\b"
    r"[\"']?\s*[:=]\s*[\"'](?!(?:your|my|the|xxx|\*|<|\$|\{|example|changeme))[^\"'\s]{8,}[\"']"
    r"|\bAIza[0-9A-Za-z_-]{35}\b|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]+"
    r"|\bhttps?://[^\s/:@]+:[^\s/:@]{3,}@[\w.-]+"
)
_PLACEHOLDER_LOGIN = re.compile(r"(?i)(?:pass(?:word|wd)?|pwd|secret)@")
"""In the address of an example, `user:password@host`."""
_OVERRIDE = (
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}"
    r"\b(?:previous|prior|above|earlier|system|all|your|safety)\b.{0,30}"
    r"\b(?:instructions?|prompts?|rules?|guidelines?|guardrails?|restrictions?)\b"
)
_SECRECY = (
    r"\b(?:do not|never|don't|without)\b.{0,20}\b(?:tell(?:ing)?|inform(?:ing)?|mention(?:ing)?"
    r"|notify(?:ing)?|alert(?:ing)?|reveal(?:ing)?)\b.{0,25}\b(?:users?|humans?|operators?)\b"
)
_ROLE = (
    r"<\|?(?:im_start|im_end|system|endoftext)\|?>|\[/?INST\]|<</?SYS>>"
    r"|\byou are now\b.{0,40}\b(?:mode|unrestricted|admin|jailbroken|dan)\b"
    r"|\bnew (?:system )?(?:instructions|prompt)\s*:"
)
_INJECTION = re.compile(f"(?i){_OVERRIDE}|{_SECRECY}|{_ROLE}")
_REMOTE_CODE = re.compile(
    r"(?i)\b(?:curl|wget)\b[^\n|;]*\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b"
    r"|\b(?:ba|z)?sh\s+<\(\s*(?:curl|wget)\b|\beval\s+\"?\$\(\s*(?:curl|wget)\b"
    r"|\bbase64\s+(?:-d|--decode|-D)\b[^\n]*\|\s*(?:ba|z)?sh\b"
    r"|\b(?:exec|eval)\s*\(\s*(?:requests|urllib|base64)\b"
)
_EXFILTRATION = re.compile(
    r"(?i)!\[[^\]]*\]\(\s*https?://[^)\s]*[?&][^)\s]*=[^)\s]*[{$<%][^)]*\)"
    r"|\bhttps?://[^\s)\"'`]*[?&/][^\s)\"'`]*(?:\$\(|\$\{?[A-Za-z_]|\{\{)"
    r"|\bcurl\b[^\n]*\s(?:-d|-F|-T|--data\S*|--form|--upload-file)[\s=@]"
    r"|\bwget\b[^\n]*--post-(?:data|file)\b|/dev/tcp/|\bn(?:c|cat)\s+-?\w*\s*[\w.-]+\s+\d{2,5}\b"
    r"|\b(?:webhook\.site|requestbin|pipedream\.net|ngrok(?:-free)?\.(?:io|app)|oast\.\w+"
    r"|interact\.sh|burpcollaborator\.net|transfer\.sh)\b"
    r"|\b(?:discord(?:app)?\.com/api/webhooks|hooks\.slack\.com/services)/"
)
_CREDENTIALS = re.compile(
    r"~?/?\.(?:ssh/(?:id_|authorized)|aws/credentials|netrc\b|kube/config|docker/config\.json)"
    r"|/etc/(?:passwd|shadow)\b|\b(?:printenv|env)\s*(?:\||>)"
)
_ON_LOAD = re.compile(r"(?:^|\s)!`[^`\n]+`")
_PERMISSIONS = re.compile(
    r"--dangerously-skip-permissions|--yolo\b|\brm\s+-\w*[rf]\w*\s+[~/](?:\s|$)"
)

_LINE_RULES = (
    (_ABSOLUTE, "absolute path: it will not exist elsewhere"),
    (_SECRET, "looks like a secret"),
    (_INJECTION, "reads like an injected instruction"),
    (_REMOTE_CODE, "runs code from elsewhere"),
    (_EXFILTRATION, "sends data to another host"),
    (_CREDENTIALS, "reads credentials of the machine"),
    (_ON_LOAD, "runs a command as soon as some clients load the skill"),
    (_PERMISSIONS, "switches protection off or deletes everything"),
)
_ORDERS = re.compile(
    r"(?i)\b(?:ignore|disregard|you (?:must|should|are)|do not|don't|never|always|send|upload|post"
    r"|run|execute|fetch|download|install|assistant|system prompt|secretly|instead of)\b"
)


# Zero-width and format characters, bidirectional controls, blank letters, tag characters and the
# variation selectors that can carry bytes. U+200D stays out: emoji are joined by it (see below).
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
    "|[\\w\\s]\u200d|\u200d[\\w\\s]"
)
_COMMENT = re.compile(
    r"<!--(?P<html>(?s:.*?))(?:-->|\Z)"
    r"|^[ ]{0,3}\[(?://|comment|_)\]:\s*\S+\s+(?P<link>.+)$",  # a link that nothing refers to
    re.IGNORECASE | re.MULTILINE,
)
_BASE64 = re.compile(r"(?<![\w/+-])[A-Za-z0-9+/_-]{64,}={0,2}")
_ESCAPES = re.compile(r"(?:\\x[0-9a-fA-F]{2}){16,}|(?:%[0-9a-fA-F]{2}){16,}")


class Limits(Value):
    """Sizes that a skill may not reach (lines, tokens) or pass (references).

    The lines and tokens are those of the agentskills specification and of the paper's
    guardrails; the official prompt allows five references, we allow twenty by default. `scripts`
    lets a patch write modules: for those that the harness made and ran, or that someone reviewed.
    """

    skill_lines: int = 500
    skill_tokens: int = 5000
    reference_lines: int = 300
    references: int = 20
    scripts: bool = False


def validate(skill: Skill, limits: Limits | None = None) -> list[Problem]:
    """Errors (some client or rule refuses the skill) and warnings, errors first."""
    problems = [
        *skill.warnings,
        *_frontmatter(skill),
        *_sizes(skill, limits or Limits()),
        *_structure(skill),
        *lint(skill),
    ]
    return sorted(set(problems), key=lambda row: (row.level, row.file, row.line or 0, row.message))


def _frontmatter(skill: Skill) -> Iterator[Problem]:
    if not skill.header:
        yield error("no frontmatter: the file must start with --- and name, description, ---", 1)
        return
    for key, value in skill.frontmatter.items():
        line = _line_of(skill, key)
        if key not in KEYS:
            yield error(f"key {key!r} is not one of {', '.join(KEYS)}", line)
        elif isinstance(value, Mapping) != (key == "metadata"):
            expected = "a map of text" if key == "metadata" else "text"
            yield error(f"{key!r} must be {expected}", line)
        elif isinstance(value, str):
            length = len(unicodedata.normalize("NFKC", value) if key == "name" else value)
            if length > MAX_LENGTHS.get(key, length):
                yield error(f"{key} has {length} characters (limit {MAX_LENGTHS[key]})", line)
    name, line = unicodedata.normalize("NFKC", skill.name), _line_of(skill, "name")
    if not name.strip():
        yield error("'name' is missing", line)
    elif not re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", name):
        yield error(f"name {name!r}: lower-case a-z, 0-9 and single inner hyphens only", line)
    if name.strip() and skill.directory not in (None, skill.name):
        yield error(f"name {name!r} differs from its directory {skill.directory!r}", line)
    description, line = skill.description, _line_of(skill, "description")
    if not description.strip():
        yield error("'description' is missing: it tells clients when to load the skill", line)
    if re.search(r"[<>]", description):
        yield error("description holds '<' or '>', which Anthropic's validator refuses", line)
    try:
        strict = render_header(skill.frontmatter)
    except BadInput as refusal:
        yield error(str(refusal), 1)
        return
    for number, line in enumerate(skill.header.split("\n"), 1):
        if match := _CUT.match(line):
            yield warning(
                f"{match[1]!r} ends before ' #', which begins a comment in YAML: quote the value",
                number,
            )
    if re.search(r":\s*[{\[]", skill.header) or "---" in skill.header.strip("-\n"):
        yield error("flow style or '---' inside the frontmatter: skills-ref refuses it", 1)
    elif strict != skill.header:
        yield warning("the frontmatter is not in the strict form; export rewrites it", 1)


def _line_of(skill: Skill, key: str) -> int:
    form = re.compile(rf"[\"']?{re.escape(key)}[\"']?\s*:")
    lines = enumerate(skill.header.split("\n"), 1)
    return next((number for number, line in lines if form.match(line)), 1)


def _line_count(text: str) -> int:
    return len(text.removesuffix("\n").split("\n"))


def _sizes(skill: Skill, limits: Limits) -> Iterator[Problem]:
    lines, tokens = _line_count(skill.text), count_tokens(skill.text)
    if lines >= limits.skill_lines:
        yield error(f"{lines} lines (must stay below {limits.skill_lines})")
    if tokens >= limits.skill_tokens:
        yield error(f"{tokens} tokens by {TOKENIZER} (must stay below {limits.skill_tokens})")
    references = [path for path in skill.files if path.startswith("references/")]
    if len(references) > limits.references:
        yield error(f"{len(references)} references (limit {limits.references})")
    for path in references:
        count = _line_count(skill.file_text(path) or "")
        if path.endswith(".md") and count >= limits.reference_lines:
            message = f"{count} lines (an evolution keeps it below {limits.reference_lines})"
            yield warning(message, file=path)
        if path.count("/") > 1:
            yield error("references lie one level deep, directly under references/", file=path)


def _structure(skill: Skill) -> Iterator[Problem]:
    if not skill.body.strip():
        yield error("no text under the frontmatter")
    names = Counter(path.casefold() for path in (SKILL_FILE, *skill.files))
    for path in skill.files:
        if names[path.casefold()] > 1:
            yield error(
                "another file has this name but for its case: one would replace it", 1, path
            )
    for path, lines in _markdown_files(skill):
        opened = scan(lines).open_fence
        if opened is not None:
            yield error("code fence is never closed", opened + 1, path)
        for start, _, _, title in headings(lines):
            if title.casefold() == PLACEHOLDER:
                yield error("placeholder heading 'New Section'", start + 1, path)
    for file, index, target in dangling(skill):
        if posixpath.normpath(posixpath.join(posixpath.dirname(file), target)).startswith(".."):
            message = f"link to {target!r} leads out of the skill: it is not shipped with it"
            yield warning(message, index + 1, file)
        else:
            yield error(f"link to {target!r}, which does not exist", index + 1, file)
    for path in orphans(skill):
        yield error("SKILL.md never names this file: no client would load it", file=path)


def _markdown_files(skill: Skill) -> Iterator[tuple[str, list[str]]]:
    for path in skill.all_files:
        text = skill.file_text(path) if path.endswith(".md") else None
        if text is not None:
            yield path, text.split("\n")


def links(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """(index of the line, path) of every relative link or mention outside code and comments.

    Mentions are paths such as `references/dates.md` in plain text or backticks.
    """
    rows = list(lines)
    for index, (line, kind) in enumerate(zip(rows, scan(rows).kinds, strict=True)):
        if kind == "text":
            paths = [
                target.split("#")[0].split("?")[0].removeprefix("./")
                for target in _LINK.findall(line)
                if not re.match(r"(?:[a-zA-Z][\w+.-]*:|#|/)", target)
            ]
            paths += _MENTION.findall(_LINK.sub(" ", line))
            yield from ((index, path) for path in dict.fromkeys(paths) if path)


def dangling(skill: Skill) -> list[tuple[str, int, str]]:
    """(file, index of the line, path) of links in Markdown files to files that are absent.

    References may link from the skill's root or from their own folder.
    """
    names = set(skill.all_files)
    folders = {name.rpartition("/")[0] for name in names}
    missing: list[tuple[str, int, str]] = []
    for file, lines in _markdown_files(skill):
        folder = file.rpartition("/")[0]
        for index, path in links(lines):
            candidates = {path}
            if folder:
                candidates |= {f"{folder}/{path}", path.removeprefix("../")}
            if not any(name in names or name.rstrip("/") in folders for name in candidates):
                missing.append((file, index, path))
    return missing


def orphans(skill: Skill) -> list[str]:
    """References that SKILL.md never names: no client would ever load them."""
    references = [path for path in skill.files if path.startswith("references/")]
    return [path for path in references if not mentions(skill.body, path)]


def mentions(text: str, path: str) -> bool:
    """Return True if `text` names the file `path`, in a link, in prose or in code."""
    return re.search(rf"(?<![\w/-]){re.escape(path)}(?![\w/-])", text) is not None


def lint(skill: Skill) -> Iterator[Problem]:
    """Warnings a reviewer should look at, line by line."""
    for path in skill.all_files:
        text = skill.file_text(path)
        if text is not None:
            yield from (warning(message, line, path) for line, message in lint_text(text))
            if text.startswith("#!") and path not in skill.executable:
                yield warning("has a #! line but no executable bit", 1, path)
    for path in sorted(skill.executable):
        if not skill.files[path].startswith((b"#!", b"\x7fELF")):
            yield warning("executable bit on a file that is no program", file=path)


def lint_text(text: str) -> Iterator[tuple[int, str]]:
    """(line from 1, warning) of any text: a file of a skill, or a lesson before it becomes one."""
    number, before = 1, 0
    for start in find_secrets(text):
        if _PLACEHOLDER_LOGIN.match(text, start):
            continue
        number, before = number + text.count("\n", before, start), start
        yield number, "looks like a secret"
    for number, line in enumerate(text.split("\n"), 1):
        yield from ((number, message) for pattern, message in _LINE_RULES if pattern.search(line))
        if _INVISIBLE.search(line):
            yield number, "invisible characters"
        if _ESCAPES.search(line) or any(map(_is_base64, _BASE64.findall(line))):
            yield number, "long encoded text: nobody can review what it says"
    for match in _COMMENT.finditer(text):
        if _ORDERS.search(match["html"] or match["link"] or ""):
            number = text.count("\n", 0, match.start()) + 1
            yield number, "a comment that gives orders: rendered pages hide it, models read it"


def _is_base64(text: str) -> bool:
    """Words and paths are long runs too: base64 mixes cases and digits, and decodes."""
    bare = text.rstrip("=")
    if re.fullmatch(r"[0-9a-fA-F]+", bare):
        return len(bare) > 128  # SHA-512 is 128 digits
    kinds = (any(map(str.isupper, bare)), any(map(str.islower, bare)), any(map(str.isdigit, bare)))
    if not all(kinds) or max(map(len, re.split(r"[^a-z]", bare))) > 12:
        return False
    plain = bare.replace("-", "+").replace("_", "/")
    try:
        base64.b64decode(plain[: len(plain) // 4 * 4], validate=True)
    except binascii.Error:
        return False
    return True


def summary(path: Path) -> dict[str, Any]:
    """Summarise the skill directory `path` and the cost of loading it.

    Tokens are those of the three tiers (catalogue, SKILL.md, files), by the tokenizer named; a
    file that is no text has None. Lines of the outline count from 1.
    """
    skill = load_skill(path)
    texts = {name: skill.file_text(name) for name in skill.files}
    return {
        "name": skill.name,
        "description": skill.description,
        "digest": skill.digest,
        "tokenizer": TOKENIZER,
        "catalogue_tokens": count_tokens(f"{skill.name}: {skill.description}"),
        "skill_tokens": count_tokens(skill.text),
        "skill_lines": _line_count(skill.text),
        "outline": [
            {"title": section.title, "level": section.level, "line": section.start + 1}
            for section in sections(skill.text)
        ],
        "files": [
            {
                "path": name,
                "bytes": len(skill.files[name]),
                "tokens": None if text is None else count_tokens(text),
            }
            for name, text in texts.items()
        ],
    }
