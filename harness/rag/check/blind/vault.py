"""What the Checker must not see, and the assertion that it does not: on the request as sent."""

from __future__ import annotations

from collections.abc import Sequence

from harness.core import HarnessError, render
from harness.models import Message
from harness.rag.check.blind.leaks import Leak, leaks_of


class Leaked(HarnessError):
    """A request to a Checker held something of the response; it was not sent (exit code 1)."""


class Vault:
    """The response under check and the values claimed of it.

    Fails closed: before it is sealed no request to a Checker passes.
    """

    def __init__(self) -> None:
        self._response: str | None = None
        self._values: tuple[tuple[str, ...], ...] = ()

    def seal(self, response: str, values: Sequence[Sequence[str]]) -> None:
        """Remember what must not leave; `values` are those that each request asks for."""
        self._response, self._values = response, tuple(tuple(one) for one in values)

    def leaks(
        self, messages: Sequence[Message], passages: Sequence[str], request: int = 0
    ) -> list[Leak]:
        """What the messages hold of the response, their documents and fixed words taken out.

        Args:
            messages: as they are sent.
            passages: documents that are in them.
            request: position of the request among those sealed.

        Raises:
            Leaked: if the vault was not sealed.
        """
        if self._response is None:
            raise Leaked("no response was sealed: a Checker may not be asked yet")
        text = "\n".join(str(message.get("content", "")) for message in messages)
        values = self._values[request]
        return leaks_of(_without_fixed(text, passages), values, self._response)

    def assert_blind(
        self, messages: Sequence[Message], passages: Sequence[str], request: int = 0
    ) -> None:
        """Raise :class:`Leaked` if the messages hold anything of the response."""
        found = self.leaks(messages, passages, request)
        if found:
            raise Leaked(f"a request to the Checker leaks a {found[0].kind}: {found[0].what!r}")


def _without_fixed(text: str, passages: Sequence[str]) -> str:
    """The text without the documents, which may say anything, and the words of the template.

    The documents are taken out as one block, as they were rendered: taken out one by one, a
    passage such as "3" would take pieces out of questions as well.
    """
    with_none = render("march_check", passages=passages, questions=())
    head, _, tail = with_none.rpartition("<questions>")
    if text.startswith(head):
        text = text[len(head) :].removeprefix("<questions>")
        return text.removesuffix(tail) if tail in text else text.removesuffix("</questions>")
    return text
