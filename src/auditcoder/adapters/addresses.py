"""Addresses of servers and databases: the secrets in them, and the address without those."""

import re
from urllib.parse import parse_qsl, urlsplit

_NAMES = "key|token|secret|password|auth|sig|code"
"""Parts of the names of parameters whose values are secrets."""
_PARAMETER = re.compile(rf"([?&;][^=&;\s]*(?:{_NAMES})[^=&;\s]*=)[^&;#\s]*", re.IGNORECASE)
_USER = re.compile(r"(?<=://)[^?#\s]*@")
"""Matches up to the last `@`: an unescaped password may have one, or a slash, too."""


def secrets_in(address: str) -> tuple[str, ...]:
    """Return user name and password of an address, alone and together, and secret parameters."""
    parts = urlsplit(address)
    user, password = parts.username or "", parts.password or ""
    named = re.compile(_NAMES, re.IGNORECASE)
    parameters = [value for name, value in parse_qsl(parts.query) if named.search(name)]
    together = f"{user}:{password}" if password else ""
    return tuple(secret for secret in (user, password, together, *parameters) if secret)


def without_secrets(address: str) -> str:
    """Return an address without its user name, password and keys, for display."""
    return _PARAMETER.sub(r"\1***", _USER.sub("***@", address))
