"""Values of properties that programs give: texts, booleans and numbers."""

from __future__ import annotations

import os

from ggfmt.diagnostics.diagnostic import UsageError

PropertyValue = str | bool | int | float


def property_text(key: object, value: object) -> str:
    """Return the value of a property as a handler file has it. Raises: UsageError GG565 for other types."""
    if not isinstance(key, str):
        raise argument_error(f"the name of a property is of the type {type(key).__name__}", "give a text")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    message = f"the value of the property `{key}` is of the type {type(value).__name__}"
    raise argument_error(message, "give a text, a number or a boolean; leave out a property that has no value")


def argument_error(message: str, help: str | None) -> UsageError:
    return UsageError("GG565", message, help=help)


def refuse_empty(what: str, given: object) -> None:
    """Raises: UsageError GG565 for a text without a word, or a path that is the root: a variable of a shell may be
    empty.

    `given`: an argument, or several; those of other types have other checks. Paths are texts here: `Path("")` is `.`.
    """
    each = [given] if isinstance(given, (str, os.PathLike)) else given if isinstance(given, (list, tuple)) else ()
    for text in (os.fspath(one) for one in each if isinstance(one, (str, os.PathLike))):
        if not text.strip().strip("/"):
            found = "the root of the file system" if text.strip() else "empty"
            help = "look for an empty variable in the call; leave out an argument that has no value"
            raise argument_error(f"{what} is {found}", help)
