"""Filling in forms of sentences by chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random


def fill_slots(form: str, slots: Mapping[str, Sequence[str]], chance: Random) -> str:
    """The form with every slot replaced, slot by slot, each time by another draw of its words."""
    for slot, words in slots.items():
        while slot in form:
            form = form.replace(slot, chance.choice(words), 1)
    return form


def capital(text: str) -> str:
    """The text with a capital at its beginning."""
    return text[0].upper() + text[1:]
