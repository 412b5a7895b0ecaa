"""The text of PostgreSQL's plugin test_decoding: `test_decoding`. It is read; ggfmt does not write it.

* A record is a line such as `table public.t: INSERT: id[integer]:1 v[text]:'a'`. A value in quotes can have line feeds.
* `old-key:` and the columns of a delete are the old values of the replica identity. An update without `old-key:` did
  not change them.
* `BEGIN` names the transaction, and so does the column `xid` of the query. The column `lsn` is the position.
* The type of each column is in brackets, without its length. `unchanged-toast-datum` is missing.
* The time of a commit follows the changes. ggfmt does not read it.
* ggfmt counts the starts and ends of transactions, and messages (`pg_logical_emit_message`).
"""

from __future__ import annotations

from ggfmt.formats.api.format import Format
from ggfmt.formats.postgresql.options import SlotOptions

FORMATS = (
    Format(
        name="test_decoding",
        doc="test_decoding: text of changes in PostgreSQL, also in rows of a query.",
        options=SlotOptions,
        times_in_utc=True,
    ),
)
