"""A table and the metadata of changes that tests of Qlik's messages in JSON and in Avro share."""

from __future__ import annotations

from oracle import PlainColumn, PlainTable

AT = "2023-03-21 21:34:19.511000"
TOKENS = {
    "transactionId": "tx", "transactionEventCounter": "4", "transactionLastEvent": "true", "changeSequence": "201",
    "server": "srv", "task": "job",
}  # fmt: skip
BARE = {name: text for name, text in TOKENS.items() if name not in ("server", "task")}


TABLE = PlainTable(
    "S.T", (PlainColumn("ID", "integer", 1), PlainColumn("NAME", "string"), PlainColumn("RAW", "binary"))
)
