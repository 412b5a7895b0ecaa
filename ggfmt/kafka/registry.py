"""Schema registries with Confluent's interface: schemas by their ids, and ids by subject and schema."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ggfmt.dataclasses import dataclass, field
from ggfmt.diagnostics.diagnostic import Abend, GgfmtError, Span, UsageError, without_credentials
from ggfmt.java.text import visible
from ggfmt.kafka.client import SECONDS, library
from ggfmt.lazy import lazy_regex

if TYPE_CHECKING:
    from confluent_kafka.schema_registry import SchemaRegistryClient

ENVIRONMENT = "GGFMT_SCHEMA_REGISTRY_"  # precedes the names of settings in capitals, with `_` for `.`
AVRO, JSON = "AVRO", "JSON"  # the kinds of schemas that ggfmt knows
RETRIES = 3
MAX_REFERENCES, MAX_DEPTH = 1000, 50  # of a schema; more would be an attack, or go in a circle
_URL = lazy_regex("(?:https?|mock)://", re.IGNORECASE)
_USER = "basic.auth.user.info"
# The settings of the Python client, by its names and by those of Java.
_NAMES = {
    **{name: (name,) for name in (_USER, "ssl.ca.location", "ssl.certificate.location")},
    **{name: (name,) for name in ("ssl.key.location", "ssl.key.password")},
    "ssl.truststore.location": ("ssl.ca.location",),
    "ssl.keystore.location": ("ssl.certificate.location", "ssl.key.location"),
}
# The only value that a setting can have.
_FIXED = {"basic.auth.credentials.source": "USER_INFO", "ssl.truststore.type": "PEM", "ssl.keystore.type": "PEM"}
SETTINGS = frozenset({*_NAMES, *_FIXED})


def is_url(text: str) -> bool:
    return _URL.match(text) is not None


class UnresolvedReferenceError(ValueError):
    """A schema refers to others that cannot be followed. The text completes a sentence about the schema."""


@dataclass(frozen=True)
class StoredSchema:
    """A schema of a registry: its kind, its text, and the texts of all that it refers to, by the names that it uses."""

    kind: str
    text: str
    references: Mapping[str, str] = field(default_factory=dict)


class SchemaRegistry:
    """A registry. The client keeps its answers. Methods raise Abend GG578 if it refuses, or does not answer.

    `settings` have the names of Java's clients, and can contain passwords; their default is the environment. Pickled to
    tasks with them. Raises: UsageError GG578 for a URL with a user, and for a setting that ggfmt does not support.
    """

    def __init__(self, url: str, settings: Mapping[str, str] | None = None) -> None:
        self.place = Span(file=without_credentials(url))
        if self.place.file != url:
            help = f"set `{_USER}`, or the environment variable `{_variable(_USER)}`"
            raise self._usage_error("the URL of a schema registry cannot have a user or a password", help)
        if settings is None:
            settings = {name: os.environ[_variable(name)] for name in _NAMES if _variable(name) in os.environ}
        self._url, self._settings = url, dict(settings)
        self._config: dict[str, Any] = {"url": url, "timeout": SECONDS, "max.retries": RETRIES}
        for name, value in settings.items():
            if name in _NAMES:
                self._config |= dict.fromkeys(_NAMES[name], value)
            elif _FIXED.get(name) != value.strip():
                message = f"the setting `{name}` of the schema registry is unknown, or has a value without support"
                raise self._usage_error(message, f"give {', '.join(f'`{each}`' for each in _NAMES)}")

    def __reduce__(self) -> tuple[type[SchemaRegistry], tuple[str, Mapping[str, str]]]:
        return SchemaRegistry, (self._url, self._settings)

    def subjects(self) -> int:
        """Return the number of subjects."""
        found: list[str] = []
        with self._errors_stop("the list of subjects"):
            found = self._client.get_subjects()
        return len(found)

    def schema(self, number: int) -> StoredSchema | None:
        """Return the schema of an id; None if the registry does not have the id. Raises: UnresolvedReferenceError."""
        found: Any = None
        with self._errors_stop(f"schema {number}"):
            found = self._client.get_schema(number)
        if found is None:
            return None
        references: dict[str, str] = {}
        self._follow(found, references, ())
        return StoredSchema(found.schema_type or AVRO, str(found.schema_str), references)

    def _follow(self, schema: Any, found: dict[str, str], within: tuple[str, ...]) -> None:
        """Add the texts of what a schema refers to; the first one of a name counts, as for Confluent's clients."""
        for reference in schema.references or ():
            name, subject = str(reference.name), str(reference.subject)
            if name in within or len(within) > MAX_DEPTH or len(found) >= MAX_REFERENCES:
                raise UnresolvedReferenceError("refers to schemas in a circle, or to too many")
            if name in found:
                continue
            version: Any = None
            with self._errors_stop(f"the subject `{visible(subject)}`"):
                version = self._client.get_version(subject, reference.version, deleted=True)
            if version is None:
                what = f"version {reference.version} of `{visible(subject)}`"
                raise UnresolvedReferenceError(f"refers to {what}, which is missing")
            self._follow(version.schema, found, (*within, name))
            found[name] = str(version.schema.schema_str)

    def find(self, subject: str, text: str, kind: str = AVRO) -> int | None:
        """Return the id of a schema; None if the subject does not have the schema."""
        found: Any = None
        with self._errors_stop(f"the subject `{subject}`"):
            found = self._client.lookup_schema(subject, self._schema(text, kind))
        return None if found is None else int(found.schema_id)

    def register(self, subject: str, text: str, kind: str = AVRO) -> int:
        """Return the id of a schema; add it to the subject if the subject lacks it."""
        number: int | None = None
        with self._errors_stop(f"the subject `{subject}`"):
            number = self._client.register_schema(subject, self._schema(text, kind))
        if number is None:
            raise Abend("GG578", f"the schema registry has no subject `{subject}`", self.place)
        return number

    def check(self, subject: str, text: str, kind: str = AVRO) -> None:
        """Raise Abend GG578 if the subject would refuse the schema. Do not register it."""
        fits = True
        with self._errors_stop(f"the subject `{subject}`"):
            fits = self._client.test_compatibility(subject, self._schema(text, kind))
        if not fits:
            message = f"the subject `{subject}` has a schema that the new one is not compatible with"
            raise Abend("GG578", message, self.place, _COMPATIBILITY)

    @staticmethod
    def _schema(text: str, kind: str) -> Any:
        return library("confluent_kafka.schema_registry").Schema(text, kind)

    @cached_property
    def _client(self) -> SchemaRegistryClient:
        client = library("confluent_kafka.schema_registry").SchemaRegistryClient
        made: SchemaRegistryClient = client.new_client(self._config)
        return made

    def _usage_error(self, message: str, help: str) -> UsageError:
        return UsageError("GG578", message, self.place, help)

    @contextmanager
    def _errors_stop(self, subject: str) -> Iterator[None]:
        """Raise Abend GG578 for an error, except that the registry does not have what it is asked for."""
        refused = library("confluent_kafka.schema_registry.error").SchemaRegistryError
        try:
            yield
        except refused as error:
            if error.http_status_code == _NOT_FOUND:
                return
            message = f"the schema registry refuses {subject}: {error.error_message} (HTTP {error.http_status_code})"
            help = _COMPATIBILITY
            if error.http_status_code in (401, 403):
                help = f"set `{_USER}`, or the environment variable `{_variable(_USER)}`"
            raise Abend("GG578", message, self.place, help) from None
        except GgfmtError:
            raise
        except Exception as error:  # the client declares no class for errors of the network, of TLS and of files
            message = f"the schema registry does not answer: {str(error) or type(error).__name__}"
            raise Abend("GG578", message, self.place, "check the address, the network and the certificates") from None


_NOT_FOUND = 404
_COMPATIBILITY = "compare it with the latest version, and change the compatibility of the subject or the topic"


def _variable(name: str) -> str:
    return ENVIRONMENT + name.upper().replace(".", "_")
