"""The rows of a table, whatever its files are: which columns they have, and batches of some of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from ggfmt.arrow.arrays import repeated
from ggfmt.comparison.csv_files import CsvFile
from ggfmt.comparison.csv_options import CsvOptions
from ggfmt.comparison.files import Columns, TableFile, unreadable
from ggfmt.comparison.sides import PartitionedFile
from ggfmt.comparison.values import STRING
from ggfmt.diagnostics.diagnostic import Abend

_NULL = pa.null()


class TableRows:
    """`columns` are those of all files, by their stored types. Not `named`: they are called by their places. `sparse`:
    a column may lack where it is NULL in all rows, or where there is no row. A column that some files lack is NULL in
    them. Abend GG582 for a file that cannot be read, or whose columns are of other types than before."""

    def __init__(self, parts: Sequence[PartitionedFile], options: CsvOptions) -> None:
        files = [(_opened(part, options), part.columns) for part in parts]
        # A file without a byte has no columns, and no rows.
        self._files = [(file, constants) for file, constants in files if file.columns]
        self.named = all(file.named for file, _ in self._files)
        self.sparse = not self._files or any(file.sparse for file, _ in self._files)
        found: Columns = {}
        for file, constants in self._files:
            for name, type in (*file.columns.items(), *dict.fromkeys(constants, STRING).items()):
                known = found.get(name, _NULL)
                if known not in (_NULL, type) and type != _NULL:
                    reason = f"its column `{name}` is of type {type}, and of type {known} in other files of the table"
                    raise Abend(unreadable(file.file, reason, "compare the files one by one"))
                found[name] = type if known == _NULL else known
        self.columns = {name: STRING if type == _NULL else type for name, type in found.items()}

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Columns of these names, one at least, which are called by their places in them from `0`."""
        types = [self.columns.get(name, STRING) for name in names]
        schema = pa.schema([(f"{place}", type) for place, type in enumerate(types)])
        for file, constants in self._files:
            own = [name for name in names if name in file.columns and name not in constants]
            for batch in file.batches(own or [next(iter(file.columns))]):
                rows = len(batch[0])
                columns = dict(zip(own, batch, strict=False))
                arrays = []
                for name, type in zip(names, types, strict=True):
                    array = columns.get(name)
                    if array is None:
                        array = repeated(pa.scalar(constants.get(name), type), rows)
                    arrays.append(array.cast(type) if array.type != type else array)
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _opened(part: PartitionedFile, options: CsvOptions) -> TableFile:
    return CsvFile(part.file, options) if part.kind is CsvFile else part.kind(part.file)
