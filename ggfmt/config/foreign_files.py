"""Files that are no handler files: what they seem to be, and which handler files are near."""

from __future__ import annotations

import os
import re

from ggfmt.diagnostics.diagnostic import suggestion, without_credentials
from ggfmt.formats import FORMATS
from ggfmt.java.text import visible
from ggfmt.lazy import lazy_regex

ENDINGS = (".properties", ".props")
_MAX_LISTED = 5

_NO_PROPERTIES = "the file has no properties of GoldenGate"
_PARAMETERS = lazy_regex(rb"^[ \t]*(REPLICAT|EXTRACT)[ \t]+[\w$]+[ \t;]*\r?$", re.IGNORECASE | re.MULTILINE)
_NAMED = lazy_regex(rb"\bSET[ \t]+property[ \t]*=[ \t]*([^\s;,]+)", re.IGNORECASE)

# What a file seems to be, by a key that no other program has.
_OTHERS = (
    (rb"^[ \t]*bootstrap\.servers[ \t]*[=:]", "a file of a Kafka producer"),
    (rb"^[ \t]*log4j\.", "a file of log4j"),
    (rb"^[ \t]*(?:spark\.[\w.]+)[ \t]*[ \t=:]", "a file of Spark"),
)


def describe_foreign(content: bytes) -> tuple[str, str | None]:
    parameters = _PARAMETERS.search(content)
    if parameters is not None:
        kind = parameters[1].decode().capitalize()
        named = _NAMED.search(content)
        if named is None:
            return f"this is a parameter file of {kind}", "give the properties file of its handler"
        file = visible(without_credentials(named[1].decode("utf-8", "replace")))
        return f"this is a {kind} parameter file; it names `{file}`", f"give `{file}`"
    for pattern, what in _OTHERS:
        if re.search(pattern, content, re.MULTILINE):
            return f"{_NO_PROPERTIES}: it seems to be {what}", "give the file that has `gg.handlerlist`"
    return _NO_PROPERTIES, "give the file that has `gg.handlerlist`"


def find_nearby(path: str) -> str | None:
    """Return a help for a path without a file: the handler files in a directory, the target of a link, a near
    name, or the option for a format."""
    if path in FORMATS:
        return f"did you mean `--to {path}`?"
    directory = path if os.path.isdir(path) else os.path.dirname(path) or "."
    try:
        names = sorted(name for name in os.listdir(directory) if name.endswith(ENDINGS))
    except OSError:
        return None
    paths = {name: os.path.join(directory, name) if directory != "." else name for name in names}
    if os.path.isdir(path):
        if not names:
            return "give a file: the directory has no handler file"
        shown = ", ".join(f"`{visible(paths[name])}`" for name in names[:_MAX_LISTED])
        more = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
        return f"give a file of the directory: {shown}{more}"
    if os.path.islink(path):
        return f"the link leads to `{visible(os.readlink(path))}`, which does not exist"
    found = suggestion(os.path.basename(path), names)
    near = next((name for name in names if found and f"`{name}`" in found), None)
    return f"did you mean `{visible(paths[near])}`?" if near else None
