"""Results as JUnit XML, which build servers show."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True)
class JUnitCase:
    """One test case.

    Attributes:
        name: of the case.
        kind: failure where the answer is no, error where there is none; None if it passed.
        message: why, in one line.
        type: class of the failure or error.
        text: longer account of it.
        seconds: how long it took.
    """

    name: str
    kind: Literal["failure", "error"] | None = None
    message: str = ""
    type: str = ""
    text: str = ""
    seconds: float | None = None


def junit(suites: Mapping[str, Iterable[JUnitCase]]) -> str:
    """The document, a `testsuite` for each name; what XML has no form for becomes U+FFFD."""
    root = ElementTree.Element("testsuites")
    for name, cases in suites.items():
        suite = ElementTree.SubElement(root, "testsuite", name=_clean(name))
        for case in cases:
            element = ElementTree.SubElement(
                suite, "testcase", classname=_clean(name), name=_clean(case.name)
            )
            if case.seconds is not None:
                element.set("time", f"{case.seconds:.3f}")
            if case.kind is not None:
                verdict = ElementTree.SubElement(element, case.kind, message=_clean(case.message))
                if case.type:
                    verdict.set("type", case.type)
                verdict.text = _clean(case.text)
        counts = {"tests": "testcase", "failures": "failure", "errors": "error"}
        suite.attrib.update({key: str(len(list(suite.iter(tag)))) for key, tag in counts.items()})
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True)


def _clean(text: str) -> str:
    return _CONTROL.sub("\ufffd", text)
