"""Defaults of a user or a directory, in place of those of ggfmt: the environment, and files named `ggfmt.toml`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ggfmt.config.settings_file import FILE_NAME, OF_LINTER, OF_RUNS, parse_toml
from ggfmt.diagnostics.diagnostic import Diagnostic, UsageError, list_names, suggestion

MASTER_VARIABLE = "GGFMT_MASTER"


@dataclass(frozen=True)
class Default:
    value: str
    origin: str


def default_master(environment: Mapping[str, str] = os.environ) -> Default | None:
    """Return the master of GGFMT_MASTER, or of a `ggfmt.toml`, here or of the user. Raises: UsageError GG525 for a bad
    one."""
    named = environment.get(MASTER_VARIABLE)
    if named:
        return Default(named, MASTER_VARIABLE)
    for path in (Path(FILE_NAME), _of_user(environment)):
        if path is None:
            continue
        try:
            text = path.read_text("utf-8")
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise UsageError.of(_finding(path, f"it cannot be read: {error}")) from None
        master = _parsed(path, text).get("master")
        if master is not None:
            return Default(master, f"{path}")
    return None


def _of_user(environment: Mapping[str, str]) -> Path | None:
    home = environment.get("XDG_CONFIG_HOME")
    try:
        return (Path(home) if home else Path.home() / ".config") / "ggfmt" / FILE_NAME
    except RuntimeError:
        return None


def _parsed(path: Path, text: str) -> dict[str, str]:
    every = parse_toml(text, str(path), "GG525")
    found: dict[str, str] = {key: value for key, value in every.items() if key not in OF_LINTER}
    for key, value in found.items():
        if key not in OF_RUNS:
            known = (*OF_RUNS, *OF_LINTER)
            help = suggestion(key, known) or f"it may have {list_names(known)}"
            raise UsageError.of(_finding(path, f"`{key}` is unknown", help))
        if not isinstance(value, str) or not value:
            raise UsageError.of(_finding(path, f"`{key}` is not a text", f'write it as `{key} = "none"`'))
    return found


def _finding(path: Path, message: str, help: str | None = None) -> Diagnostic:
    return Diagnostic("GG525", message, str(path), help)
