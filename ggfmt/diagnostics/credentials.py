"""Credentials in URIs, which are shown nowhere."""

from __future__ import annotations

import re

# The second form is a password with a slash in it, which a URI should not have but that of an object store may; one
# slash before it makes what somebody took for a URI.
_CREDENTIALS = re.compile(r"(?<=:/)(/[^/@\s]+|/?[^/@:\s]+:(?!\d+(?:/|$))[^@\s]+)@")


_CONTAINERS = ("abfs:/", "abfss:/", "wasb:/", "wasbs:/")  # before the `@` is a container of Azure


def without_credentials(text: str) -> str:
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
