"""The binary log of MySQL 5.7 and later, and of MariaDB 10.5 and later: `mysql_binlog`. ggfmt does not write it.

* A file is a log as the server has it on disk, or as `mysqlbinlog --raw` copies it. ggfmt checks each checksum.
* An event with rows (`binlog_format=ROW`) is one or more operations. The table map before it has the types of the
  columns, and with `binlog_row_metadata=FULL` their names and the primary key.
* A column that an image does not have (`binlog_row_image=MINIMAL` or `NOBLOB`) is missing. If only the before image of
  an update has it, the column did not change, and ggfmt takes its value from there.
* The position is the name of the file and the offset of the event. The origin of positions is the server that wrote the
  log. The transaction is the GTID, or else the position of its start.
* ggfmt reads the operations of a transaction if the file has its commit. It leaves out what was rolled back.
* ggfmt counts the ends of transactions, and statements by kind. `TRUNCATE` is an operation.
"""

from __future__ import annotations

from ggfmt.dataclasses import dataclass
from ggfmt.formats.api.format import DialectOptions, Format, primary_keys_option

MAGIC = b"\xfebin"


@dataclass(frozen=True)
class BinlogOptions(DialectOptions):
    primary_keys: tuple[tuple[str, tuple[str, ...]], ...] = primary_keys_option()


FORMATS = (
    Format(
        name="mysql_binlog",
        doc="Binary log of MySQL and MariaDB, with changes as rows (`binlog_format=ROW`).",
        options=BinlogOptions,
        times_in_utc=True,
    ),
)
