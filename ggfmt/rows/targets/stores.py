"""Locations as the libraries of lakehouses take them: URIs, and the settings of a store."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from ggfmt.diagnostics.diagnostic import UsageError, credentials
from ggfmt.location import ENDPOINTS, REGIONS, Location


def check_root(root: Location) -> None:
    """Raises: UsageError GG554 for a path that libraries of lakehouses do not find again."""
    if "%" in root.path:
        message = "the path of a table cannot contain `%`: libraries treat it as an escape"
        raise UsageError("GG554", message, root.shown, "choose another output directory")


def delta_storage(location: Location) -> tuple[str, dict[str, str] | None]:
    """Return what delta-rs opens. Settings that a URI does not have, it takes from the environment as ggfmt does."""
    if location.is_local:
        return location.inner, None
    options: dict[str, str] = {}
    if location.store.family == "s3":
        options = _s3_options(location)
    return location.recorded.partition("?")[0], options


def _s3_options(location: Location) -> dict[str, str]:
    given = dict(parse_qsl(location.address.partition("?")[2]))
    user, password = credentials(location.address)
    options = {"aws_conditional_put": "etag"}  # a commit must not replace another one
    if user and password:
        options |= {"aws_access_key_id": user, "aws_secret_access_key": password}
    region = given.get("region") or next(filter(None, map(os.environ.get, REGIONS)), None)
    options["aws_region"] = region or "us-east-1"
    endpoint = given.get("endpoint_override") or next(filter(None, map(os.environ.get, ENDPOINTS)), None)
    if endpoint:
        scheme = given.get("scheme", "https")
        options["aws_endpoint_url"] = endpoint if "://" in endpoint else f"{scheme}://{endpoint}"
        if options["aws_endpoint_url"].startswith("http://"):
            options["aws_allow_http"] = "true"
    return options


def location_in_catalog(uri: str, properties: Mapping[str, Any]) -> Location:
    """Return the location of a file of an Iceberg table. Settings of the catalog win over the environment."""
    if uri.startswith("file:///"):
        return Location.local(uri.removeprefix("file://"))  # as PyIceberg does, without escapes
    if not uri.startswith(("s3://", "s3a://", "s3n://")):
        return Location.of(uri)
    scheme, _, rest = uri.partition("://")
    user, password = properties.get("s3.access-key-id"), properties.get("s3.secret-access-key")
    secret = f"{quote(user, safe='')}:{quote(password, safe='')}@" if user and password else ""
    endpoint = str(properties.get("s3.endpoint") or "")
    options = {"region": properties.get("s3.region"), "endpoint_override": endpoint.partition("://")[2] or endpoint}
    if endpoint.startswith("http://"):
        options["scheme"] = "http"
    query = urlencode({name: value for name, value in options.items() if value})
    return Location.of(f"{scheme}://{secret}{rest}{'?' if query else ''}{query}")
