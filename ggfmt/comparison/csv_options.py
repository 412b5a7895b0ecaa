"""How tables of texts are written: the options of CSV files, and the dialects of the programs that write them."""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ggfmt.diagnostics.diagnostic import Diagnostic, UsageError, suggestion

HELP = {
    "dialect": "what wrote the file: `csv`, `oracle`, `spark`, `postgresql-text`, `mysql`; other options change that",
    "delimiter": "one character, `tab` or `\\t`",
    "quote": "one character, or `none`",
    "escape": "one character, or `none`: quotes within quotes are doubled",
    "null": "the text that stands for NULL where it has no quotes",
    "quoted-null": "`true`: it stands for NULL with quotes too",
    "header": "`true`: the first line names the columns",
    "columns": "names of the columns, divided by commas, for a file without a header",
    "encoding": "the character set",
}


@dataclass(frozen=True)
class CsvOptions:
    """Letters behind an `escape` mean what they do to PostgreSQL and MySQL: `\\n` is a line feed. With a `quote`
    there are escapes within quotes alone. `delimiter` None: a tab in files `.tsv`, and a comma in others."""

    delimiter: str | None = None
    quote: str | None = '"'
    escape: str | None = None
    null: str = ""
    quoted_null: bool = False
    header: bool = True
    columns: tuple[str, ...] = ()
    encoding: str = "utf-8"


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
    """The options of one side, `a` or `b`, of those that are given for it (`b.null`) or for both (`null`). UsageError
    GG580 for one that there is not, or that has no such value."""
    chosen: dict[str, str] = {}
    for name, value in given:
        of, dot, rest = name.partition(".")
        own = rest if dot and of in ("a", "b") else name
        if own not in HELP:
            help = suggestion(own, HELP) or f"options are {', '.join(f'`{known}`' for known in HELP)}"
            raise UsageError(Diagnostic("GG580", f"`{name}` is no option of CSV files", help=help))
        if own is name or of == side:
            chosen[own] = value
    options = DIALECTS.get(chosen.pop("dialect", "csv"))
    if options is None:
        raise _illegal("dialect", f"legal values are {', '.join(f'`{name}`' for name in DIALECTS)}")
    for name, value in chosen.items():
        options = _with(options, name, value)
    if options.columns and "header" not in chosen:
        options = replace(options, header=False)
    if not options.quote and options.escape not in (None, "\\"):
        raise _illegal("escape", "without quotes it can be a backslash only")
    return options


def _with(options: CsvOptions, name: str, value: str) -> CsvOptions:
    if name in ("header", "quoted-null"):
        if value not in ("true", "false"):
            raise _illegal(name, "legal values are `true`, `false`")
        return replace(options, **{name.replace("-", "_"): value == "true"})  # type: ignore[arg-type]
    if name == "columns":
        names = tuple(column.strip() for column in value.split(","))
        if len(set(names)) < len(names):
            raise _illegal(name, "give each name once")
        return replace(options, columns=names)
    if name == "encoding":
        try:
            return replace(options, encoding=codecs.lookup(value).name)
        except LookupError:
            raise _illegal(name, "for example `utf-8`, `latin-1`") from None
    if name == "null":
        return replace(options, null=value)
    character = {"tab": "\t", "\\t": "\t"}.get(value, value)
    if name != "delimiter" and value == "none":
        return replace(options, **{name: None})  # type: ignore[arg-type]
    if len(character) != 1 or not character.isascii() or character in "\r\n":
        raise _illegal(name, f"give {HELP[name]}, in ASCII")
    return replace(options, **{name: character})  # type: ignore[arg-type]


def _illegal(name: str, help: str) -> UsageError:
    return UsageError(Diagnostic("GG580", f"the option `{name}` of CSV files cannot be that", help=help))
