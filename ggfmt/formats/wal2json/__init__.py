"""wal2json's JSON, formats 1 and 2 (a plugin of PostgreSQL): `wal2json`. It is read; ggfmt does not write it.

* In format 2, a record is a change with an `action`. `columns` is the row after the change. `identity` has the old
  values of the replica identity, also if they did not change.
* In format 1, a record is a transaction with a list of changes: `change`. With `write-in-chunks`, each change has its
  own line.
* `lsn` is the position, or else `nextlsn`. `timestamp` is the time of the commit, in the zone of the session. `xid` is
  the transaction. If a record lacks `lsn` and `xid`, ggfmt takes them from the columns of the query.
* `type` and `columntypes` are the types, `pk` is the primary key (`include-pk`). Without types, the JSON values decide.
* ggfmt counts the starts and ends of transactions, and messages (`pg_logical_emit_message`).
"""

from __future__ import annotations

from ggfmt.formats.api.format import Format
from ggfmt.formats.postgresql.options import SlotOptions

FORMATS = (
    Format(
        name="wal2json",
        doc="wal2json: JSON of changes in PostgreSQL, formats 1 and 2, also in rows of a query.",
        options=SlotOptions,
        times_in_utc=True,
    ),
)
