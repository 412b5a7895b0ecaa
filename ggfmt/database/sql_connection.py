"""A connection by SQLAlchemy to a database such as MariaDB. A password reaches the driver and nothing else."""

from __future__ import annotations

import logging
import os
import re
from abc import abstractmethod
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from ggfmt.database.postgresql import READ_HELP, DatabaseConnection, shown_url
from ggfmt.dataclasses import dataclass
from ggfmt.diagnostics.diagnostic import (
    IMPORT_ERRORS,
    Abend,
    UsageError,
    names_secret,
    package_error,
    without_credentials,
)
from ggfmt.lazy import lazy_regex

# Without a handler Python would print what SQLAlchemy logs of a lost connection, with tracebacks.
logging.getLogger("sqlalchemy").addHandler(logging.NullHandler())

PASSWORD = "GGFMT_DATABASE_PASSWORD"  # the variable with the password of a URL that has none
# Dialects of SQLAlchemy whose URLs are known without `+DRIVER`; others need it.
_DIALECTS = ("mysql", "mariadb", "oracle", "mssql", "sqlite")
MYSQL_DIALECTS = ("mysql", "mariadb")
_DRIVERS = {"mysql": "pymysql", "mariadb": "pymysql", "oracle": "oracledb"}  # if the URL names none
_EXTRAS = {"sqlalchemy": "sqlalchemy", "pymysql": "mysql", "oracledb": "oracle"}
_URL = lazy_regex(r"([a-zA-Z][a-zA-Z0-9_]*)(?:\+([a-zA-Z0-9_]+))?://(?:([^/?#@]*)@)?([^/?#@]*)(/[^?#@]*)?(\?[^@]*)?")
_FILE_URL = lazy_regex(r"(sqlite)(?:\+([a-zA-Z0-9_]+))?://()()(/[^?#]*)?(\?.*)?")  # nothing before an `@` is a secret
_HOST = lazy_regex(r"(\[[^\]]*\]|[^:]*)(?::([0-9]*))?")
_OPTION = lazy_regex(r"[?&]([^=&]*)=([^&]*)")
_CONNECT_SECONDS = 10
_MAX_MESSAGE = 300


def is_sql_database(given: str) -> bool:
    found = re.match(r"([a-zA-Z][a-zA-Z0-9_]*)(\+[a-zA-Z0-9_]+)?://", given)
    return found is not None and (found[2] is not None or found[1].lower() in _DIALECTS)


@dataclass(frozen=True, repr=False)
class _Address:
    """The parts of a URL. `place`: host, port and database, for people."""

    dialect: str
    driver: str | None
    user: str
    database: str
    place: str
    secrets: tuple[str, ...]
    options: tuple[str, ...]


def _parsed(url: str) -> _Address:
    """Raises: UsageError GG580 for a URL with characters that must be escaped; the message has no part of the URL."""
    found = _FILE_URL.fullmatch(url) or _URL.fullmatch(url)
    host = _HOST.fullmatch(found[4]) if found else None
    if found is None or host is None:
        message = "the URL of the database has characters that must be escaped"
        help = "escape `%`, `@`, `/`, `?` and `#` in names and passwords as `%25`, `%40`, `%2F`, `%3F`, `%23`"
        raise UsageError("GG580", message, help=help)
    user, _, password = (found[3] or "").partition(":")
    options = _OPTION.findall(found[6] or "")
    written = [password, *(value for name, value in options if names_secret(name) or name == "odbc_connect")]
    database = unquote((found[5] or "/")[1:])
    place = f"host {unquote(host[1]) or '(local)'}{f', port {host[2]}' if host[2] else ''}"
    place += f", database {database}" if database else ""
    secrets = tuple(secret for text in written for secret in (text, unquote(text)))
    names = tuple(name for name, _ in options)
    return _Address(found[1].lower(), found[2], unquote(user), database, place, secrets, names)


class SqlConnection(DatabaseConnection):
    """A connection by SQLAlchemy. Raises: UsageError GG580 for a URL that is none, GG589 without the driver;
    Abend GG588 if the database does not respond or refuses."""

    def __init__(self, url: str) -> None:
        self.shown = shown_url(url)
        self._address = _parsed(url)
        try:
            import sqlalchemy
        except IMPORT_ERRORS as error:
            raise _missing_driver("sqlalchemy", error) from None
        self._sql = sqlalchemy
        self._secrets = self._address.secrets
        self._connection = self._connected(url)
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _connected(self, url: str) -> Any:
        address, driver = self._address, self._address.driver or _DRIVERS.get(self._address.dialect)
        sqlalchemy = self._sql
        try:
            parsed = sqlalchemy.make_url(url)
            if driver and not address.driver:
                parsed = parsed.set(drivername=f"{address.dialect}+{driver}")
            if address.database:  # SQLAlchemy 2.0 leaves `%20` as it is
                parsed = parsed.set(database=address.database)
            if parsed.password is None and address.dialect != "sqlite" and os.environ.get(PASSWORD):
                parsed = parsed.set(password=os.environ[PASSWORD])
            arguments = _arguments(address, parsed.password is not None) if driver == "pymysql" else {}
            self._secrets = [*self._secrets, str(parsed.password or ""), str(arguments.get("password", ""))]
            engine = sqlalchemy.create_engine(
                parsed, connect_args=arguments, hide_parameters=True, poolclass=sqlalchemy.NullPool
            )
            return engine.connect()
        except ImportError as error:
            raise _missing_driver(driver or error.name or address.dialect, error) from None
        except sqlalchemy.exc.ArgumentError:  # its text has the URL
            help = "write the URL as `mariadb+pymysql://USER@HOST/DATABASE`, and install the package of the dialect"
            message = f"SQLAlchemy does not know the dialect or the driver of `{address.dialect}` URLs"
            raise UsageError("GG589", message, help=help) from None
        except UsageError:
            raise
        except Exception as error:  # drivers raise any
            reason = self._masked(_reason(error))
            help = _connection_help(address, reason)
            raise Abend("GG588", f"cannot connect to {address.place}: {reason}", self.shown, help) from None

    @abstractmethod
    def _start(self) -> None:
        """Begin the transaction."""

    def _described(self, error: Exception) -> tuple[str, str]:
        message = f"the database {self._address.place} reports: {self._masked(_reason(error))}"
        return message, READ_HELP

    def _masked(self, text: str) -> str:
        return without_credentials(super()._masked(text))


# Drivers


def _arguments(address: _Address, has_password: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"connect_timeout": _CONNECT_SECONDS, "charset": "utf8mb4"}
    if not has_password and "read_default_file" not in address.options:
        for name, value in _option_file().items():
            if name == "password" or not address.user:
                found[name] = value
        if os.environ.get("MYSQL_PWD"):
            found["password"] = os.environ["MYSQL_PWD"]
    return {name: value for name, value in found.items() if name not in address.options}


def _option_file() -> dict[str, str]:
    """Return user and password of `[client]` in `~/.my.cnf`. Its host and socket do not count: the URL has them."""
    path = Path("~/.my.cnf").expanduser()
    if not path.is_file():
        return {}
    from pymysql.optionfile import Parser

    parser = Parser()
    try:
        parser.read(path, encoding="utf-8")
    except Exception:  # its text may have a line of the file
        help = "correct the file: it needs a section `[client]` with lines such as `user=NAME`"
        raise UsageError("GG580", "the option file cannot be read", str(path), help) from None
    return {name: parser.get("client", name) for name in ("user", "password") if parser.has_option("client", name)}


def _reason(error: Exception) -> str:
    original = getattr(error, "orig", None) or error
    arguments: tuple[Any, ...] = getattr(original, "args", ())
    text = " ".join(str(arguments[-1] if len(arguments) > 1 else original).split())
    return text[:_MAX_MESSAGE] or type(original).__name__


def _connection_help(address: _Address, reason: str) -> str:
    if "denied" in reason.lower() or "password" in reason.lower() or "ORA-01017" in reason:
        if address.dialect in MYSQL_DIALECTS:
            return "check the user; set MYSQL_PWD, or add the password below `[client]` in `~/.my.cnf`"
        return f"check the user; set {PASSWORD} to the password"
    return "check host, port and database, and that the server runs and accepts TCP/IP connections"


def _missing_driver(package: str, error: BaseException) -> UsageError:
    message = f"reading this database needs the package {package}"
    extra = _EXTRAS.get(package)
    wanted = f"'ggfmt[{extra}]'" if extra else package
    return UsageError.of(package_error("GG589", message, package, error, f"pip install {wanted}"))
