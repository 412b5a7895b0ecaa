"""The options of `df.write.format("ggfmt")`, which are those of `ggfmt run` in the names that Spark's options have."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from ggfmt.commit.commit import MODES
from ggfmt.config.handlers import read_configuration
from ggfmt.definitions import load_definitions
from ggfmt.diagnostics.diagnostic import Diagnostic, UsageError, suggestion
from ggfmt.frames.operations import keyed
from ggfmt.java.text import InvalidValueError
from ggfmt.model.table import Column, TableDef
from ggfmt.options.table_keys import Keys, parse_keys
from ggfmt.sinks.messages.preparation import RunSettings

FRAME = "dataframe"  # where a manifest has the format of the input

OPTIONS = {
    "path": "the output directory; without it, each handler's `rootFilePath`",
    "config": "handler files, divided by commas",
    "settings": "properties, a line each, as a handler file has them; they come after those of `config`",
    "handlers": "the names of the handlers to write for, divided by commas; all without it",
    "definitions": "files and directories of table definitions, divided by commas",
    "columns": 'tables with the names of their columns, in JSON: `{"GG.T": ["ID", "NAME"]}`',
    "keyColumns": "the primary keys of tables without a definition: `ID` for all, or `S.ORDERS=ID;S.LINES=ID,LINE`",
    "mode": "`error`, `append` or `overwrite`, as `ggfmt run --mode` has them",
    "onReject": "`abend` (the default) or `quarantine`",
    "strictFidelity": "`true` to stop where a handler cannot show a value as it is",
    "currentTimestamp": "one `current_ts` for all messages, such as `2015-09-18T13:39:35.447000`",
}

T = TypeVar("T")


@dataclass(frozen=True)
class WriteOptions:
    """What a write was asked for: the settings of a run without inputs, and the keys of tables without a definition."""

    settings: RunSettings
    keys: Keys

    @classmethod
    def of(cls, options: Mapping[str, str], overwrite: bool) -> WriteOptions:
        """The options by their names, whatever the case, and what Spark says of the mode. UsageError GG541 for one that
        there is not or that has no such value; ConfigurationError for what is wrong in the files that they name."""
        spelled = {name.lower(): name for name in OPTIONS}
        for name in options:
            if name.lower() not in spelled:
                help = suggestion(name, OPTIONS) or f"options are {', '.join(f'`{known}`' for known in OPTIONS)}"
                raise UsageError(Diagnostic("GG541", f"`{name}` is no option of writing", help=help))
        given = {spelled[name.lower()]: value for name, value in options.items()}
        lines = given.get("settings", "").splitlines()
        configuration = read_configuration(_listed(given, "config"), lines, _listed(given, "handlers"))
        keys = _parsed("keyColumns", given.get("keyColumns"), parse_keys) or ()
        definitions = {**_columns(given.get("columns"), keys), **load_definitions(_listed(given, "definitions"))}
        settings = RunSettings(
            inputs=(),
            handlers=configuration.handlers,
            output=given.get("path"),
            input_format=FRAME,
            definitions=definitions,
            mode=_mode(given.get("mode"), overwrite),
            quarantine=_one_of(given, "onReject", {"abend": False, "quarantine": True}, "abend"),
            strict=_one_of(given, "strictFidelity", {"false": False, "true": True}, "false"),
            current_timestamp=_parsed("currentTimestamp", given.get("currentTimestamp"), _moment),
            own=configuration.run,
            replacements=configuration.replacements,
        )
        return cls(settings, keys)


def _listed(given: Mapping[str, str], name: str) -> list[str]:
    return [part.strip() for part in given.get(name, "").split(",") if part.strip()]


def _mode(asked: str | None, overwrite: bool) -> str:
    """Spark knows `append` and `overwrite` of a data source; the option `mode` makes an `error` of its `append`."""
    saves = "overwrite" if overwrite else "append"
    mode = saves if asked is None else asked.lower()
    if mode not in MODES:
        raise _illegal("mode", mode, MODES)
    if (mode == "overwrite") != overwrite:
        message = f"the option `mode` is `{mode}`, and Spark was told `.mode({saves!r})`"
        raise UsageError(Diagnostic("GG541", message, help="`.mode('append')` goes with `error` and with `append`"))
    return mode


def _one_of(given: Mapping[str, str], name: str, values: Mapping[str, T], default: str) -> T:
    word = given.get(name, default).lower()
    if word not in values:
        raise _illegal(name, word, values)
    return values[word]


def _illegal(name: str, word: str, legal: Mapping[str, object]) -> UsageError:
    help = f"legal values are {', '.join(f'`{value}`' for value in legal)}"
    return UsageError(Diagnostic("GG541", f"the option `{name}` cannot be `{word}`", help=help))


def _parsed(name: str, text: str | None, parse: Callable[[str], T]) -> T | None:
    try:
        return None if text is None else parse(text)
    except InvalidValueError as error:
        raise UsageError(Diagnostic("GG541", f"the option `{name}` {error}", help=error.help)) from None


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        raise InvalidValueError(f"cannot be `{text}`", "give a time as `2015-09-18T13:39:35.447000`") from None


def _columns(text: str | None, keys: Keys) -> dict[str, TableDef]:
    """Definitions of texts, from the names of columns."""
    help = f"give {OPTIONS['columns']}"
    try:
        document = json.loads(text or "{}")
    except ValueError:
        raise UsageError(Diagnostic("GG541", "the option `columns` is not JSON", help=help)) from None
    if not isinstance(document, dict) or not all(map(_are_names, document.values())):
        raise UsageError(Diagnostic("GG541", "the option `columns` has something else than names", help=help))
    return {table: keyed(TableDef(table, tuple(map(Column, names))), keys) for table, names in document.items()}


def _are_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value) and len(set(value)) == len(value)
