"""The round of a run whose tables are not all committed yet.

A table of a lakehouse commits alone. A run with several tables, and with a checkpoint, therefore goes through these
states; for each one, what the next run does if the process dies in it.

1. Write. Tasks write new files beside those of the tables. Next run: starts again; no table refers to the files.
2. Announce. `_ggfmt/round.json` has the manifest as it will be, the inputs, and the tables to commit. Next run: finds
   that no table has the round, deletes the document and the files of the round, and starts again.
3. Commit the tables, one after the other. Each remembers the round. Next run: finds the round in some tables. It reads
   the inputs of the round again and no others, leaves out the tables that have the round, and commits the rest.
4. Commit the manifest and the checkpoint as `ggfmt.commit` does, and delete the document. Next run: completes that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ggfmt.commit.commit import Participant
from ggfmt.commit.journal import ROUND, damaged, read_document
from ggfmt.commit.records import SET_ASIDE_MEMBER
from ggfmt.dataclasses import dataclass, field
from ggfmt.rows.kept import KEPT_DIRECTORY

_VERSION = 1
_ROWS = re.compile(r"[0-9]{5}-of-[0-9]{5}-[0-9-]+\.parquet")
_OPERATIONS = re.compile(r"part-[0-9]+\.parquet")


@dataclass(frozen=True)
class OpenRound:
    """A round that was announced."""

    run: str
    stream: str
    number: int
    tables: Sequence[str]  # those that the run commits
    inputs: Sequence[Any] | None  # what it read, as the checkpoint records it; None without a checkpoint
    manifest: Mapping[str, Any] = field(default_factory=dict)  # of the output after the round

    def announce(self, output: Participant) -> None:
        """Write the document, so that it survives a power failure. Raises: one of `FAILURES`."""
        document = {"version": _VERSION, **vars(self)}
        draft = output.draft(ROUND)
        output.put(ROUND, json.dumps(document).encode(), lambda: output.store.sync_all([draft]))

    def new_files(self, done: Collection[str], before: Mapping[str, Any]) -> list[str]:
        """Return the new files, but those of tables that are `done`. `before`: the manifest before the round."""
        known = {entry["path"] for entry in before.get("files", [])}
        paths = [entry["path"] for entry in self.manifest["files"] if entry["table"] not in done]
        return [path for path in paths if path not in known and self._has_written(path)]

    def _has_written(self, path: str) -> bool:
        """Return whether the run gives files such names, so that a foreign document deletes no other file."""
        above, _, name = path.rpartition("/")
        if above in ("_unresolved", KEPT_DIRECTORY):
            return _OPERATIONS.fullmatch(name) is not None
        return above.rpartition("/")[2] == self.run and _ROWS.fullmatch(name) is not None

    def mixed(self, before: Mapping[str, Any], done: Collection[str]) -> dict[str, Any]:
        tables = {name: table for name, table in before.get("tables", {}).items() if name not in done}
        tables |= {name: table for name, table in self.manifest["tables"].items() if name in done}
        files = [entry for entry in before.get("files", []) if entry["table"] not in done]
        files += [entry for entry in self.manifest["files"] if entry["table"] in done]
        aside = {name: table for name, table in before.get(SET_ASIDE_MEMBER, {}).items() if name not in done}
        return {**self.manifest, **before, "tables": tables, "files": files, SET_ASIDE_MEMBER: aside}


def read_round(output: Participant) -> OpenRound | None:
    """Return the round that an earlier run has not ended. Raises: Abend GG509 for a damaged one, or a `FAILURES`."""
    document = read_document(output.store, ROUND)
    if document is None:
        return None
    if document.pop("version", None) != _VERSION:
        raise damaged(output.store, ROUND, "is from another version of ggfmt")
    try:
        return OpenRound(**document)
    except TypeError:
        raise damaged(output.store, ROUND, "is damaged") from None
