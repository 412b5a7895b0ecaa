"""DTS's Avro (Alibaba's Data Transmission Service, and change tracking by it): `dts_avro`.

* A record is one datum of the Avro schema `com.alibaba.dts.formats.avro.Record`, without header, schema or length.
  There are two versions of the schema, with and without `bornTimestamp` as the last field; both are read.
* `fields` has the columns with the numbers of their types, which are those of the source (`source.sourceType`):
  MySQL's, Oracle's, PostgreSQL's. `beforeImages` and `afterImages` have the values by place. NULL is null (or
  `EmptyObject.NULL`), `EmptyObject.NONE` is missing, and an image that is null or empty is none.
* The type number determines the kind of a column. If it leaves open whether the column holds texts or bytes, or if the
  numbers of a source are unknown, the values determine the kind: bytes win over texts. Each value contains its
  precision and scale, which may differ from value to value; ggfmt ignores them, so that they never change a definition.
* Texts have a charset by MySQL's name; `latin1` is Windows code page 1252. The model has bytes as Base64. The fraction
  of a second in `millis` has six digits, from Oracle nine. Seconds since 1970 become UTC.
* The operation INIT is a row of the initial load: an insert with the token `snapshot`. TRUNCATE is the text of a DDL.
  ggfmt counts other statements, and marks such as BEGIN and HEARTBEAT, by kind.
* `PRIMARY` in the tag `pk_uk_info` contains the key; ggfmt ignores its unique keys. The other tags are tokens. So are
  these members of the record if they are not empty: `id`, `version`, `safeSourcePosition`, `sourceTxid`,
  `source.sourceType`, `source.version`, `processTimestamps`, `bornTimestamp`. A tag with one of these names becomes the
  token `tags.` and its name.
* DTS writes a dot in a name as `\\u002E`; ggfmt keeps it.

DTS defines no framing for files, so ggfmt has the option `fileFraming`. A reader detects the framing by the first
bytes. A writer puts the length before each record by default: it adds four bytes, needs no schema, supports both
versions record by record, and lets files be joined; a damaged record does not hide the records after it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass

from ggfmt.formats.api import losses
from ggfmt.formats.api.format import Format
from ggfmt.formats.dts.types import MYSQL, ORACLE, POSTGRESQL
from ggfmt.formats.records.options import DialectOptions, primary_keys_option
from ggfmt.model.table import Kind
from ggfmt.options.spec import option
from ggfmt.options.value_types import Bool, Choice, Text

LENGTH_PREFIXED, CONTAINER, BASE64 = "length-prefixed", "container", "base64"
KEYS_TAG = "pk_uk_info"


@dataclass(frozen=True)
class DtsOptions(DialectOptions):
    file_framing: str = option(
        Choice(
            {
                LENGTH_PREFIXED: "its length in bytes stands before each record: four bytes, the highest first",
                CONTAINER: "object container files of Avro",
                BASE64: "each record is a line of Base64",
            }
        ),
        LENGTH_PREFIXED,
        "How to arrange records in output files; for input files, ggfmt detects it by the first bytes.",
    )
    source_type: str = option(
        Choice(
            {
                MYSQL: "types by MySQL's numbers; fractions of a second have six digits",
                ORACLE: "types by Oracle's numbers; fractions of a second have nine digits",
                POSTGRESQL: "types by PostgreSQL's OIDs; fractions of a second have six digits",
            }
        ),
        MYSQL,
        "The type of the source in records that are written.",
    )
    source_version: str = option(
        Text(), "", "The version of the source in records that are written without a token `source.version`."
    )
    born_timestamp: bool = option(
        Bool(), True, "Write the newer version of the schema, with `bornTimestamp`: the token of this name, or 0."
    )
    primary_keys: tuple[tuple[str, tuple[str, ...]], ...] = primary_keys_option()


def _in_base64(word: bytes) -> Iterator[bytes]:
    """Return the parts of a word's Base64 that do not depend on the bytes beside the word."""
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + word)
        yield encoded[-(-shift * 8 // 6) : (shift + len(word)) * 8 // 6]


FORMATS = (
    Format(
        name="dts_avro",
        doc="Alibaba's DTS in Avro: records with images by column, with a length before each or in container files.",
        options=DtsOptions,
        writes="ggfmt.formats.dts.write",
        reads="ggfmt.formats.dts.read",
        proposed=("fileSuffix=.dts",),
        marks=(b"\0", b"Obj\x01", *_in_base64(KEYS_TAG.encode())),
        losses=(
            losses.NESTED_AS_TEXT,
            losses.DIGITS_OF_DOUBLE.of(Kind.FLOAT, Kind.DOUBLE).saying(" with a binary fraction").partly(),
            *(loss.to(6).except_when(f"sourceType={ORACLE}") for loss in (losses.TIME_CUT, losses.TIME_FILLED)),
            *(loss.to(9).when(f"sourceType={ORACLE}") for loss in (losses.TIME_CUT, losses.TIME_FILLED)),
            losses.TIME_DIGITS.to(0),
            losses.NOTHING_FOR_ZERO,
            losses.TOKENS_RESERVED.named("source.sourceType", KEYS_TAG).saying(
                ": the options and the key say what they are"
            ),
            losses.TYPES_NEAREST.has("the source").saying(
                ": a boolean of MySQL or Oracle is 1 or 0, a time or an interval of Oracle a text, "
                "a date of Oracle has a time"
            ),
            losses.SIZES_NOT_SHOWN,
            losses.TRUNCATE_REFUSED.partly().saying(" of a table whose name has one part"),
        ),
        times_in_utc=True,
    ),
)
