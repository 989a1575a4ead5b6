"""Who may talk to the server: those who know the token, from a page of the server itself."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

#: Names of this machine that no other machine can take.
LOOPBACK = ("127.0.0.1", "localhost", "::1")
#: Nothing but the server's own scripts run, nothing is loaded from elsewhere, and only pages of this machine, such as a
#: notebook, may frame this one: they need the token for it.
#: Bokeh sets the looks of its parts by style elements and attributes.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors http://localhost:* http://127.0.0.1:*",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    # The address holds the token.
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True)
class Access:
    """What a request must bring along.

    Attributes
    ----------
    hosts
        Names, with ports, under which the server may be asked for.
    token
        A word that only those know who were given the address.
    """

    hosts: frozenset[str]
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    @classmethod
    def of(cls, host: str, port: int, also: Iterable[str] = ()) -> Access:
        """Return the access to a server on a host and port.

        Parameters
        ----------
        host
            What it listens on.
        port
            Its port.
        also
            Further names, with or without a port, for those behind a proxy or on a network.
        """
        names = {*LOOPBACK, host} - {"0.0.0.0", "::", ""}
        hosts = {_joined(name, port) for name in names}
        for name in also:
            has_port = urlsplit(f"//{name}").port is not None
            hosts |= {name.lower()} if has_port else {name.lower(), _joined(name, port)}
        return cls(frozenset(hosts))

    def knows_host(self, host: str | None) -> bool:
        """Tell whether a request asks for this server by one of its names: other names may lead here by a trick."""
        return host is not None and host.lower() in self.hosts

    def knows_origin(self, origin: str | None) -> bool:
        """Tell whether a page that opens a connection was served by this server."""
        return origin is not None and urlsplit(origin).netloc.lower() in self.hosts

    def knows_token(self, token: str | None) -> bool:
        """Tell whether a token is the right one, in a time that does not depend on it."""
        return token is not None and hmac.compare_digest(token.encode(), self.token.encode())


def _joined(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}".lower()
