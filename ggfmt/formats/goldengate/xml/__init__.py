"""XML, GoldenGate for Big Data 12.2, 6.7: `xml`.

* Each operation has a `col` element for each column of the table, even if both images lack the column.
* A column that is missing from both images has `<missing/>`. A column that is missing from one image has
  `missing='true'` there. NULL has `isNull='true'`. Values are in CDATA sections.
* If XML cannot represent a character, ggfmt rejects the operation.
"""

from __future__ import annotations

from ggfmt.dataclasses import dataclass
from ggfmt.formats.api import losses
from ggfmt.formats.api.format import Format
from ggfmt.formats.goldengate.options import NO_TOKENS, OpKeyOptions, iso8601_option
from ggfmt.options.spec import option, switch
from ggfmt.options.value_types import Charset


@dataclass(frozen=True)
class XmlOptions(OpKeyOptions):
    encoding: str = option(Charset(), "UTF-8", "The charset of messages.")
    include_prolog: bool = switch("Start each message with an XML prolog, which names the encoding.")
    iso8601_format: bool = iso8601_option(until=None)  # the metadata are fixed in every release


FORMATS = (
    Format(
        name="xml",
        doc="XML: one `operation` element per operation, with every column's state before and after.",
        options=XmlOptions,
        proposed=("fileSuffix=.xml",),
        schema_kind="xsd",
        schema_in_run=False,
        losses=(
            losses.NESTED_AS_TEXT,
            losses.EMPTY_BEFORE_AS_NONE,
            losses.CHARACTER_REPLACED,
            NO_TOKENS,
            losses.KEYS_NOT_SHOWN,
            losses.TYPES_NOT_SHOWN,
        ),
    ),
)
