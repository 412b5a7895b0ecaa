"""DTS's Avro (Alibaba's Data Transmission Service, and change tracking by it): `dts_avro`.

* A record is one datum of the Avro schema `com.alibaba.dts.formats.avro.Record`, without header, schema or length. The
  schema has two versions: with and without `bornTimestamp` as the last field. ggfmt reads both.
* `fields` has the columns with type numbers of the source (`source.sourceType`): MySQL, Oracle or PostgreSQL.
  `beforeImages` and `afterImages` have the values in this order. NULL is null or `EmptyObject.NULL`.
  `EmptyObject.NONE` is missing. A null or empty image counts as a missing image.
* The type number determines the kind of a column. If the number is ambiguous (texts or bytes) or unknown, the values
  determine the kind, and bytes win over texts. ggfmt ignores the precision and scale of single values.
* Texts have a charset by MySQL's name; `latin1` is Windows code page 1252. ggfmt reads bytes as Base64. The fraction
  of a second in `millis` has six digits, or nine from Oracle. Seconds since 1970 are read in UTC.
* INIT is a row of the initial load: an insert with the token `snapshot`. TRUNCATE is the text of a DDL. ggfmt counts
  other statements, and marks such as BEGIN and HEARTBEAT, by kind.
* `PRIMARY` in the tag `pk_uk_info` contains the key. Other tags are tokens. So are these members if they are not
  empty: `id`, `version`, `safeSourcePosition`, `sourceTxid`, `source.sourceType`, `source.version`,
  `processTimestamps`, `bornTimestamp`. A tag with one of these names becomes the token `tags.NAME`.
* DTS writes a dot in a name as `\\u002E`. ggfmt keeps it.
* In a topic of Kafka, a message is a record without framing.
* DTS defines no framing for files: the option `fileFraming` sets it. With the default, the length before each record,
  you can concatenate files, and a damaged record does not affect the records after it.
"""

from __future__ import annotations

from ggfmt.dataclasses import dataclass
from ggfmt.formats.api import losses
from ggfmt.formats.api.format import DialectOptions, Format, primary_keys_option
from ggfmt.formats.dts.types import MYSQL, ORACLE, POSTGRESQL
from ggfmt.model.table import Kind
from ggfmt.options.spec import choice, option, switch
from ggfmt.options.value_types import Text

LENGTH_PREFIXED, CONTAINER, BASE64 = "length-prefixed", "container", "base64"
KEYS_TAG = "pk_uk_info"


@dataclass(frozen=True)
class DtsOptions(DialectOptions):
    file_framing: str = choice(
        "The framing of records in output files. ggfmt detects the framing of input files.",
        (LENGTH_PREFIXED, "before each record, its length in bytes as a big-endian number of four bytes"),
        (CONTAINER, "Avro object container files"),
        (BASE64, "one line of Base64 per record"),
    )
    source_type: str = choice(
        "For writing: the kind of source database.",
        (MYSQL, "type numbers of MySQL, six fraction digits of a second"),
        (ORACLE, "type numbers of Oracle, nine fraction digits of a second"),
        (POSTGRESQL, "type OIDs of PostgreSQL, six fraction digits of a second"),
    )
    source_version: str = option(
        Text(), "", "For writing: the source version of operations without a token `source.version`."
    )
    born_timestamp: bool = switch(
        "Write the newer schema version, with `bornTimestamp`: the token of this name, or 0.", True
    )
    primary_keys: tuple[tuple[str, tuple[str, ...]], ...] = primary_keys_option()


FORMATS = (
    Format(
        name="dts_avro",
        doc="Alibaba DTS in Avro: records with both images, length-prefixed, as Base64 lines or in container files.",
        options=DtsOptions,
        proposed=("fileSuffix=.dts",),
        losses=(
            losses.NESTED_AS_TEXT,
            losses.DIGITS_OF_DOUBLE.of(Kind.FLOAT, Kind.DOUBLE).saying(" of a floating-point type").partly(),
            *(loss.to(6).except_when(f"sourceType={ORACLE}") for loss in (losses.TIME_CUT, losses.TIME_FILLED)),
            *(loss.to(9).when(f"sourceType={ORACLE}") for loss in (losses.TIME_CUT, losses.TIME_FILLED)),
            losses.TIME_DIGITS.to(0),
            losses.NOTHING_FOR_ZERO,
            losses.TOKENS_RESERVED.named(KEYS_TAG).saying(", because the key uses the name"),
            losses.TOKENS_ADDED.saying(
                "the token `source.sourceType` from the option `sourceType`, even if it had another text. "
                "If `sourceVersion` is set, it also adds an absent `source.version`"
            ),
            losses.TYPES_NEAREST.has("the source").saying(
                ". A boolean is 1 or 0 in MySQL and Oracle. Times and intervals are texts in Oracle, "
                "and its dates have a time"
            ),
            losses.SIZES_NOT_SHOWN,
            losses.TRUNCATE_REFUSED.partly().saying(" of a table with a one-part name"),
        ),
        times_in_utc=True,
    ),
)
