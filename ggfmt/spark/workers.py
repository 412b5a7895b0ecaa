"""What workers need: this package, as a zip file, the right Python, and libraries."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import logging
import os
import pickle
import platform
import sys
import sysconfig
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ggfmt.dataclasses import dataclass
from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.spark.target import attempts

if TYPE_CHECKING:
    from ggfmt.spark.jobs import SparkJobs

log = logging.getLogger("ggfmt")

Item = TypeVar("Item")
Result = TypeVar("Result")

_EARLIEST = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip file can hold
_PACKAGE = Path(__file__).resolve().parents[1]


def link_spark_home(home: Path, links: Path) -> Path:
    """Make a Spark home of symbolic links, for workers and executors on this machine.

    Spark's workers import its Python from archives without bytecode, which takes a second for each session. In this
    home, directories of the same names link to the packages of this interpreter, with their bytecode. And local-cluster
    writes its `work` directory into the home that it runs from.
    """
    library = links / "python" / "lib"
    library.mkdir(parents=True)
    for entry in home.iterdir():
        if entry.name in ("bin", "jars", "sbin"):
            (links / entry.name).symlink_to(entry)
    for archive in (home / "python" / "lib").glob("*.zip"):
        package = archive.name.removesuffix(".zip").partition("-")[0]
        spec = importlib.util.find_spec(package)
        directory = Path(spec.origin).parent if spec is not None and spec.origin is not None else None
        if directory is not None and directory.is_dir():
            (library / archive.name).mkdir()
            (library / archive.name / package).symlink_to(directory)
        else:
            (library / archive.name).symlink_to(archive)
    return links


def package_reader() -> Callable[[], dict[str, bytes]]:
    """Return a function that reads the files of this package as its Python would import it. It is nested, so pickled by
    value: a worker may have no such package. It imports nothing: a worker keeps what it has imported."""

    def read() -> dict[str, bytes]:
        spec = importlib.util.find_spec("ggfmt")
        if spec is None or spec.origin is None:
            return {}
        root, archive = os.path.dirname(spec.origin), getattr(spec.loader, "archive", None)
        if archive is not None:
            inside = os.path.relpath(root, archive).replace(os.sep, "/")
            with zipfile.ZipFile(archive) as opened:
                names = [name for name in opened.namelist() if name.startswith(f"{inside}/") and name[-1] != "/"]
                return {f"ggfmt{name[len(inside) :]}": opened.read(name) for name in names}
        found = {}
        for directory, folders, names in os.walk(root):
            folders[:] = [folder for folder in folders if folder != "__pycache__"]
            for name in names:
                path = os.path.join(directory, name)
                with open(path, "rb") as file:
                    found[f"ggfmt/{os.path.relpath(path, root)}".replace(os.sep, "/")] = file.read()
        return found

    return read


def zip_package(directory: Path) -> Path:
    """Write this package as a zip file to a directory, for executors that do not have it. Name and bytes depend only on
    the content: Spark accepts a file of one name once, and later only the same file."""
    files = sorted(package_reader()().items())
    digest = hashlib.sha256(repr([(name, hashlib.sha256(data).digest()) for name, data in files]).encode())
    target = directory / f"ggfmt-{digest.hexdigest()[:16]}.zip"
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in files:
            archive.writestr(zipfile.ZipInfo(name, _EARLIEST), data, zipfile.ZIP_DEFLATED)
    return target


def pickle_by_value(value: object) -> bytes:
    from pyspark import cloudpickle

    return bytes(cloudpickle.dumps(value))  # type: ignore[no-untyped-call]


def pack_task(task: Callable[[Item, int], Result], archive: str | None) -> Callable[[], Callable[[Item, int], Result]]:
    """Return a function, pickled by value, that unpickles the task on a worker. It loads the package again if a worker
    loaded another before it got the file `archive`: workers stay, and keep what they have loaded."""
    bytes_of_task = pickle_by_value(task)

    def unpacked() -> Callable[[Item, int], Result]:
        loaded = sys.modules.get("ggfmt")
        if archive is not None and loaded is not None and archive not in str(loaded.__file__):
            for name in [name for name in sys.modules if name.partition(".")[0] == "ggfmt"]:
                del sys.modules[name]
        return pickle.loads(bytes_of_task)  # type: ignore[no-any-return]

    return unpacked


@contextlib.contextmanager
def set_environment(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def python_path() -> str:
    """Return PYTHONPATH with this package's directory, unless installed: that must not hide Python's own modules."""
    if str(_PACKAGE.parent) in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib")):
        return os.environ.get("PYTHONPATH", "")
    return os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(_PACKAGE.parent)]))


# The Python workers of a Spark that ggfmt did not start: their Python, this package, and its libraries.

MAX_FAILURES = "spark.task.maxFailures"
_MAX_ASKED = 8  # maximum number of workers to ask: a cluster usually has one Python
NEEDED = ("pyarrow>=18", "msgspec>=0.21")  # as in pyproject.toml
NEEDED_BY_SOME = ("lxml", "fastavro")  # needed by some formats only: XML, and Avro of GoldenGate and Qlik


@dataclass(frozen=True)
class WorkerFacts:
    """A Python worker: its version, its executable, a digest and the place of its copy of this package, and what it
    lacks. Native kernels and documents are not part of the digest: a worker without them has the same results."""

    version: str
    python: str
    content: str | None
    origin: str | None
    lacks: tuple[str, ...]


Examined = tuple[str, str, "str | None", "str | None", tuple[str, ...]]


def examiner() -> Callable[[], Examined]:
    """Return a function that returns the fields of `WorkerFacts`; nested for the same reason as in `package_reader`."""
    read, libraries = package_reader(), (*NEEDED, *NEEDED_BY_SOME)

    def is_there(requirement: str) -> bool:
        name, _, least = requirement.partition(">=")
        if importlib.util.find_spec(name) is None:
            return False
        if not least:
            return True
        there, asked = (
            [int(part) for part in version.split(".")[:2] if part.isdigit()]
            for version in (importlib.metadata.version(name), least)
        )
        return there >= asked

    def examine() -> Examined:
        try:
            files = read()
        except OSError:
            files = {}
        digest = hashlib.sha256()
        for name in sorted(files):
            if not name.endswith((".so", ".pyd", ".md", ".svg")):
                digest.update(name.encode() + b"\0" + hashlib.sha256(files[name]).digest())
        spec = importlib.util.find_spec("ggfmt")
        return (
            platform.python_version(),
            sys.executable,
            digest.hexdigest() if files else None,
            None if spec is None else spec.origin,
            tuple(requirement for requirement in libraries if not is_there(requirement)),
        )

    return examine


def ask_workers(jobs: SparkJobs, parallelism: int) -> list[WorkerFacts]:
    examine = examiner()
    return [
        WorkerFacts(*answer)
        for answer in jobs.run(lambda item, attempt: examine(), range(min(parallelism, _MAX_ASKED)))
    ]


def prepare_workers(ask: Callable[[str | None], Sequence[WorkerFacts]], send: Callable[[], str]) -> str | None:
    """Make sure that workers import this package as it is here, and log which Python they run.

    `ask` describes some workers, after they have the file of that name. `send` sends a file and returns its name.
    Returns that name, or None if the workers have the package. Raises: Abend GG522 if workers lack something else, or
    import another package even then.
    """
    own = WorkerFacts(*examiner()())
    workers = ask(None)
    check_workers(workers)
    if all(worker.content == own.content for worker in workers):
        return None
    archive = send()
    others = [worker.origin for worker in ask(archive) if worker.content != own.content]
    if others:
        help = "take it out of the PYTHONPATH and the current directory of the workers, or install this one there"
        raise Abend("GG522", f"the workers import another ggfmt than this one, from `{others[0]}`", help=help)
    return archive


def check_workers(workers: Sequence[WorkerFacts]) -> None:
    """Log which Python the workers run. Raises: Abend GG522 if it lacks what all runs need."""
    pythons = ", ".join(sorted({f"{worker.version} (`{worker.python}`)" for worker in workers}))
    missing = {name for worker in workers for name in worker.lacks}
    lacks = [name for name in (*NEEDED, *NEEDED_BY_SOME) if name in missing]
    if missing.intersection(NEEDED):
        raise lack_error(lacks, f", {pythons},")
    lacking = f", without {' and '.join(lacks)}, which some formats need" if lacks else ""
    log.info("the workers run Python %s%s", pythons, lacking)


def lack_error(lacks: Sequence[str], pythons: str = "") -> Abend:
    help = (
        f"install {' '.join(lacks)} for it, or set PYSPARK_PYTHON before Spark starts to a Python with them, such"
        f" as `{sys.executable}` on this machine; `ggfmt docs run-on-a-cluster` has more ways"
    )
    return Abend("GG522", f"the Python of the workers{pythons} lacks {' and '.join(lacks)}", help=help)


def warn_of_single_attempts(master: str, configured: str | None) -> None:
    """Warn of a Spark that stops at the first failed task. `configured`: its value of `MAX_FAILURES`."""
    if attempts(master, configured) == 1:
        log.warning("this Spark (`%s`) tries a task once: a worker that is killed ends the run", master)
