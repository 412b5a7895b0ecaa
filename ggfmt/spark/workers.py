"""What the Python workers of somebody's Spark have: their Python, this package, and what it needs."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import logging
import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ggfmt.diagnostics.diagnostic import Abend, Diagnostic
from ggfmt.spark.jobs import Jobs
from ggfmt.spark.master import attempts
from ggfmt.spark.package_upload import package_reader

MAX_FAILURES = "spark.task.maxFailures"
_ASKED = 8  # workers, at most: a cluster has one Python as a rule
NEEDED = ("pyarrow>=24", "msgspec")  # an older Arrow has other texts where a slice meets a null
NEEDED_BY_SOME = ("lxml", "fastavro")  # formats: XML, and Avro as GoldenGate and Qlik have it

log = logging.getLogger("ggfmt")


@dataclass(frozen=True)
class Worker:
    """A Python worker: its version, its executable, a digest of the package that it has, where, and what it lacks.

    Native kernels are not part of the digest: a worker without them has the same results.
    """

    version: str
    python: str
    content: str | None
    origin: str | None
    lacks: tuple[str, ...]


Examined = tuple[str, str, "str | None", "str | None", tuple[str, ...]]


def examiner() -> Callable[[], Examined]:
    """A function that tells the fields of `Worker`; nested for the same reason as what `package_reader` gives."""
    read, libraries = package_reader(), (*NEEDED, *NEEDED_BY_SOME)

    def is_there(requirement: str) -> bool:
        name, _, least = requirement.partition(">=")
        if importlib.util.find_spec(name) is None:
            return False
        return not least or int(importlib.metadata.version(name).partition(".")[0]) >= int(least)

    def examine() -> Examined:
        try:
            files = read()
        except OSError:
            files = {}
        digest = hashlib.sha256()
        for name in sorted(files):
            if not name.endswith((".so", ".pyd")):
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


def ask_workers(jobs: Jobs, parallelism: int) -> list[Worker]:
    """What some of the workers of a Spark tell."""
    examine = examiner()
    return [Worker(*answer) for answer in jobs.run(lambda item, attempt: examine(), range(min(parallelism, _ASKED)))]


def prepare_workers(ask: Callable[[str | None], Sequence[Worker]], send: Callable[[], str]) -> str | None:
    """See that workers import this package as it is here, and tell which Python they run.

    `ask` asks some of them, once they have the file of that name. `send` sends a file, whose name it gives, and which
    is the result; None if there is no need. Abend GG522 if workers lack something else, or import another package even
    then.
    """
    own = Worker(*examiner()())
    workers = ask(None)
    _tell(workers)
    if all(worker.content == own.content for worker in workers):
        return None
    archive = send()
    others = [worker.origin for worker in ask(archive) if worker.content != own.content]
    if others:
        message = f"the workers import another ggfmt than this one, from `{others[0]}`"
        help = "take it out of the PYTHONPATH and the current directory of the workers, or install this one there"
        raise Abend(Diagnostic("GG522", message, help=help))
    return archive


def _tell(workers: Sequence[Worker]) -> None:
    """One line on the workers; Abend GG522 if they cannot run a task."""
    pythons = ", ".join(sorted({f"{worker.version} (`{worker.python}`)" for worker in workers}))
    missing = {name for worker in workers for name in worker.lacks}
    lacks = [name for name in (*NEEDED, *NEEDED_BY_SOME) if name in missing]
    if missing.intersection(NEEDED):
        message = f"the Python of the workers, {pythons}, lacks {' and '.join(lacks)}"
        help = (
            f"install {' '.join(lacks)} for it, or set PYSPARK_PYTHON, before Spark starts, to a Python that has them;"
            " `ggfmt docs spark` has more ways"
        )
        raise Abend(Diagnostic("GG522", message, help=help))
    lacking = f", without {' and '.join(lacks)}, which some formats need" if lacks else ""
    log.info("the workers run Python %s%s", pythons, lacking)


def warn_of_single_attempts(master: str, configured: str | None) -> None:
    """Warns of a Spark that gives up with the first task that fails; `configured` is what it has for `MAX_FAILURES`."""
    if attempts(master, configured) == 1:
        log.warning("this Spark (`%s`) tries a task once: a worker that is killed ends the run", master)
