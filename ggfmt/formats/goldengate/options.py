"""Options and losses that several GoldenGate formats share."""

from __future__ import annotations

from ggfmt.dataclasses import dataclass
from ggfmt.formats.api import losses
from ggfmt.model.table import Kind
from ggfmt.options.spec import Options, option
from ggfmt.options.value_types import Bool, Choice, OpKey

ABEND, UPDATE, DELETE_INSERT = "abend", "update", "delete-insert"

PK_UPDATE_HANDLING = Choice(
    {
        ABEND: "stop the run",
        UPDATE: "write an update",
        DELETE_INSERT: "write a delete of the before image and an insert of the after image",
    }
)


def op_key_option(kind: str, default: str) -> str:
    article = "an" if kind[0] in "iu" else "a"
    return option(
        OpKey(),
        default,
        f"The operation type of {article} {kind}.",
        example=kind[0].upper() if default == kind.upper() else kind.upper(),
    )


@dataclass(frozen=True)
class OpKeyOptions(Options):
    insert_op_key: str = op_key_option("insert", "I")
    update_op_key: str = op_key_option("update", "U")
    delete_op_key: str = op_key_option("delete", "D")
    truncate_op_key: str = op_key_option("truncate", "T")


def metadata_option(what: str, default: bool = True) -> bool:
    """Return the option to write a metadata field, in releases with fixed metadata."""
    return option(Bool(), default, f"Write {what}.", until="19.1", replaced_by="metaColumnsTemplate")


def iso8601_option(
    until: str | None = "19.1", default: bool = True, aliases: tuple[str, ...] = ("iso8601Forma",)
) -> bool:
    """Return the option for the form of the current time stamp. The manual misprints its name."""
    doc = "Write a `T` between the date and the time of the current time stamp. If false: a blank."
    return option(Bool(), default, doc, until=until, aliases=aliases)


def pk_update_option() -> str:
    """Return the option for primary key updates in row formats. The manual misprints its name."""
    doc = "How to handle an update that changes the primary key."
    return option(PK_UPDATE_HANDLING, ABEND, doc, aliases=("pkUpdateHandlingformat.pkUpdateHandling",))


SCHEMA_DIRECTORY = "./dirdef"


def op_keys(options: Options) -> tuple[str, str, str, str]:
    return tuple(getattr(options, f"{kind}_op_key") for kind in ("insert", "update", "delete", "truncate"))


def op_kinds(options: Options) -> dict[str, str]:
    """Return the operation types by their words. If types share a word, the first of them counts."""
    return dict(zip(reversed(op_keys(options)), "TDUI", strict=True))


CODECS = {
    name: f"compress blocks with {name}" if name != "null" else "do not compress"
    for name in ("null", "deflate", "snappy", "bzip2", "xz", "zstandard")
}


# Losses of several formats.

NO_TOKENS = losses.TOKENS_NOT_SHOWN.except_when("includeTokens=true").by_template("alltokens")
_NO_TIME, _NO_POSITION = (
    losses.TIME_NOT_SHOWN.by_template("timestamp"),
    losses.POSITION_NOT_SHOWN.by_template("position"),
)
NO_METADATA = (_NO_TIME, _NO_POSITION, NO_TOKENS)
NO_FIXED_METADATA = (_NO_TIME.when("includeOpTimestamp=false"), _NO_POSITION.when("includePosition=false"), NO_TOKENS)
KEY_UPDATES = (
    losses.KEY_UPDATE_REFUSED.when("pkUpdateHandling=abend"),
    losses.KEY_UPDATE_SPLIT.when("pkUpdateHandling=delete-insert"),
)
NUMBER_KINDS = (Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT, Kind.DOUBLE)  # numbers in messages of every release
