"""Files of keys beside files of values, as Kafka Connect's S3 sink writes them with `store.kafka.keys=true`.

The keys of the messages in `t+0+0000000000.json` are in `t+0+0000000000.keys.json`, one a line and in the same order
(`KeyValueHeaderRecordWriterProvider` and `Utils` of confluentinc/kafka-connect-storage-cloud).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from dataclasses import replace

import pyarrow as pa

from ggfmt.commit.names import counted
from ggfmt.formats.json.dumps import names_of_keys
from ggfmt.scan.files import InputFile, map_files, open_input

log = logging.getLogger("ggfmt")

_OF_KEYS = re.compile(r"(\+[0-9]+\+[0-9]+)\.keys(\.json(?:\.gz)?(?:\?.*)?)$")
_HEAD_BYTES = 64 << 10


def with_keys(files: Iterable[InputFile]) -> list[InputFile]:
    """The files without those of keys: files of values know the names of the columns in the keys.

    A file is one of keys if it is called so (`<topic>+<partition>+<offset>.keys.json`) beside that of its values, and
    has nothing but keys in its first bytes.
    """
    listed = {file.path: file for file in files}
    beside = {path: values for path in listed if (values := _OF_KEYS.sub(r"\1\2", path)) != path and values in listed}
    taken = 0
    found = map_files([listed[path] for path in beside], _names)
    for (path, values), names in zip(beside.items(), found, strict=True):
        if names is not None:
            listed[values] = replace(listed[values], keys=names)
            del listed[path]
            taken += 1
    if taken:
        log.info("the keys of %s are in files beside them", counted(taken, "file"))
    return list(listed.values())


def _names(file: InputFile) -> tuple[str, ...] | None:
    try:
        with open_input(file) as stream:
            return names_of_keys(stream.read(_HEAD_BYTES))
    except (OSError, pa.ArrowException):  # told where it is read
        return None
