"""Files of rows without a format of changes, and the options that read them; and what else an unknown input is."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import cast

from ggfmt.dataclasses import dataclass, replace
from ggfmt.formats.csv.cut import is_value, with_quotes
from ggfmt.formats.goldengate.delimited.guess import guessed_command
from ggfmt.formats.json.files import head_objects, unread
from ggfmt.formats.plain import WORDS, PlainCsvOptions
from ggfmt.formats.plain.layout import NAMES, find_charset, find_layout, first_rows
from ggfmt.java.text import visible
from ggfmt.lazy import lazy_regex
from ggfmt.options.value_types import EVERY_TABLE
from ggfmt.reading.foreign_files import identify_foreign, identify_last

_WORDS = {word.casefold() for words in WORDS.values() for word in words}
_INSERTS = ("i", "insert")  # without a name of the column, other words are also codes of a status
_OP_NAMES = lazy_regex(r"_*(?:op|op_?type|operation|action|change_?type|dml|dml_type|event)", 0)
_TS_NAMES = lazy_regex(r"_*(?:ts|op_?ts|time|timestamp|changed_?at|op_?time|commit_?(?:ts|time|timestamp))", 0)
_OPTION = lazy_regex(r"`(\w+=[^`, ]+)`")
_MAX_SHOWN, MAX_COLUMNS, _MIN_ALIKE = 80, 20, 0.5
HEAD_BYTES = 256 << 10  # that are looked at
_JSON_TYPES = {str: "text", bool: "boolean", int: "number", float: "number"}


@dataclass(frozen=True)
class PlainRows:
    """A file of rows without a format of changes: what it is, its facts by name, and the options that read it.

    `options` is None if the first rows do not show them; `help` then says what to do.
    """

    what: str
    options: Sequence[str] | None
    help: str = ""
    facts: Sequence[tuple[str, str]] = ()

    def command(self, file: str) -> str | None:
        return None if self.options is None else " ".join(["ggfmt run", quote(file), *self.options, "--to json -o out"])


def find_rows(stored: bytes, head: bytes) -> PlainRows | None:
    """Return what file of rows starts like this, as CSV or as JSON; None if it is none.

    `head`: the same bytes as others have looked at, whose records in JSON are decoded only once.
    """
    start = stored.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if start in (b"{", b"["):
        return _json_rows(head)
    text = stored[:HEAD_BYTES]
    is_binary = b"\0" in text and find_charset(text) in (None, ("utf-8", 0))
    return None if is_binary or not start or start in b"<(-*/" else _csv_rows(text, len(stored) < HEAD_BYTES)


def _json_rows(head: bytes) -> PlainRows | None:
    objects = [record for record, _ in zip(head_objects(head), range(100), strict=False)]
    if (
        not objects
        or not all(objects)
        or any(isinstance(v, (dict, list)) for record in objects for v in record.values())
    ):
        return None
    first = objects[0]
    types = [f"{visible(name)} ({_JSON_TYPES.get(type(value), 'null')})" for name, value in first.items()]
    shown = ", ".join(map(str, first.values()))
    return _rows(
        "JSON", [], list(first), [[_text(record.get(name)) for name in first] for record in objects], types, shown
    )


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _csv_rows(head: bytes, whole: bool) -> PlainRows | None:
    options, given = PlainCsvOptions(), list[str]()
    layout = find_layout(head, whole, options)
    while layout.problem is not None and len(given) < 3:
        help = layout.problem.help or ""
        found = _OPTION.search(help)
        if layout.problem.code == "GG303" and (last := identify_last(head)) is not None and "GBK" in last.what:
            return None
        if found is None or found[1].startswith("header=") or found[1].partition("=")[0] in "".join(given):
            break
        given.append(found[1])
        options = cast(PlainCsvOptions, PlainCsvOptions.parse(dict(each.split("=", 1) for each in given)))
        layout = find_layout(head, whole, options)
    rows = [with_quotes(row, layout)[1] for row in first_rows(head, layout, whole)]
    rows = rows[: max(1, len(rows) - (not whole and len(rows) > 1))]  # the head may end within the last one
    alike = sum(len(row) == len(rows[0]) for row in rows)
    if not rows or len(rows[0]) < 2 or alike < _MIN_ALIKE * len(rows):
        return None
    problem = layout.problem
    facts = [("encoding", layout.charset.upper()), ("delimiter", NAMES.get(layout.delimiter.decode(), "?"))]
    if problem is None and alike < len(rows):
        help = (
            "values have delimiters or line feeds without quotes: export them again with quotes, as `psql --csv` does"
        )
        return PlainRows("CSV whose rows have different numbers of fields", None, help, facts)
    if problem is not None:
        facts = facts[problem.code == "GG303" :]  # an unknown charset
        is_prose = len(rows) < 2 or alike < len(rows) or any(text.startswith(" ") for row in rows for text in row)
        return None if is_prose else PlainRows(f"CSV: {problem.message}", None, problem.help or "", facts)
    names = list(layout.names or (f"c{place}" for place in range(1, len(rows[0]) + 1)))
    facts.append(("header", ", ".join(map(visible, names)) if layout.names else "none"))
    types = [
        f"{visible(name)} ({'number or time' if any(values) and all(is_value(v) for v in values if v) else 'text'})"
        for name, values in zip(names, zip(*(row for row in rows if len(row) == len(names)), strict=True), strict=True)
    ]
    made = ["--csv", *(f"--input-option {quote(each)}" for each in given)]
    made_rows = _rows(
        "CSV", made, names, rows, types, ", ".join(rows[0]), "" if layout.names else f"columns={EVERY_TABLE}="
    )
    return replace(made_rows, facts=[*facts, *made_rows.facts])


def _rows(
    kind: str,
    made: Sequence[str],
    names: list[str],
    rows: Sequence[Sequence[str]],
    types: Sequence[str],
    shown: str,
    headless: str = "",
) -> PlainRows:
    """Return a file of rows with its columns; `headless`: how the option starts that names them."""
    columns = [[row[place] for row in rows if len(row) > place] for place in range(len(names))]
    op = next((n for n, texts in zip(names, columns, strict=True) if _is_op(n, texts, bool(headless))), None)
    ts = op and next((n for n in names if _TS_NAMES.fullmatch(n.casefold())), None)
    if headless and op is not None:
        names = ["op" if name == op else name for name in names]
        op = "op"
    options = [*made, *([f"--op-column {quote(op)}"] if op else [] if made else ["--as inserts"])]
    options += [f"--op-ts-column {quote(ts)}"] if ts else []
    options += [f"--input-option {quote(headless + ','.join(names))}"] if headless else []
    what = f"{kind} with operations in `{visible(op)}`" if op else f"{kind}: rows of a table without operations"
    listed = ", ".join(types[:MAX_COLUMNS]) + ", ..." * (len(types) > MAX_COLUMNS)
    facts = [("columns", listed), ("first row", visible(shown[:_MAX_SHOWN])), ("operations", op or "none: inserts")]
    help = "put the names of the columns into the command" if headless else ""
    return PlainRows(what, options, help, facts)


def _is_op(name: str, texts: Sequence[str], headless: bool) -> bool:
    named = any(text.casefold() in _INSERTS for text in texts) if headless else _OP_NAMES.fullmatch(name.casefold())
    return bool(named and texts) and all(text.casefold() in _WORDS for text in texts)


def describe_unrecognized(file: str, stored: bytes, head: bytes, envelope: str | None) -> tuple[str, str] | None:
    """Return what an input is that fits no format, as a verdict on its first record, and what to do; None if it may be
    anything. `stored` and `head`: its first bytes, as `Recognition` has them."""
    if envelope is not None:
        return None
    command = guessed_command(file, head[:HEAD_BYTES])
    if command is not None:
        help = f"give the handler file that wrote it with `--input-config`, or try `{command}`"
        return "looks like delimited text, whose settings no file shows", help
    known = unread(head)
    if known is not None:
        return f"is {known.what}, which ggfmt does not read", known.help
    foreign = identify_foreign(stored)
    rows = find_rows(stored, head) if foreign is None else None
    if rows is not None:
        command = rows.command(file)
        help = "; ".join(filter(None, (f"run `{command}`" if command else "", rows.help)))
        return f"fits no input format; the file looks like {rows.what}", help
    foreign = foreign or identify_last(stored)
    return None if foreign is None else (f"fits no input format; the file looks like {foreign.what}", foreign.help)
