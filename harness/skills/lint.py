"""Warnings about content: secrets, machine paths, injected instructions, hidden text, scripts.

A skill is text that a model obeys, and evolved skills come from traces that anybody may have
written. The rules look for what a reviewer would miss; each is a reason to look, not a proof.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from harness.core.redaction import find_secrets
from harness.skills.hidden import comments, encoded_blobs, invisible
from harness.skills.types import Problem, Skill

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


def lint(skill: Skill) -> Iterator[Problem]:
    """Warnings a reviewer should look at, line by line."""
    for path in skill.all_files:
        text = skill.file_text(path)
        if text is not None:
            for line, message in lint_text(text):
                yield _warning(path, line, message)
            if text.startswith("#!") and path not in skill.executable:
                yield _warning(path, 1, "has a #! line but no executable bit")
    for path in sorted(skill.executable):
        if not skill.files[path].startswith((b"#!", b"\x7fELF")):
            yield _warning(path, None, "executable bit on a file that is no program")


def lint_text(text: str) -> Iterator[tuple[int, str]]:
    """(line from 1, warning) of any text: a file of a skill, or a lesson before it becomes one."""
    for secret in find_secrets(text):
        yield text[: text.index(secret)].count("\n") + 1, "looks like a secret"
    for number, line in enumerate(text.split("\n"), 1):
        for pattern, message in _LINE_RULES:
            if pattern.search(line):
                yield number, message
        if invisible(line):
            yield number, "invisible characters"
        if encoded_blobs(line):
            yield number, "long encoded text: nobody can review what it says"
    for number, comment in comments(text):
        if _ORDERS.search(comment):
            yield number, "a comment that gives orders: rendered pages hide it, models read it"


def _warning(file: str, line: int | None, message: str) -> Problem:
    return Problem(level="warning", file=file, line=line, message=message)
