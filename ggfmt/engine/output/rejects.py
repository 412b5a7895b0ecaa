"""Records set aside: their bytes as they were, and beside them why, one JSON object a line."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import msgspec

from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.engine.files import file_system
from ggfmt.engine.output.staging import StagedFile, unique_path

RECORDS, REASONS = "records", "reasons.jsonl"


@dataclass
class RejectFiles:
    """The rejects of one handler in one task. Each record is followed by a line end, which is not its own."""

    directory: str
    handler: str
    split: int
    count: int = 0
    by_code: dict[str, int] = field(default_factory=dict)
    _records: list[bytes] = field(default_factory=list)
    _reasons: list[bytes] = field(default_factory=list)
    _offset: int = 0

    def add(self, record: bytes, diagnostic: Diagnostic) -> None:
        span = diagnostic.span
        reason = {
            "code": diagnostic.code,
            "reason": diagnostic.message,
            "help": diagnostic.help,
            "file": span.file,
            "offset": span.offset,
            "table": span.table,
            "column": span.field,
            "position": span.position,
            "record_offset": self._offset,
            "record_length": len(record),
        }
        self._reasons.append(msgspec.json.encode({key: value for key, value in reason.items() if value is not None}))
        self._records.append(record)
        self._offset += len(record) + 1
        self.count += 1
        self.by_code[diagnostic.code] = self.by_code.get(diagnostic.code, 0) + 1

    def close(self) -> list[StagedFile]:
        """Writes what was added, if anything."""
        if not self.count:
            return []
        return [self._write(RECORDS, self._records), self._write(REASONS, self._reasons)]

    def _write(self, kind: str, lines: list[bytes]) -> StagedFile:
        data = b"\n".join([*lines, b""])
        path = unique_path(self.directory)
        fs, inner = file_system(path)
        with fs.open_output_stream(inner) as stream:
            stream.write(data)
        digest = hashlib.sha256(data).hexdigest()
        return StagedFile(self.handler, kind, "", self.split, 0, path, len(data), 0, len(lines), digest, None, None)
