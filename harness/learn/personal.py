"""Personal data in a text about to be sent: a list for a person to look at, nothing is replaced.

Numbers, addresses and dates are told by their form or by the words beside them (`personal.toml`);
names of people by two or more capitalised words, of which one is a given name or a family name
somewhere in the world.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from harness.learn.tables import kinds, ordinary_words, sign

# Kinds that can do without a digit.
WORDS = {"health or belief", "user name", "name of a person"}
LONGEST = 2_000  # characters of a line that is looked at: longer ones were made by programs


def personal_data(text: str) -> Iterator[tuple[int, str, str]]:
    """(line from 1, kind, value) of what looks like personal data, each value once."""
    seen: set[str] = set()
    lines = {line: number for number, line in reversed(list(enumerate(text.split("\n"), 1)))}
    for line, number in sorted(lines.items(), key=lambda pair: pair[1]):
        for kind, value in people_and_numbers(line[:LONGEST]):
            if value not in seen:
                seen.add(value)
                yield number, kind, value


def people_and_numbers(line: str) -> Iterator[tuple[str, str]]:
    """(kind, value) of what looks like personal data in one line."""
    digits = any(map(str.isdigit, line))
    for kind, by_name, pattern, harmless in kinds():
        if not (digits or kind in WORDS):
            continue
        for match in pattern.finditer(line):
            value = next(filter(None, match.groupdict().values()), match[0]).strip()
            fits = (
                is_person(value)
                if by_name
                else kind != "account or money" or check_digits_fit(value)
            )
            if fits and not harmless.match(value):
                yield kind, value


def is_person(value: str) -> bool:
    """Return True if a word of it is a name, and none is an abbreviation or a word of prose."""
    parts = re.split(r"[^\w'\u2019]|[_\d]", value.title() if value.islower() else value)
    words = [word for word in parts if word[:1].isupper()]
    odd = any(word in ordinary_words() or (word.isupper() and word[1:]) for word in words)
    listed, formed = given_and_family_names(), sign("like_a_name")
    return not odd and any(word in listed or formed.match(word) for word in words)


def check_digits_fit(value: str) -> bool:
    """Return True unless the check digits of an IBAN or a payment card are wrong."""
    bare = re.sub(r"[ -]", "", value).upper()
    if re.fullmatch(r"[A-Z]{2}\d\d[A-Z0-9]{11,30}", bare):
        return int("".join(str(int(char, 36)) for char in bare[4:] + bare[:4])) % 97 == 1
    if re.fullmatch(r"\d{13,19}", bare):
        doubled = (sum(divmod(2 * int(digit), 10)) for digit in bare[-2::-2])
        return (sum(map(int, bare[-1::-2])) + sum(doubled)) % 10 == 0 and bare[0] in "34569"
    return True


@cache
def given_and_family_names() -> frozenset[str]:
    """Given names and family names of some eighty locales."""
    from faker.providers import person

    names: set[str] = set()
    for locale in iter_modules(person.__path__):
        provider: Any = import_module(f"{person.__name__}.{locale.name}").Provider
        for field in dir(provider):
            listed: Any = getattr(provider, field)
            if re.match(r"(?:first|last)_\w*names", field) and not isinstance(listed, property):
                names.update(listed)
    return frozenset(names)
