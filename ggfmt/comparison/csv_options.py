"""The options of CSV files that users give for the sides of a comparison."""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ggfmt.diagnostics.diagnostic import UsageError, list_names, suggestion
from ggfmt.java.text import visible
from ggfmt.rowfiles.csv_files import CsvOptions

HELP = {
    "dialect": "the program that wrote the file: `csv`, `oracle`, `spark`, `postgresql-text`, `mysql`; other options "
    "override it",
    "delimiter": "one character, `tab` or `\\t`",
    "quote": "one character, or `none`",
    "escape": "one character, or `none` if quotes within quotes are doubled",
    "null": "the text that means NULL outside quotes",
    "quoted-null": "`true`: the text of `null` also means NULL in quotes",
    "header": "`true`: the first line has the column names",
    "columns": "column names, separated by commas, for a file without a header",
    "encoding": "the character set",
}

_PLAIN = CsvOptions()
_ESCAPED = CsvOptions(delimiter="\t", quote=None, escape="\\", null="\\N", header=False)
DIALECTS = {
    "csv": _PLAIN,
    "oracle": replace(_PLAIN, quoted_null=True),
    "spark": replace(_PLAIN, escape="\\"),
    "postgresql-text": _ESCAPED,
    "mysql": _ESCAPED,
}


def csv_options(given: Iterable[tuple[str, str]], side: str) -> CsvOptions:
    """Return the options of one side, `a` or `b`, from those given for it (`b.null`) or for both (`null`). Raises:
    UsageError GG580 for an unknown option or an illegal value."""
    chosen: dict[str, str] = {}
    for name, value in given:
        of, dot, rest = name.partition(".")
        own = rest if dot and of in ("a", "b") else name
        if own not in HELP:
            help = suggestion(own, HELP) or f"options are {list_names(HELP)}"
            raise UsageError("GG580", f"`{name}` is not an option of CSV files", help=help)
        if own is name or of == side:
            chosen[own] = value
    dialect = chosen.pop("dialect", "csv")
    options = DIALECTS.get(dialect)
    if options is None:
        raise _illegal("dialect", dialect, f"legal values are {list_names(DIALECTS)}")
    for name, value in chosen.items():
        options = _with(options, name, value)
    if options.columns and "header" not in chosen:
        options = replace(options, header=False)
    if not options.quote and options.escape not in (None, "\\"):
        raise _illegal("escape", options.escape, "without quotes, use a backslash")
    return options


def _with(options: CsvOptions, name: str, value: str) -> CsvOptions:
    if name in ("header", "quoted-null"):
        if value not in ("true", "false"):
            raise _illegal(name, value, "legal values are `true`, `false`")
        return _replaced(options, name.replace("-", "_"), value == "true")
    if name == "columns":
        names = tuple(column.strip() for column in value.split(","))
        if len(set(names)) < len(names):
            raise _illegal(name, value, "give each name once")
        return replace(options, columns=names)
    if name == "encoding":
        try:
            return replace(options, encoding=codecs.lookup(value).name)
        except LookupError:
            raise _illegal(name, value, "give a character set, for example `utf-8` or `latin-1`") from None
    if name == "null":
        return replace(options, null=value)
    character = {"tab": "\t", "\\t": "\t"}.get(value, value)
    if name != "delimiter" and value == "none":
        return _replaced(options, name, None)
    if len(character) != 1 or not character.isascii() or character in "\r\n":
        raise _illegal(name, value, f"give {HELP[name]}; the character must be ASCII")
    return _replaced(options, name, character)


def _replaced(options: CsvOptions, name: str, value: Any) -> CsvOptions:
    return replace(options, **{name: value})


def _illegal(name: str, value: str, help: str) -> UsageError:
    return UsageError("GG580", f"the option `{name}` of CSV files cannot be `{visible(value)}`", help=help)
