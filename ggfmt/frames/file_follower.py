"""Files that grow while a stream reads them: how far each has been read, and whether it is still the same.

A file of lines counts up to its last line end. One of another layout, or one that is compressed, counts once nothing
has been written to it for a while, and may not grow any more then; so does what a file of lines has behind its last
line end. A file is known by its path, or by its inode when its path is gone: logs are renamed. Its first bytes and
those before the place that was reached have to stay as they were.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span
from ggfmt.formats.api.context import WriterSettings
from ggfmt.formats.api.reading import Layout, Reader
from ggfmt.java.text import visible
from ggfmt.scan.files import InputFile, open_input, stat_file, unreadable
from ggfmt.scan.recognition import HEAD_BYTES, PlannedInput
from ggfmt.scan.splits import Range

log = logging.getLogger("ggfmt")

END_BYTES = 4 << 10  # at each end of what was read, for its checksum
_TAIL_BYTES = 1 << 20  # in which the last line end is looked for, and then more
_CHANGED_HELP = "start the stream again with a new checkpoint, or put the file back; files may only grow, line by line"


@dataclass(frozen=True)
class FileProgress:
    """How far a file has been read: its number, the bytes that count, whether no more may follow, and a checksum of
    their ends; `inode` is that of a local file."""

    number: int
    end: int
    closed: bool
    digest: str
    inode: int | None


@dataclass(frozen=True)
class FileFollower:
    """Looks at files for a stream. `settle` is for how many seconds nothing may have been written to a file of which
    all is to count."""

    reader: type[Reader]
    source: WriterSettings
    max_record: int
    settle: float
    seen: dict[str, tuple[object, ...]] = field(default_factory=dict)  # how files were when they were looked at last

    def poll(self, files: Sequence[InputFile], before: Mapping[str, FileProgress]) -> dict[str, FileProgress]:
        """How far files can be read now, with all that were read before; Abend GG533 for one that is another now."""
        renamed = _renamed(files, before)
        after = {path: known for path, known in before.items() if path not in renamed.values()}
        number = max((known.number for known in before.values()), default=-1)
        for file in files:
            state = file.size, file.modified, file.inode
            known = before[renamed[file.path]] if file.path in renamed else after.get(file.path)
            if known is not None and file.path not in renamed and self.seen.get(file.path) != state:
                check(file, known)
            end, closed = self._end(file, known)
            if known is None and end:
                number += 1
                after[file.path] = FileProgress(number, end, closed, digest(file, end), file.inode)
            elif known is not None:
                moved = end > known.end or closed
                after[file.path] = replace(known, end=end, closed=closed, digest=digest(file, end)) if moved else known
            self.seen[file.path] = state
        return after

    def _end(self, file: InputFile, known: FileProgress | None) -> tuple[int, bool]:
        """The bytes of a file that count, and whether it is at its end."""
        if known is not None and known.closed:
            return known.end, False
        settled = file.modified is None or time.time_ns() - file.modified >= self.settle * 1_000_000_000
        if file.compression is None and file.size:
            layout = self.layout(file, file.size)
            if layout.splittable:
                start = 0 if known is None else known.end
                end = _last_line_end(file, start, layout.delimiter or b"\n")
                if end == file.size or not settled:
                    return end, False
        return (file.size, True) if settled else (0 if known is None else known.end, False)

    def layout(self, file: InputFile, size: int) -> Layout:
        """How the records lie in the first bytes of a file."""
        try:
            with open_input(file) as stream:
                head = stream.read(min(size, HEAD_BYTES) if file.compression is None else HEAD_BYTES)
        except (OSError, pa.ArrowException) as error:
            raise Abend(unreadable(file.shown, error)) from None
        layout = self.reader.layout(head, len(head) < HEAD_BYTES, self.source)
        return replace(layout, keys=file.keys, max_record=self.max_record)

    def ranges(
        self,
        start: Mapping[str, FileProgress],
        end: Mapping[str, FileProgress],
        size: int,
        listed: Callable[[], Sequence[InputFile]] = list,
    ) -> list[Range]:
        """What lies between two places of a stream, in the order of the files' numbers; none larger than `size`, where
        a file can be cut. A file that is not at its path any more is looked for among those that are `listed`.

        Abend GG533 if a file is not there any more.
        """
        files: Sequence[InputFile] | None = None
        ranges = []
        read = {known.number: known.end for known in start.values()}
        for path, known in sorted(end.items(), key=lambda item: item[1].number):
            place = read.get(known.number, 0)
            if place >= known.end:
                continue
            file = _at(path, known)
            if file is None:
                files = listed() if files is None else files
                file = _elsewhere(path, known, files)
            file = replace(file, watched=False)  # it may grow on
            item = PlannedInput(file, known.number, self.layout(file, known.end))
            if file.compression is not None or not item.layout.splittable:
                ranges.append(Range(item, 0, None))
                continue
            while place < known.end:
                ranges.append(Range(item, place, min(size, known.end - place)))
                place += size
        return ranges


def _renamed(files: Sequence[InputFile], before: Mapping[str, FileProgress]) -> dict[str, str]:
    """The paths that files had when they were read, by those that they have now."""
    by_inode: dict[int | None, str] = {known.inode: path for path, known in before.items() if known.inode is not None}
    return {
        file.path: path
        for file in files
        if (path := by_inode.get(file.inode, file.path)) != file.path and is_other(file, before[path]) is None
    }


def _at(path: str, known: FileProgress) -> InputFile | None:
    """The file at a path; None if it is not what a stream has read, or more of the same."""
    try:
        file = stat_file(path, path)
    except FileNotFoundError:
        return None
    except (OSError, pa.ArrowException) as error:
        raise Abend(unreadable(path, error)) from None
    return file if is_other(file, known) is None else None


def _elsewhere(path: str, known: FileProgress, files: Sequence[InputFile]) -> InputFile:
    """A file that a stream has read at another path: that of its inode, or else one of its content. Its rows keep the
    name that they had. Abend GG533 if there is none."""
    by_inode = [file for file in files if file.inode is not None and file.inode == known.inode]
    for file in (*by_inode, *files):
        if file.path != path and is_other(file, known) is None:
            log.info("`%s` has become `%s`: the stream reads it there", visible(path), visible(file.shown))
            return replace(file, shown=path)
    file = found(path)
    check(file, known)
    return file


def check(file: InputFile, known: FileProgress) -> None:
    """Abend GG533 if a file is not what a stream has read, or more of the same."""
    problem = is_other(file, known)
    if problem is not None:
        raise Abend(Diagnostic("GG533", problem, Span(file=file.shown), _CHANGED_HELP))


def is_other(file: InputFile, known: FileProgress) -> str | None:
    """Why a file is not what a stream has read, or more of the same; None if it is."""
    if file.size < known.end:
        return f"the file had {known.end} bytes when the stream read it, and has {file.size} now"
    if known.closed and file.size != known.end:
        return f"the file was complete with {known.end} bytes when the stream read it, and has {file.size} now"
    if digest(file, known.end) != known.digest:
        return "the file has other bytes than when the stream read it: another one took its place"
    return None


def digest(file: InputFile, end: int) -> str:
    """A checksum of the first bytes of a file, and of those before a place."""
    try:
        with open_input(replace(file, packed=False)) as stream:
            ends = stream.read(min(END_BYTES, end))
            stream.seek(max(len(ends), end - END_BYTES))
            ends += stream.read(min(END_BYTES, end - len(ends)))
    except (OSError, pa.ArrowException) as error:
        raise Abend(unreadable(file.shown, error)) from None
    return hashlib.sha256(ends).hexdigest()[:32]


def found(path: str) -> InputFile:
    try:
        return stat_file(path, path)
    except FileNotFoundError:
        problem = "the file is gone, and the stream has not read all of it"
        raise Abend(Diagnostic("GG533", problem, Span(file=path), _CHANGED_HELP)) from None
    except (OSError, pa.ArrowException) as error:
        raise Abend(unreadable(path, error)) from None


def _last_line_end(file: InputFile, start: int, delimiter: bytes) -> int:
    """The place behind the last line of a file; `start` if no line ends behind that."""
    back = _TAIL_BYTES
    try:
        with open_input(file) as stream:
            while True:
                begin = max(start, file.size - back)
                stream.seek(begin)
                place = stream.read(file.size - begin).rfind(delimiter)
                if place >= 0:
                    return begin + place + len(delimiter)
                if begin == start:
                    return start
                back *= 4
    except (OSError, pa.ArrowException) as error:
        raise Abend(unreadable(file.shown, error)) from None
