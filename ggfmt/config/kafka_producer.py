"""The producer files of Kafka: the one that a handler names, which GoldenGate finds by its class path, and others."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence

from ggfmt.config.comments import before_comment
from ggfmt.config.properties import SETTINGS, Entry, entries_from_settings, read_properties
from ggfmt.diagnostics.diagnostic import ConfigurationError, MissingFileError, Span
from ggfmt.java.text import trim, visible
from ggfmt.kafka.address import KafkaAddress
from ggfmt.kafka.client import ClientSettings
from ggfmt.kafka.properties import Property, client_settings, variables

DEFAULT_FILE = "kafka-producer-default.properties"

log = logging.getLogger("ggfmt")


def producer_properties(
    handler: str | None,
    files: Sequence[str],
    settings: Sequence[str],
    given: str | None,
    environment: Mapping[str, str],
) -> Iterator[list[Property]]:
    """Yield the properties of the producer, for `client_settings`: of the file that a handler names, of the one that is
    given by `--producer-config`, and of the environment.

    `handler`: its name, None without one; `files`, `settings`: where its properties are. Raises: MissingFileError with
    GG576 or GG100 for a file that cannot be found or read; ConfigurationError with GG108 for malformed escapes.
    """
    file = None if handler is None else _file_of_handler(handler, files, settings, given)
    for path in (file, given):
        if path is not None:
            log.info("reading the settings of the producer from `%s`", visible(path))
            yield _properties(path)
    yield variables(environment)


def client_of(address: KafkaAddress, given: str | os.PathLike[str] | None) -> ClientSettings:
    """Return settings for clients without a handler, by `--producer-config` and the environment. Raises: as above, and
    as `client_settings`."""
    file = None if given is None else os.fspath(given)
    return client_settings(address, *producer_properties(None, (), (), file, os.environ))[0]


def _properties(path: str) -> list[Property]:
    parsed = read_properties(path)
    if parsed.diagnostics:  # without the lines, which may be parts of keys
        error = MissingFileError if parsed.missing else ConfigurationError
        raise error.of(*(diagnostic.at(source=None) for diagnostic in parsed.diagnostics))
    return [
        Property(entry.key, entry.value, Span(path, entry.line, entry.column, max(entry.key_length, 1)))
        for entry in parsed.entries
    ]


def _file_of_handler(handler: str, files: Sequence[str], settings: Sequence[str], given: str | None) -> str | None:
    entries = [entry for file in files for entry in read_properties(file).entries]
    entries += entries_from_settings(settings).entries
    named = _last(entries, f"gg.handler.{handler}.kafkaProducerConfigFile")
    class_path = _last(entries, "gg.classpath")
    name = DEFAULT_FILE if named is None else before_comment(named)
    is_elsewhere = named is not None and named.file != SETTINGS
    start = [os.path.dirname(path) for path in ([named.file] if named is not None and is_elsewhere else files)]
    parts = [] if class_path is None else map(trim, class_path.value.split(":"))
    places = [*start, *(os.path.join(place, part) for part in parts if part and "*" not in part for place in start)]
    candidates = dict.fromkeys(os.path.normpath(os.path.join(place, name)) for place in places)
    found = next(filter(os.path.isfile, candidates), None)
    if found is None and named is None:
        log.info("the handler `%s` names no file of a producer, and `%s` does not exist", visible(handler), name)
    elif found is None and given is None:
        looked = ", ".join(f"`{visible(path)}`" for path in candidates)
        help = f"give the file by `--producer-config FILE`; ggfmt looked for {looked}"
        message = f"the file of the producer `{visible(name)}` does not exist"
        raise MissingFileError("GG576", message, named.value_span if named is not None else Span(), help)
    return found


def _last(entries: Sequence[Entry], key: str) -> Entry | None:
    return next((entry for entry in reversed(entries) if entry.key.lower() == key.lower()), None)
