"""vLLM started, watched and stopped: profiles, command line, replicas, warm-up, figures.

vLLM is never imported here: it runs in an interpreter of its own choosing (`--python`), as a
process group of its own.
"""

from __future__ import annotations

from harness.models.vllm.command import Launch, check_arguments, command_line
from harness.models.vllm.figures import Figures, read_figures
from harness.models.vllm.fleet import Fleet, serve
from harness.models.vllm.profile import ServingProfile, find_profile, shipped_profiles

__all__ = [
    "Figures",
    "Fleet",
    "Launch",
    "ServingProfile",
    "check_arguments",
    "command_line",
    "find_profile",
    "read_figures",
    "serve",
    "shipped_profiles",
]
