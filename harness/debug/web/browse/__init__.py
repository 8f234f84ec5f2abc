"""Finished work in the page: eval runs, their samples and transcripts, evolutions and lineage."""

from __future__ import annotations

from harness.debug.web.browse.answers import Browsing
from harness.debug.web.browse.copy import write_copy
from harness.debug.web.browse.library import Kept, Library

__all__ = ["Browsing", "Kept", "Library", "write_copy"]
