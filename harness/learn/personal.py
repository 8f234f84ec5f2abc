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

from harness.learn.tables import kinds, ordinary_words

_CAPITAL = r"[^\W\d_a-zß-öø-ÿ]"
_NAME = re.compile(
    rf"(?<![\w.@/<-]){_CAPITAL}[^\W\d_]+(?:['\u2019-]{_CAPITAL}[^\W\d_]+)?"
    rf"(?: (?:(?:d[aeiou]s?|von|van|der|den|bin|al|el|la|le|ter|[A-Z]\.) ){{0,2}}"
    rf"(?:{_CAPITAL}['\u2019])?{_CAPITAL}[^\W\d_]+(?:['\u2019-]{_CAPITAL}?[^\W\d_]+)*){{1,3}}(?![\w(])"
)
ACCOUNT = "account or money"
WORDS = {"health or belief", "user name", "name of a person"}
"""Kinds that can do without a digit."""
_LONE = re.compile(
    rf"(?<![\w.@/<-]){_CAPITAL}[^\W\d_]+(?=(?:'s (?:e?mail|number|address|phone|birthday|account))"
    r"| (?:said|says|wants?|wanted|asked|asks|called|calls|wrote|writes|told|reports|reported"
    r"|thinks|complained|complains|lives|lived|works|needs|signed|paid|ordered|moved|died|approved)\b)"
)
LONGEST = 2_000
"""Characters of a line that is looked at: longer ones were made by programs."""


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
    for kind, pattern, harmless in kinds():
        if not (digits or kind in WORDS):
            continue
        for match in pattern.finditer(line):
            value = next(filter(None, match.groupdict().values()), match[0]).strip()
            if not harmless.match(value) and (kind != ACCOUNT or check_digits_fit(value)):
                yield kind, value
    for match in (*_NAME.finditer(line), *_LONE.finditer(line)):
        words = [word for word in re.split(r"[ -]", match[0]) if word[:1].isupper()]
        odd = any(word in ordinary_words() or (word.isupper() and word[1:]) for word in words)
        if not odd and any(word in given_and_family_names() for word in words):
            yield "name of a person", match[0]


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
