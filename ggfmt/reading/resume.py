"""Results of tasks that stay in staging, so that a run takes up what an interrupted one has done.

A result belongs to its task and its split. The key is a digest of both: of the settings and definitions by which the
task reads and writes, and of the name, size and time of the files of the split. Whatever else changes, such as another
file or the number of workers, a result with the right key is what the task would return.
"""

from __future__ import annotations

import io
import logging
import pickle
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from functools import cached_property, partial
from hashlib import sha256
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Protocol, TypeVar
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa

from ggfmt.commit.store import Store
from ggfmt.dataclasses import dataclass, fields, is_dataclass
from ggfmt.location import Location
from ggfmt.model.table import TableDef
from ggfmt.reading.files import InputFile
from ggfmt.reading.runner import InProcess, Runner, TaskCallback

T = TypeVar("T")
R = TypeVar("R")

_ATTEMPTS = 1 << 32  # of one process
_DIGEST_BYTES = 32

log = logging.getLogger("ggfmt")


class KeptResult(Protocol):
    """The result of a task that may be kept.

    is_whole  the task has done its work to the end
    """

    @property
    def is_whole(self) -> bool: ...

    def staged(self) -> Iterator[tuple[Location, int | None, str | None]]:
        """Yield the files that the task has left in staging: the size and the SHA-256 of each, if they are known."""


def digest_of(*values: object) -> str:
    """Return a digest that two processes share for equal values. Raises: TypeError for a value without one."""
    return sha256(repr(_plain(values)).encode("utf-8", "surrogatepass")).hexdigest()


def _plain(value: Any) -> Any:
    """Return what a value consists of, in types whose `repr` is the same everywhere."""
    if value is None or (isinstance(value, (bool, int, float, str, bytes)) and not isinstance(value, Enum)):
        return value
    if isinstance(value, (tuple, list)):
        return type(value).__name__, *map(_plain, value)
    kind = type(value).__qualname__
    if isinstance(value, TableDef):
        return kind, value.full_name, value.fingerprint
    if isinstance(value, InputFile):
        if value.opened is not None:
            raise TypeError("a stream, which another process does not read again")
        names = ("location", "size", "modified", "inode", "packed", "packing", "keys", "key_schema", "offsets")
        return kind, *(_plain(getattr(value, name)) for name in (*names, "messages", "mark"))
    if isinstance(value, Location):
        return kind, value.address
    if isinstance(value, Mapping):
        return kind, *((_plain(key), _plain(each)) for key, each in value.items())
    if isinstance(value, AbstractSet):
        return kind, *sorted((_plain(each) for each in value), key=repr)
    if isinstance(value, Enum):
        return kind, value.name
    if isinstance(value, partial):
        return kind, *map(_plain, (value.func, value.args, value.keywords))
    if isinstance(value, MethodType):
        return kind, value.__name__, _plain(value.__self__)
    if isinstance(value, (type, FunctionType, BuiltinFunctionType)) and "<" not in value.__qualname__:
        return kind, value.__module__, value.__qualname__
    if isinstance(value, re.Pattern):
        return kind, value.pattern, value.flags
    if isinstance(value, (date, datetime, Decimal)):
        return kind, str(value)
    if isinstance(value, tuple(_OF_ARROW.values())):
        return kind, sha256(_in_arrow(value)).hexdigest()
    if is_dataclass(value):
        return kind, *((each.name, _plain(getattr(value, each.name))) for each in fields(value))
    if isinstance(value, msgspec.Struct):
        return kind, *((name, _plain(getattr(value, name))) for name in value.__struct_fields__)
    raise TypeError(f"a value of the type {type(value).__module__}.{kind}")


_ZONE = "zone"
_OF_ARROW = {"array": pa.Array, "batch": pa.RecordBatch, "schema": pa.Schema, "type": pa.DataType}


def _in_arrow(value: Any) -> bytes:
    """Return one of Arrow's values as a stream of its own: an array or a type as that of the only column."""
    if isinstance(value, pa.Array):
        value = pa.RecordBatch.from_arrays([value], [""])
    elif isinstance(value, pa.DataType):
        value = pa.schema({"": value})
    schema, batches = (value, []) if isinstance(value, pa.Schema) else (value.schema, [value])
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return out.getvalue().to_pybytes()


def _of_arrow(kind: str, content: bytes) -> Any:
    with pa.ipc.open_stream(content) as reader:
        if kind in ("schema", "type"):
            return reader.schema if kind == "schema" else reader.schema.field(0).type
        batch = reader.read_next_batch()
    return batch.column(0) if kind == "array" else batch


# Results in files. No class with effects of its own is made from a file that others may have written.

_CLASSES = {
    ("collections", "Counter"), ("collections", "OrderedDict"), ("collections", "defaultdict"),
    ("datetime", "date"), ("datetime", "datetime"), ("datetime", "timezone"), ("datetime", "timedelta"),
    ("decimal", "Decimal"), ("array", "_array_reconstructor"), ("array", "array"),
    ("builtins", "set"), ("builtins", "frozenset"), ("builtins", "bytearray"), ("builtins", "dict"),
    ("builtins", "list"), ("builtins", "int"), ("builtins", "str"),
}  # fmt: skip


class _Packer(pickle.Pickler):
    """Writes the places of files by the number of a directory and a name, so without credentials."""

    def __init__(self, stream: io.BytesIO, roots: Sequence[Location]) -> None:
        super().__init__(stream, 5)
        self._roots = roots

    def persistent_id(self, value: Any) -> tuple[int | str, str | bytes] | None:
        if isinstance(value, Location):
            for number, root in enumerate(self._roots):
                name = value.name_below(root)
                if name is not None:
                    return number, name
            raise pickle.PicklingError("a place outside of staging and outputs")
        if isinstance(value, ZoneInfo):
            return _ZONE, value.key
        kind = next((name for name, one in _OF_ARROW.items() if isinstance(value, one)), None)
        return None if kind is None else (kind, _in_arrow(value))


class _Unpacker(pickle.Unpickler):
    def __init__(self, content: bytes, roots: Sequence[Location]) -> None:
        super().__init__(io.BytesIO(content))
        self._roots = roots

    def persistent_load(self, given: Any) -> Any:
        number, name = given
        if isinstance(number, str):
            return ZoneInfo(name) if number == _ZONE else _of_arrow(number, name)
        if any(part in ("", ".", "..") for part in name.split("/")):
            raise pickle.UnpicklingError("a place outside of staging")
        return self._roots[number].child(name)

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _CLASSES:
            return super().find_class(module, name)
        if module.startswith("ggfmt."):
            found = super().find_class(module, name)
            plain = isinstance(found, type) and found.__module__.startswith("ggfmt.")
            if plain and (is_dataclass(found) or issubclass(found, (tuple, Enum, msgspec.Struct))):
                return found
        raise pickle.UnpicklingError(f"the class {module}.{name}")


@dataclass(frozen=True)
class _Keeping:
    """A task that keeps its results. `first`: the first number of attempts of this process."""

    task: Callable[[Any, int], Any]
    directory: Location
    roots: Sequence[Location]  # which contain all files that results name
    first: int

    def __call__(self, keyed: tuple[Any, str], attempt: int) -> Any:
        item, key = keyed
        result = self.task(item, self.first + attempt)
        if key and getattr(result, "is_whole", False):
            packed = io.BytesIO()
            try:
                _Packer(packed, self.roots).dump(result)
            except (pickle.PicklingError, TypeError, AttributeError) as error:
                log.debug("the result of a task is not kept: %s", error)
                return result
            content = packed.getvalue()
            draft = f"drafts/{key}-{self.first + attempt}"
            Store(self.directory).put(key, sha256(content).digest() + content, draft)
        return result


class Results:
    """The results of a run in its staging directory.

    roots        the staging directories of the run
    outputs      its output directories
    parallelism  of the runner for which the inputs were cut
    process      how many processes have worked on the run before
    trusted      whether what the files contain is what was written: no power failure came between
    """

    def __init__(
        self,
        roots: Sequence[Location],
        outputs: Sequence[Location],
        parallelism: int,
        process: int = 0,
        trusted: bool = True,
    ) -> None:
        self.parallelism = parallelism
        self._roots, self._places = roots, [*roots, *outputs]
        self._first, self._trusted = process * _ATTEMPTS, trusted
        self._directory = roots[0].child("results")
        self._store = Store(self._directory)

    def over(self, runner: Runner) -> Runner:
        """Return a runner that keeps results, and takes those that are there."""
        return (_ResumingInProcess if isinstance(runner, InProcess) else _ResumingRunner)(runner, self)

    def count(self) -> int:
        return sum(len(name) == 2 * _DIGEST_BYTES for name in self._store.names(""))

    def keys(self, task: Callable[..., Any], items: Sequence[Any]) -> list[str]:
        """Return the keys of results; empty texts if they cannot be kept."""
        try:
            work = digest_of(task)
            return [digest_of(work, item) for item in items]
        except TypeError as error:
            log.debug("results are not kept: %s", error)
            return [""] * len(items)

    def keeping(self, task: Callable[[T, int], R]) -> Callable[[tuple[T, str], int], R]:
        return _Keeping(task, self._directory, self._places, self._first)

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self._store.names("")) if self._first else frozenset()

    @cached_property
    def _sizes(self) -> list[dict[str, int]]:
        return [Store(root).below("") for root in self._roots]

    def found(self, key: str) -> Any:
        """Return the result of a task, or None if there is none, or a file of it is not what it was."""
        content = self._store.read(key) if key in self._names else None
        if content is None or sha256(content[_DIGEST_BYTES:]).digest() != content[:_DIGEST_BYTES]:
            return None
        try:
            result = _Unpacker(content[_DIGEST_BYTES:], self._places).load()
        except Exception as error:  # of another version, or not ours
            log.debug("the result of a task cannot be read: %s", error)
            return None
        return result if all(self._is_there(*file) for file in result.staged()) else None

    def _is_there(self, file: Location, size: int | None, digest: str | None) -> bool:
        for root, sizes in zip(self._roots, self._sizes, strict=True):
            name = file.name_below(root)
            if name is not None:
                store = Store(root)
                same = self._trusted or not store.local or (digest is not None and store.digest(name) == digest)
                return same and name in sizes and size in (None, sizes[name])
        return False


class _ResumingRunner:
    """Runs the tasks that have no result yet on another runner."""

    def __init__(self, runner: Runner, results: Results) -> None:
        self._runner, self._results = runner, results
        self.parallelism = results.parallelism

    def name_jobs(self, purpose: Callable[[], str]) -> Any:
        return self._runner.name_jobs(purpose)

    def run(
        self,
        task: Callable[[T, int], R],
        items: Sequence[T],
        progress: TaskCallback | None = None,
        received: Callable[[R], None] | None = None,
    ) -> list[R]:
        keys = self._results.keys(task, items)
        known = {place: found for place, key in enumerate(keys) if (found := self._results.found(key)) is not None}
        if known:
            log.info("%s of %s tasks are done already", f"{len(known):,}", f"{len(items):,}")
        for result in known.values():
            if received is not None:
                received(result)
        left = [(item, keys[place]) for place, item in enumerate(items) if place not in known]
        rest: list[Any] = [self._results.keeping(task), left, None]
        if progress is not None:
            rest[2] = lambda done, count: progress(done + len(known), len(items))
        if isinstance(self._runner, InProcess):
            rest.append(received)
        made = iter(self._runner.run(*rest) if left else ())
        return [known[place] if place in known else next(made) for place in range(len(items))]


class _ResumingInProcess(_ResumingRunner, InProcess):
    """As one that runs tasks in this process, which passes on each result as soon as it is there."""
