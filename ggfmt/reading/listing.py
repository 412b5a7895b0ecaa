"""The files that the inputs of a command name: each once, in order, without outputs of ggfmt."""

from __future__ import annotations

import logging
import os
import stat
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from itertools import accumulate
from urllib.parse import unquote

import pyarrow.fs as pafs

from ggfmt.commit.journal import JOURNAL, POINTER
from ggfmt.commit.names import METADATA_DIRECTORY, RECORDS, counted
from ggfmt.commit.records import CONSOLIDATION_MEMBER, NEWER_LAYOUT_HELP, RunRecord, later_layout, records
from ggfmt.commit.store import FAILURES, Store, check_parts, entries_below, hidden_part, is_hidden, is_worth_logging
from ggfmt.commit.versions import shown_path
from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, UsageError, without_credentials
from ggfmt.formats.json.dumps import names_of_keys
from ggfmt.java.text import visible
from ggfmt.kafka import is_kafka
from ggfmt.lazy import lazy_regex
from ggfmt.location import Location, StoreError, is_directory, is_link, local_status
from ggfmt.reading.files import (
    InputFile,
    Listing,
    is_renumbered,
    local_state,
    map_files,
    not_found,
    open_input,
    unreadable,
    unreadable_stops,
)
from ggfmt.reading.standard_input import ARGUMENT, Spool, SpooledInputs

log = logging.getLogger("ggfmt")

_GLOB = lazy_regex(r"[*?\[]")
_LOOKS = 3  # at a directory in which files vanish while it is listed
_NOT_FILES = ("/dev/stdin", "/dev/fd/", "/proc/")  # each process has its own

# Files of keys beside files of values, as Kafka Connect's S3 sink writes them with `store.kafka.keys=true`. The keys
# of the messages in `t+0+0000000000.json` are in `t+0+0000000000.keys.json`, one a line and in the same order
# (`KeyValueHeaderRecordWriterProvider` and `Utils` of confluentinc/kafka-connect-storage-cloud).

_OF_KEYS = lazy_regex(r"(\+[0-9]+\+[0-9]+)\.keys(\.json(?:\.gz)?)$")
_HEAD_BYTES = 64 << 10

# Outputs of ggfmt as input: their manifests say which files are messages, of which handler, and in which order.


class DiffersError(StoreError):
    """The files of an output are not those that its manifests list; a later look may find the commit complete."""


@dataclass(frozen=True)
class _Entry:
    """A file of messages as a manifest lists it. `place` orders the files of all runs; `format` is that of its run."""

    handler: str
    format: str
    size: int | None
    place: tuple[str, int, str]


@dataclass
class _Contents:
    messages: dict[str, _Entry] = field(default_factory=dict)
    schemas: set[str] = field(default_factory=set)
    rejects: dict[str, int] = field(default_factory=dict)
    is_of_rows: bool = False

    @property
    def handlers(self) -> set[str]:
        return {entry.handler for entry in self.messages.values()}


@dataclass(frozen=True)
class CommittedOutput:
    """An output of ggfmt that is, or contains, a directory to read: `inside` is its path in the output, or empty."""

    root: Location
    inside: str

    def select(self, top: Location, files: Sequence[InputFile], named: bool, growing: bool = False) -> list[int]:
        """Return the places of the files of messages among `files`, which are below `top`, in the order of the
        manifests. `named`: `top` is what the user named, not the start of a glob. `growing`: the caller looks again
        later, so that files that are not committed yet are no error.

        If the output itself is named, its manifests alone decide: DiffersError for a file that they do not list, or
        that is missing. Elsewhere in it, what is there is read, but for schemas. Raises: StoreError for messages of
        several handlers or formats, for rows, and for a commit that is not ended; Abend for a damaged manifest.
        """
        store = Store(self.root)
        shown = self.root.shown
        if not growing:
            _check_ended(store, shown)
        contents = _contents(store)
        if contents is None:
            return list(range(len(files)))
        whole = named and not self.inside
        names = {self._name(top, file): place for place, file in enumerate(files)}
        listed = {name: entry for name, entry in contents.messages.items() if name in names}
        others = [name for name in names if name not in listed and name not in contents.schemas]
        if contents.is_of_rows and (listed or whole):
            message = f"`{shown}` holds rows of `ggfmt consolidate`, not changes"
            raise StoreError(
                message, "name the change files that the rows come from; to compare rows, use `ggfmt compare`"
            )
        if whole and not growing:
            _check_whole(store, contents, names, others)
        for name, entry in listed.items():
            size = files[names[name]].size
            if entry.size is not None and size != entry.size:
                message = f"`{store.shown(name)}` has {size:,} bytes, but its manifest lists {entry.size:,}"
                raise DiffersError(message, "restore the file; to check the other files too, use `ggfmt verify`")
        _check_one_handler(self.root, listed.values())
        self._log_selection(shown, contents, listed, sum(name in contents.schemas for name in names))
        if whole:
            if others:
                message = "left for later, because no manifest of `%s` lists them yet: %s, for example `%s`"
                log.info(message, visible(shown), counted(len(others), "file"), visible(others[0]))
        elif others:  # whose place among the others is unknown
            return [place for name, place in names.items() if name not in contents.schemas]
        return [names[name] for name in sorted(listed, key=lambda name: listed[name].place)]

    def _name(self, top: Location, file: InputFile) -> str:
        name = file.location.name_below(top)
        assert name is not None
        return "/".join(filter(None, (self.inside, name if top.is_local else unquote(name))))

    def _log_selection(self, shown: str, contents: _Contents, listed: Mapping[str, _Entry], schemas: int) -> None:
        start = f"{self.inside}/" if self.inside else ""
        rejects = sum(number for name, number in contents.rejects.items() if name.startswith(start))
        left = [counted(schemas, "schema")] if schemas else []
        left += [counted(rejects, "rejected record")] if rejects else []
        if listed:
            handler = next(iter(listed.values())).handler
            message = "`%s` is an output of ggfmt: %s of handler `%s`, in the order of its manifests"
            log.info(message, visible(shown), counted(len(listed), "file"), visible(handler))
        if left:
            level = logging.WARNING if rejects else logging.INFO
            log.log(level, "skipped in the output `%s`: %s", visible(shown), " and ".join(left))


def output_at(top: Location) -> CommittedOutput | None:
    """Return the output of ggfmt that is, or contains, a directory; None if there is none."""
    root: Location | None = Location.local(os.path.realpath(top.path)) if top.is_local else top
    inside: list[str] = []
    while root is not None:
        mark = root.child(METADATA_DIRECTORY)
        try:
            found = is_directory(mark.path) if mark.is_local else mark.info().type == pafs.FileType.Directory
        except FAILURES as error:  # the user may be allowed to read only the input
            if mark.is_local and not isinstance(error, PermissionError):
                raise
            return None
        if found:
            return CommittedOutput(root, shown_path("/".join(inside)))
        inside.insert(0, root.name)
        root = root.parent
    return None


def _check_ended(store: Store, shown: str) -> None:
    for name in (JOURNAL, POINTER):
        if store.exists(name):
            help = "wait for the active run; if no run is active, run ggfmt with this output again to finish the commit"
            raise DiffersError(f"the commit of a run to `{shown}` is not finished", help)


def _check_whole(store: Store, contents: _Contents, names: Mapping[str, int], others: Sequence[str]) -> None:
    """Raise DiffersError unless the files of an output are those that its manifests list."""
    handlers = ", ".join(f"`{store.shown(handler)}`" for handler in sorted(contents.handlers)) or "its files"
    if others:
        message = f"no manifest of the output lists {_first_of(store, others)}"
        help = f"name the input: {handlers}, or the other files; or move the other files out of the output"
        raise DiffersError(message, help)
    missing = [name for name in contents.messages if name not in names]
    if missing:
        message = f"the output lacks {_first_of(store, missing)}"
        help = f"restore the missing files; to read only the existing files, name {handlers}"
        raise DiffersError(f"{message}, which its manifests list", help)


def _first_of(store: Store, names: Sequence[str]) -> str:
    others = f" and {counted(len(names) - 1, 'other file')}" if len(names) > 1 else ""
    return f"`{store.shown(names[0])}`{others}"


def _check_one_handler(root: Location, listed: Collection[_Entry]) -> None:
    """Raise StoreError for messages of several handlers, each of which has all operations, and for several formats."""
    handlers = sorted({entry.handler for entry in listed})
    if len(handlers) > 1:
        names = ", ".join(f"`{handler}`" for handler in handlers)
        message = f"`{root.shown}` has the messages of {len(handlers)} handlers, each with all operations: {names}"
        raise StoreError(message, f"name the directory of one handler, such as `{root.show(handlers[0])}`")
    formats = sorted({entry.format for entry in listed if entry.format})
    if len(formats) > 1:
        names = ", ".join(f"`{name}`" for name in formats)
        message = f"handler `{handlers[0]}` has written files of several formats to `{root.shown}`: {names}"
        raise StoreError(message, "name the files of one format, by their directories or by a glob")


def _contents(store: Store) -> _Contents | None:
    """Return the files that all records of an output list; None if it has no record."""
    found = _Contents()
    runs: Counter[str] = Counter()
    for record in records(store):
        later = later_layout(record.document)
        if later is not None:
            raise Abend("GG561", later, store.shown(record.place), NEWER_LAYOUT_HELP)
        stamp = str(record.document.get("time") or record.document.get("run"))
        runs[stamp] += 1
        _add(found, record, store, stamp)
    # The numbers of files order two runs of one time; the ids of the runs do not.
    for name, entry in found.messages.items():
        if runs[entry.place[0]] > 1:
            found.messages[name] = replace(entry, place=(entry.place[0], 0, name))
    return found if runs else None


def _add(found: _Contents, record: RunRecord, store: Store, stamp: str) -> None:
    found.schemas.update(name for name, _ in record.schemas(store))
    found.is_of_rows |= CONSOLIDATION_MEMBER in record.document
    about = record.document.get("handlers")
    handlers = about if isinstance(about, dict) else {}
    for number, (name, entry) in enumerate(record.files(store)):
        if "table" in entry:
            handler, size = str(entry.get("handler")), entry.get("bytes")
            settings = handlers.get(handler)
            format = str(settings.get("format", "")) if isinstance(settings, dict) else ""
            place = stamp, number, name
            found.messages[name] = _Entry(handler, format, size if isinstance(size, int) else None, place)
        elif name.endswith(f".{RECORDS}"):
            found.rejects[name] = int(entry.get("rejects", 0))


def with_keys(files: Iterable[InputFile]) -> list[InputFile]:
    """Return the files without those of keys, whose names of columns go to the files of values. A file of keys is
    called so (`<topic>+<partition>+<offset>.keys.json`) beside that of its values, and begins with nothing but keys."""
    listed = {file.location: file for file in files}
    beside = {
        keys: values
        for keys in listed
        if (path := _OF_KEYS.sub(r"\1\2", keys.path)) != keys.path and (values := replace(keys, path=path)) in listed
    }
    taken = 0
    found = map_files([listed[keys] for keys in beside], _names)
    for (keys, values), names in zip(beside.items(), found, strict=True):
        if names is not None:
            listed[values] = replace(listed[values], keys=names)
            del listed[keys]
            taken += 1
    if taken:
        log.info("the keys of %s are in separate files of keys", counted(taken, "file"))
    return list(listed.values())


def _names(file: InputFile) -> tuple[str, ...] | None:
    with unreadable_stops(file.shown), suppress(FileNotFoundError), open_input(file) as stream:
        return names_of_keys(stream.read(_HEAD_BYTES))
    return None


@dataclass(frozen=True)
class _ListedFile:
    """A file, the key that identifies it under all its names, its path for the order, and whether it is a link."""

    file: InputFile
    key: object
    path: str
    linked: bool = False


@dataclass
class _SkippedInputs:
    """What the listing left out, for the log: second names of files (each with the first), links to directories that
    are read anyway, outputs of ggfmt, pipes and devices, and hidden names."""

    doubles: list[tuple[str, str]] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    specials: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)

    def add(self, other: _SkippedInputs) -> None:
        self.links += other.links
        self.outputs += other.outputs
        self.specials += other.specials
        self.hidden += other.hidden

    def log_skipped(self) -> None:
        if self.doubles:
            again, first = (visible(name) for name in self.doubles[0])
            number = counted(len(self.doubles), "input file")
            log.info("%s named more than once, read once: `%s` is the same file as `%s`", number, again, first)
        read = "a link to a directory that is read already", "links to directories that are read already"
        for level, names, one, many, help in (
            (logging.WARNING, self.links, *read, ""),
            (logging.WARNING, self.outputs, "an output of ggfmt", "outputs of ggfmt", "; to read an output, name it"),
            (logging.WARNING, self.specials, "a pipe, a socket or a device", "pipes, sockets or devices", ""),
            (logging.INFO, self.hidden, "a name that starts with `_` or `.`", "names that start with `_` or `.`", ""),
        ):
            if len(names) == 1:
                log.log(level, "skipped %s: `%s`%s", one, visible(names[0]), help)
            elif names:
                log.log(level, "skipped %d %s: `%s` and others%s", len(names), many, visible(names[0]), help)


def list_inputs(
    inputs: Sequence[str], allow_empty: bool = False, spooled: SpooledInputs | None = None, growing: bool = False
) -> list[InputFile]:
    """Return the files that the inputs name, in order: the files of a directory in name order, the matches of a glob.

    A file with several names is read once, in the place of the first; in a directory a link counts after the file.
    Names that start with `_` or `.` are left out below directories, and so are outputs of ggfmt. Files of keys go with
    the files beside them. Inputs that `spooled` takes are read once all others are there.
    If an input is an output of ggfmt, its manifests say what is data, and in which order. `growing`: the caller looks
    again later, so that what is not committed yet is no error.

    UsageError names every input that does not exist, cannot be read, or (but for `allow_empty`) has no files.
    """
    files: dict[object, InputFile | None] = {}
    problems = []
    left = _SkippedInputs()
    for argument, given in enumerate(inputs):
        if spooled is not None and spooled.takes(given):
            files.setdefault(given)
            continue
        try:
            found = _find(given, left, growing)
        except (*FAILURES, ValueError) as error:
            place = getattr(error, "place", None) or getattr(error, "filename", None) or given
            problems.append(unreadable(_shown(place), error))
            continue
        if found is None:
            problems.append(not_found(given))
            continue
        if not found and not allow_empty:
            skipped = "names that start with `_` or `.` are skipped"
            help = f"check the path; {skipped}; to run without input, use `--allow-empty`"
            problems.append(Diagnostic("GG310", "the input has no file to read", given, help))
        new: list[_ListedFile] = []
        for item in sorted(found, key=lambda item: (item.linked, item.path)):
            if (first := files.get(item.key)) is not None:
                left.doubles.append((item.file.shown, first.shown))
            else:
                files[item.key] = replace(item.file, argument=argument)
                new.append(item)
        for item in sorted(new, key=lambda item: item.path):
            files[item.key] = files.pop(item.key)  # last, in name order
    if problems:
        raise UsageError.of(*problems)
    listed: list[InputFile] = []
    for key, file in files.items():
        if file is None:
            assert spooled is not None
            argument = inputs.index(str(key))
            listed += [replace(each, argument=argument) for each in _spooled_files(spooled, str(key))]
        else:
            listed.append(file)
    if not growing:  # a stream lists again and again
        left.log_skipped()
    return with_keys(listed)


def _spooled_files(spooled: SpooledInputs, given: str) -> list[InputFile]:
    if given == ARGUMENT:
        return [Spool(spooled.held, spooled.lazy).standard_input()]
    from ggfmt.reading.topics import files_of

    return files_of(spooled, given)


def _shown(path: str) -> str:
    """A path for people; bytes that are no UTF-8 as `\\xNN`."""
    return without_credentials(os.fsencode(path).decode("utf-8", "backslashreplace"))


def _find(given: str, left: _SkippedInputs, growing: bool) -> list[_ListedFile] | None:
    for look in range(_LOOKS):
        seen = _SkippedInputs()
        try:
            location = Location.of(given)
            if location.is_local:
                found = _LocalListing(given, location.path, seen).find(growing)
            else:
                found = _of_store(given, location, seen, growing)
        except (FileNotFoundError, DiffersError):  # another program renames files in it, or commits to it
            if look == _LOOKS - 1:
                raise
            continue
        left.add(seen)
        return found
    raise AssertionError


def _as_committed(
    output: CommittedOutput | None, top: Location, found: list[_ListedFile], named: bool, growing: bool
) -> list[_ListedFile]:
    """Return the files below a directory; if an output of ggfmt has the directory, as its manifests list them."""
    if output is None:
        return found
    found = sorted(found, key=lambda item: item.path)
    places = output.select(top, [item.file for item in found], named, growing)
    return [replace(found[place], path=f"{number:012}") for number, place in enumerate(places)]


class _LocalListing:
    """One look at the files of a local input. Raises: FileNotFoundError if a file vanishes meanwhile."""

    def __init__(self, given: str, path: str, left: _SkippedInputs) -> None:
        self.left = left
        self._given = given
        self._path = path
        self._is_absolute = os.path.isabs(given) or given.startswith("file:")
        self._found: list[_ListedFile] = []
        self._links: list[str] = []
        self._seen: set[object] = set()

    def find(self, growing: bool) -> list[_ListedFile] | None:
        try:
            status = os.stat(self._path)
        except FileNotFoundError:
            if is_link(self._path):
                raise _broken(self._path) from None
            glob = _GLOB.search(self._path)
            if glob is None:
                return None
            top = Location.local(self._path[: glob.start()].rpartition("/")[0] or "/")
            return _as_committed(output_at(top), top, self._glob(), False, growing)
        if stat.S_ISDIR(status.st_mode):
            top = Location.local(self._path)
            return _as_committed(output_at(top), top, self._below(status), True, growing)
        if not stat.S_ISREG(status.st_mode) or self._path.startswith(_NOT_FILES):
            what = "is not a file, but a pipe, a socket or a device"
            help = "give `-` and pass the data as standard input, or write the data to a file first"
            raise StoreError(f"`{_shown(self._given)}` {what}", help)
        self._add(self._path, status, False)
        return self._found

    def _below(self, status: os.stat_result) -> list[_ListedFile]:
        above = self._path
        self._seen.add(_key(above, status))
        while above != os.path.dirname(above):
            above = os.path.dirname(above)
            self._seen.add(_key(above, os.stat(above)))
        self._walk(self._path)
        # Links come last, so that a file keeps its own path if it has one here.
        while self._links:
            links, self._links = sorted(self._links), []
            for link in links:
                if self._is_new(link, os.stat(link)):
                    self._walk(link, linked=True)
        return self._found

    def _is_new(self, directory: str, status: os.stat_result) -> bool:
        key = _key(directory, status)
        if key in self._seen:
            self.left.links.append(self._name(directory))
            return False
        self._seen.add(key)
        return True

    def _walk(self, top: str, linked: bool = False) -> None:
        directories = [top]
        while directories:
            directory = directories.pop()
            with os.scandir(directory) as scan:
                entries = list(scan)
            if directory != self._path and any(entry.name == METADATA_DIRECTORY for entry in entries):
                self.left.outputs.append(self._name(directory))
                continue
            for entry in entries:
                if is_hidden(entry.name):
                    self._leave_out(entry.path)
                    continue
                if entry.is_symlink():
                    try:
                        status = os.stat(entry.path)
                    except FileNotFoundError:
                        if is_link(entry.path):
                            raise _broken(entry.path) from None
                        raise
                    if stat.S_ISDIR(status.st_mode):
                        self._links.append(entry.path)
                    else:
                        self._add(entry.path, status, True)
                elif entry.is_dir():
                    if self._is_new(entry.path, os.stat(entry.path)):
                        directories.append(entry.path)
                else:
                    self._add(entry.path, os.stat(entry.path), linked)

    def _glob(self) -> list[_ListedFile]:
        paths = ["/"]
        literal = True
        for pattern in self._path.split("/")[1:]:
            literal = literal and not _GLOB.search(pattern)
            paths = [match for path in paths for match in self._matches(path, pattern, literal)]
        for path in paths:
            status = os.stat(path)
            if not stat.S_ISDIR(status.st_mode):
                self._add(path, status, is_link(path))
        return self._found

    def _matches(self, path: str, pattern: str, literal: bool) -> Iterator[str]:
        if literal or not _GLOB.search(pattern):
            if local_status(os.path.join(path, pattern)) is not None:
                yield os.path.join(path, pattern)
            return
        if not is_directory(path):
            return
        for name in sorted(os.listdir(path)):
            match = os.path.join(path, name)
            if not (name == pattern or fnmatchcase(name, pattern)):
                continue
            if is_hidden(name):
                self._leave_out(match)
                continue
            if is_directory(os.path.join(match, METADATA_DIRECTORY)):
                self.left.outputs.append(self._name(match))
            elif local_status(match, follow=True) is not None:
                yield match
            elif is_link(match):
                raise _broken(match)

    def _leave_out(self, path: str) -> None:
        if is_worth_logging(path):
            self.left.hidden.append(self._name(path))

    def _add(self, path: str, status: os.stat_result, linked: bool) -> None:
        if stat.S_ISREG(status.st_mode):
            self._found.append(
                _ListedFile(local_state(path, self._name(path), status), _key(path, status), path, linked)
            )
        else:
            self.left.specials.append(self._name(path))

    def _name(self, path: str) -> str:
        if path == self._path:
            return _shown(self._given)
        return _shown(path if self._is_absolute else os.path.relpath(path))


def _key(path: str, status: os.stat_result) -> object:
    device = local_state(path, "", status).device
    return os.path.realpath(path) if is_renumbered(device) else (device, status.st_ino)


def _broken(link: str) -> StoreError:
    message = f"it is a symbolic link to `{_shown(os.readlink(link))}`, which does not exist"
    return StoreError(message, "remove or repair the link", link)


def _of_store(given: str, location: Location, left: _SkippedInputs, growing: bool) -> list[_ListedFile] | None:
    glob = _GLOB.search(location.path)
    _check_named(location)
    fs, inner = location.file_system()
    info = fs.get_file_info(inner)
    below = location if info.type == pafs.FileType.Directory else None
    pattern: list[str] = []
    if info.type == pafs.FileType.File:
        if location.path.endswith("/") and entries_below(fs, inner)[0]:
            message = f"`{_shown(given)}` is the name of a file and of a directory"
            raise StoreError(
                message, "to read the file, remove the slash at the end; to read the directory, write `/*` at the end"
            )
        return [_stored(location, info)]
    if below is None:
        if glob is None:
            return None
        top = location.path[: glob.start()].rpartition("/")[0]
        pattern = location.path[len(top) + 1 :].split("/")
        below = replace(location, path=top)
        fs, inner = below.file_system()
    found, count = _stored_below(below, inner, fs, left, pattern)
    check_parts((path for path, _ in found), lambda path: _shown(below.child(path).address))
    listing = Listing(below, count)
    listed = [_stored(below.entry(path), item, listing) for path, item in found]
    return _as_committed(output_at(below), below, listed, below == location, growing)


def _check_named(location: Location) -> None:
    """Raise StoreError for a URI with an empty part, which would lead to another key; directories of HDFS have none."""
    if location.store.family not in ("hdfs", "viewfs"):
        check_parts([location.path[1:].rstrip("/") or "x"], lambda _: _shown(location.address))


def _stored_below(
    top: Location, inner: str, fs: pafs.FileSystem, left: _SkippedInputs, pattern: Sequence[str]
) -> tuple[list[tuple[str, pafs.FileInfo]], int]:
    """Return the files below a directory that a pattern matches, or all, with their paths from there, and the number of
    all files below."""
    files, directories = entries_below(fs, inner)
    mark = f"/{METADATA_DIRECTORY}"
    outputs = {path.removesuffix(mark) for path in directories if path.endswith(mark)}
    outputs = {path for path in outputs if hidden_part(path) is None}
    left.outputs += [_shown(top.child(path).address) for path in sorted(outputs)]
    within = tuple(f"{path}/" for path in outputs)
    hidden: dict[str, None] = {}
    found = []
    for path, info in files.items():
        parts = path.split("/")
        matches = len(parts) == len(pattern) and all(map(fnmatchcase, parts, pattern))
        if path.startswith(within) or (pattern and not matches):
            continue
        part = hidden_part(path)
        if part is None:
            found.append((path, info))
        elif is_worth_logging(part):
            hidden[_shown(top.child(part).address)] = None
    left.hidden += hidden
    return found, len(files)


def _stored(location: Location, info: pafs.FileInfo, listing: Listing | None = None) -> _ListedFile:
    file = InputFile(location, info.size, _shown(location.address), info.mtime_ns, listing=listing)
    return _ListedFile(file, location.canonical, location.key)


@dataclass(frozen=True)
class CommitLimits:
    """Limits of one commit: a run with a checkpoint reads what is new in as many commits as it needs. How many files a
    commit reads, and how many bytes of files as they are stored; None: all."""

    max_files: int | None = None
    max_bytes: int | None = None

    def check(self, inputs: Sequence[str], checkpoint: str | None) -> None:
        """Raises: UsageError GG513 for limits that a run cannot keep."""
        topic = next(filter(is_kafka, inputs), None)
        for option, value in (("--max-files", self.max_files), ("--max-bytes", self.max_bytes)):
            if value is None:
                continue
            if checkpoint is None:
                message = f"`{option}` needs `--checkpoint`: without it, all files come in one commit"
                raise UsageError("GG513", message, help="pass a directory to `--checkpoint`")
            if value < 1:
                message = f"`{option}` is {value}, but a commit reads something"
                raise UsageError("GG513", message, help="give a number from 1")
            if topic is not None:
                message, help = f"`{option}` is for files, and an input is a topic", f"leave out `{option}`"
                raise UsageError("GG513", message, without_credentials(topic), help)

    def first(self, files: list[InputFile]) -> list[InputFile]:
        """Return the files of the next commit: the first ones within the limits, or the first one if it is larger."""
        count = len(files) if self.max_files is None else self.max_files
        if self.max_bytes is not None:
            fitting = bisect_right(list(accumulate(file.size for file in files)), self.max_bytes)
            count = min(count, max(fitting, 1))
        return files[:count]


NO_LIMITS = CommitLimits()
