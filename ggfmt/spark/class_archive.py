"""The class archive: the classes of a start of Spark, ready to map into memory; with it Spark starts faster.

It belongs to the exact Java and the exact jars it was made with, so their identity is in its name. `ggfmt doctor` makes
it; a session starts with it where it is there, and without it otherwise.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from ggfmt.spark.java_home import Java

_SUFFIX = ".jsa"
_AHEAD_OF_TIME = 25  # the first Java whose archives go by that name and need no other to build on


@dataclass(frozen=True)
class ClassArchive:
    """The place of the archive for one Java and one Spark, whether or not it has been made.

    `directory` may not exist; `name` is the beginning of the file's name; `major` is the version of the Java.
    """

    directory: Path
    name: str
    major: int

    @property
    def file(self) -> Path | None:
        """The archive, if there is one that is whole.

        An archive's size is in its name, since Java maps a truncated one and crashes on its missing pages.
        """
        try:
            return next((file for file in self._files() if file.name == self._name_of(file)), None)
        except OSError:
            return None

    @property
    def damaged(self) -> bool:
        """Whether there is nothing but archives that lack a part."""
        return self.file is None and bool(self._files())

    @property
    def others(self) -> list[Path]:
        """The archives beside this one: of another Java, or of another Spark."""
        own = self._files()
        return [file for file in self._files("spark-*") if file not in own]

    @property
    def option(self) -> str | None:
        """The JVM option to start with the archive; None while there is none. Java checks for itself that it fits."""
        file = self.file
        return None if file is None else f'"-XX:{"AOTCache" if self._ahead else "SharedArchiveFile"}={file}"'

    def making(self, made: Path) -> str:
        """The JVM option to make the archive, as the file `made`, when the JVM ends."""
        return f'"-XX:{"AOTCacheOutput" if self._ahead else "ArchiveClassesAtExit"}={made}"'

    def keep(self, made: Path) -> Path:
        """Put the finished archive `made` where a session finds it, in place of an earlier one; where it is now."""
        earlier = self._files()
        file = self.directory / self._name_of(made)
        made.replace(file)
        for old in earlier:
            if old != file:
                old.unlink(missing_ok=True)
        return file

    @property
    def _ahead(self) -> bool:
        return self.major >= _AHEAD_OF_TIME

    def _files(self, name: str = "") -> list[Path]:
        try:
            return sorted(self.directory.glob(f"{name or self.name}.*{_SUFFIX}"))
        except OSError:  # another user's home
            return []

    def _name_of(self, file: Path) -> str:
        return f"{self.name}.{file.stat().st_size}{_SUFFIX}"


def cache_directory() -> Path | None:
    """Where ggfmt keeps archives: `$XDG_CACHE_HOME/ggfmt` or `~/.cache/ggfmt`. None for a user without a home."""
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:
        return None
    return (cache / "ggfmt").absolute()


def can_have_archive(java: Java) -> bool:
    """Whether this Java has the base archive that one builds on, or needs none; small runtimes before 25 lack it."""
    return java.major >= _AHEAD_OF_TIME or (java.home / "lib" / "server" / "classes.jsa").exists()


def class_archive(java: Java, home: Path) -> ClassArchive | None:
    """The place of the archive for this Java and the Spark at `home`.

    None when this Java cannot have one, when there is no place for it, or when Java or Spark cannot be read.
    """
    directory = cache_directory()
    if directory is None or not can_have_archive(java):
        return None
    try:
        identity = [(str(java.home), (java.home / "release").read_text(errors="replace"))]
        for file in (java.home / "lib" / "modules", *sorted((home / "jars").iterdir())):
            status = file.stat()
            identity.append((str(file), f"{status.st_size} {status.st_mtime_ns}"))
    except OSError:
        return None
    key = hashlib.sha256(repr(identity).encode()).hexdigest()[:20]
    return ClassArchive(directory, f"spark-{key}", java.major)
