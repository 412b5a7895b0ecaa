"""Values of properties that programs give: texts, booleans and numbers."""

from __future__ import annotations

from ggfmt.diagnostics.diagnostic import Diagnostic, UsageError

PropertyValue = str | bool | int | float


def property_text(key: object, value: object) -> str:
    """Return the value of a property as a handler file has it. UsageError GG565 for other types."""
    if not isinstance(key, str):
        raise argument_error(f"the name of a property is of the type {type(key).__name__}", "give a text")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    message = f"the value of the property `{key}` is of the type {type(value).__name__}"
    raise argument_error(message, "give a text, a number or a boolean; leave out a property that has no value")


def argument_error(message: str, help: str | None) -> UsageError:
    return UsageError(Diagnostic("GG565", message, help=help))
