"""The text of `mysqlbinlog -v` and `mariadb-binlog -vv`: `mysqlbinlog_text`. It is read; ggfmt does not write it.

* A row is a block of lines that start with `###`. `WHERE` is the row before the change, and `SET` the row after it.
* `@1` is the first column of the table. Names, types and keys come from definitions, which you give.
* An image that lacks a column does not have it: the column is missing. `NULL` is NULL.
* `end_log_pos` is the position, after the name of the log if the text shows it. The GTID is the transaction.
* The time of a row is in the zone of the machine that printed the text.
* Truncates, drops and renames are statements. ggfmt rejects statements that change rows: the text does not show these.
* The text loses values, such as digits of `FLOAT`. If you can, read the log itself.
"""

from __future__ import annotations

from ggfmt.dataclasses import dataclass
from ggfmt.formats.api.format import DialectOptions, Format
from ggfmt.options.spec import choice


@dataclass(frozen=True)
class MysqlbinlogTextOptions(DialectOptions):
    escapes: str = choice(
        "How the tool escapes characters in texts.",
        ("auto", "by the version of the server in the text; without it, a text with a backslash is rejected"),
        ("mariadb", "control characters as `\\x0a`; backslashes and quotes as they are"),
        ("mysql5", "control characters, backslashes and quotes as `\\x0a`, from MySQL 5.6"),
        ("mysql8", "as `\\n`, `\\'`, `\\\\` and `\\x1a`"),
    )


FORMATS = (
    Format(
        name="mysqlbinlog_text",
        doc="mysqlbinlog: text of rows in the binary log of MariaDB or MySQL.",
        options=MysqlbinlogTextOptions,
    ),
)
