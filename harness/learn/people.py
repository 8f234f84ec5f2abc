"""What in a log a person wrote, and what clients write in that person's name."""

from __future__ import annotations

import re

from harness.core import Step, Trajectory
from harness.trajectories import content_text

_INTERRUPTED = re.compile(r"\[Request interrupted by user(?: for tool use)?\]")
_ABORTED = re.compile(r"<turn_aborted>")
_TOLD = (
    "<command-name>", "<command-message>", "<command-args>", "<local-command-", "Caveat: ",
    "<system-reminder>", "<task-notification>", "<user-prompt-submit-hook>", "Stop hook feedback",
    "This session is being continued from a previous conversation", "<environment_context>",
    "<user_instructions>", "<INSTRUCTIONS>", "# AGENTS.md instructions", "<permissions",
    "<collaboration_mode>", "<skill>", "<user_shell_command>", "<subagent_notification>",
    "<model_switch>",
)  # fmt: skip
_REMINDER = re.compile(r"<(system-reminder|ide_\w+)>.*?</\1>", re.S)
_INPUT = re.compile(r"<bash-input>(.*?)</bash-input>", re.S)
_OUTPUT = re.compile(r"<bash-stdout>(.*?)</bash-stdout>(?:<bash-stderr>(.*?)</bash-stderr>)?", re.S)


def interruption(step: Step) -> bool:
    """Whether a step says that the user stopped the agent."""
    own = (step.extra or {}).get("harness")
    if isinstance(own, dict) and own.get("codex") == "turn_aborted":
        return content_text(step.message) == "interrupted"
    text = content_text(step.message).strip()
    return step.source == "user" and bool(_INTERRUPTED.fullmatch(text) or _ABORTED.match(text))


def is_told(step: Step) -> bool:
    """Whether a client wrote this message in the user's name."""
    own = (step.extra or {}).get("harness")
    if isinstance(own, dict) and own.get("claude_code") in ("meta", "compact"):
        return True
    return content_text(step.message).lstrip().startswith(_TOLD)


def shell_input(text: str) -> str | None:
    """The command that the user ran from the prompt (`! command`)."""
    found = _INPUT.search(text)
    return found.group(1).strip() if found and not _OUTPUT.search(text) else None


def shell_output(text: str) -> str | None:
    """What such a command printed."""
    found = _OUTPUT.search(text)
    return "\n".join(part for part in found.groups() if part) if found else None


def prompts(trajectory: Trajectory) -> list[str]:
    """What the user asked, without what clients add to it."""
    found: list[str] = []
    for step in trajectory.steps:
        text = content_text(step.message)
        if step.source != "user" or is_told(step) or interruption(step):
            continue
        if shell_input(text) is not None or shell_output(text) is not None:
            continue
        if said := _REMINDER.sub("", text).strip():
            found.append(said)
    return found
