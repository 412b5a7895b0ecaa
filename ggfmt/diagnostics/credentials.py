"""Credentials in URIs and settings, which are shown nowhere."""

from __future__ import annotations

import re

# The second form is a password with a slash in it, which a URI should not have but that of an object store may; one
# slash before it makes what somebody took for a URI.
_CREDENTIALS = re.compile(r"(?<=:/)(/[^/@\s]+|/?[^/@:\s]+:(?!\d+(?:/|$))[^@\s]+)@")


_CONTAINERS = ("abfs:/", "abfss:/", "wasb:/", "wasbs:/")  # before the `@` is a container of Azure


MASK = "***"
_WORDS = r"(?:passw(?:or)?d|pwd|passphrase|secret|credential|token|(?:access|account|api|private|encryption)[._-]?key)"
_SECRET_KEY = re.compile(_WORDS, re.IGNORECASE)
_NO_SECRET = re.compile(r"include(?:gg)?tokens?$", re.IGNORECASE)
# `jdbc:oracle:thin:user/password@host`, which is no URI.
_ORACLE = re.compile(r"(?<=jdbc:oracle:)(thin:|oci8?:)[^\s/@]*/(?:\"[^\"]*\"|[^\s@])+@", re.IGNORECASE)
# `password=x`, `"password": "x"`, and the signature of a link that Azure signed.
_ASSIGNED = re.compile(
    rf"((?:{_WORDS}[\w.-]{{0,80}}|(?<=[?&])sig)(?:[\"']?\s*=\s*|[\"']\s*:\s*))"
    r"(\"[^\"]*\"?|'[^']*'?|[^\s&;,\"'`)]+)",
    re.IGNORECASE,
)
_HARMLESS = re.compile(r"[\"']?(?:true|false|\*\*\*|\$\{[^}]*\}|[A-Z_]+)?[\"']?")


def names_secret(key: str) -> bool:
    """Whether a key is one of passwords, tokens and the like."""
    return _SECRET_KEY.search(key) is not None and _NO_SECRET.search(key) is None


def secret_start(line: str) -> int | None:
    """Where the word ends in a line that says that a secret follows; None if there is none."""
    found = _SECRET_KEY.search(line)
    return None if found is None else found.end()


def without_credentials(text: str) -> str:
    """The text without secrets: the user and the password are left out of every URI, and what a text assigns to
    passwords, tokens and the like is `***`."""
    text = _without_users(text)
    if ":" in text:
        text = _ORACLE.sub(r"\1@", text)
    return _ASSIGNED.sub(_assigned, text)


def _assigned(found: re.Match[str]) -> str:
    key = f"{found.string[max(0, found.start() - 9) : found.start()]}{found[1].rstrip(' =:')}"
    if _NO_SECRET.search(key) or _HARMLESS.fullmatch(found[2]):
        return found[0]
    quote = found[2][0] if found[2][0] in "\"'" else ""
    return f"{found[1]}{quote}{MASK}{quote}"


def _without_users(text: str) -> str:
    """The text with the user and the password left out of every URI in it."""

    def less(found: re.Match[str]) -> str:
        if ":" not in found[1] and text.endswith(_CONTAINERS, 0, found.start()):
            return found[0]
        return "/" if found[1].startswith("/") else ""

    return _CREDENTIALS.sub(less, text)


def credentials(uri: str) -> tuple[str, str]:
    """The user and the password of a URI, as they stand in it; empty where there are none."""
    found = _CREDENTIALS.match(uri, uri.find("://") + 2)  # a path may hold what looks like some
    user, _, password = found[1].removeprefix("/").partition(":") if found else ("", "", "")
    return user, password
