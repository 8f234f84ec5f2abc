"""Access to the page: this machine's browser, from this page, with the token.

A page of another origin cannot read the token; a name that was made to point to 127.0.0.1 is not
among the hosts; a form of another page cannot set the header that carries the token.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from harness.models import Refused, refuse_strangers

HEADER = "x-harness-token"
POLICY = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
}
"""Sent with every answer."""


class Guard:
    """Checks requests.

    Attributes:
        token: that every request of the page's script carries.
    """

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(24)

    def check(self, headers: Mapping[str, str], *, token: bool) -> None:
        """Let a request through.

        Args:
            headers: in lower case.
            token: whether it has to carry the token.

        Raises:
            Refused: if it is of another page, or lacks the token (HTTP 403).
        """
        refuse_strangers(headers)
        if token and not secrets.compare_digest(
            headers.get(HEADER, "").encode(), self.token.encode()
        ):
            raise Refused(403, "missing or wrong token: open the address that was printed")
