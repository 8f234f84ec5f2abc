"""Warnings about content: secrets, machine paths, injected instructions, hidden text, scripts.

A skill is text that a model obeys, and evolved skills come from traces that anybody may have
written. The rules look for what a reviewer would miss; each is a reason to look, not a proof.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from harness.core.redaction import find_secrets
from harness.skills.types import Problem, Skill, warning

_ABSOLUTE = re.compile(
    r"(?<![\w.:/])(?:/(?:home|Users|root|mnt|tmp|var|opt|private|workspace)/[\w.-]+"
    r"|[A-Z]:[\\/][\w.-]+|\\\\[\w.-]+\\[\w$.-]+)|\bfile:///\S"
)
_SECRET = re.compile(
    r"(?i)\b(?:password|passwd|secret|api[_-]?key|access[_-]?token|auth[_-]?token)\b"
    r"[\"']?\s*[:=]\s*[\"'](?!(?:your|my|the|xxx|\*|<|\$|\{|example|changeme))[^\"'\s]{8,}[\"']"
    r"|\bAIza[0-9A-Za-z_-]{35}\b|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]+"
    r"|\bhttps?://[^\s/:@]+:[^\s/:@]{3,}@[\w.-]+"
)
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
    for secret in find_secrets(text):
        yield text.count("\n", 0, text.index(secret)) + 1, "looks like a secret"
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
