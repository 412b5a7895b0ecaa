"""Shell completion: words, of which typer offers those that fit. Nothing here loads Arrow or reports errors."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from ggfmt.options.spec import OptionSpec

PROGRAM = "ggfmt"
VARIABLE = "_GGFMT_COMPLETE"
_SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")
_MASTERS = {
    "local[*]": "This machine, with one parallel task per CPU.",
    "local[1]": "This machine, with one task at a time.",
    "spark://": "A standalone cluster: spark://HOST:PORT.",
    "yarn": "The cluster of HADOOP_CONF_DIR.",
    "k8s://": "A Kubernetes cluster: k8s://https://HOST:PORT.",
}
_NO_MASTERS = {"none": "This machine without Spark and without Java, on all cores.", "none[1]": "This process alone."}
_Offers = Iterable[tuple[str, str]]  # words, each with a short description


def words() -> _Offers:
    from ggfmt.config.symbols import titles

    return titles()


def option_sets() -> _Offers:
    from ggfmt.config.symbols import OWNERS, option_sets

    docs = {owner.name: owner.doc for owner in reversed(OWNERS)}
    return ((name, docs[name]) for name in option_sets())


def topics() -> _Offers:
    from ggfmt import docs

    pages = ((topic, page.summary) for topic, page in docs.pages().items())
    return (*pages, *((word, page.title) for word, (page, _) in docs.aliases().items()))


def written_formats() -> _Offers:
    return _formats("writes")


def new_handler_files() -> _Offers:
    from ggfmt.config.handler_file import NEW_TYPES

    types = ((name, type.doc) for name, type in NEW_TYPES.items())
    return (*_formats("writes"), *types, ("replicat", "The parameter file of a Replicat."))


def input_formats() -> _Offers:
    return (("auto", "Decided by the first record."), *_formats("reads"))


def _formats(ability: str) -> _Offers:
    from ggfmt.formats import FORMATS

    return [(name, format.doc) for name, format in FORMATS.items() if getattr(format, ability) is not None]


def handlers(ctx: typer.Context) -> _Offers:
    return ((name, format or "") for name, format in _handlers(ctx.params).items())


def spark_masters() -> _Offers:
    return _MASTERS.items()


def masters() -> _Offers:
    return (*_MASTERS.items(), *_NO_MASTERS.items())


def settings(ctx: typer.Context, incomplete: str) -> _Offers:
    from ggfmt.config.handler_options import HandlerOptions, KafkaOptions, RunOptions
    from ggfmt.config.property_table import FORMAT
    from ggfmt.formats import FORMATS

    known = _handlers(ctx.params)
    parts = incomplete.split(".")
    if incomplete.startswith("gg.handler.") and len(parts) > 3:
        known.setdefault(parts[2], None)
    offers: dict[str, str] = {}
    for name, chosen in (known or {"out": None}).items():
        handler = f"gg.handler.{name}."
        offers |= _lines(handler, (FORMAT, *HandlerOptions.specs(), *KafkaOptions.specs()))
        for format in (chosen,) if chosen in FORMATS else FORMATS:
            offers |= _lines(f"{handler}format.", FORMATS[str(format)].options.specs())
    offers |= _lines("ggfmt.", RunOptions.specs())
    return offers.items()


def _lines(prefix: str, specs: Sequence[OptionSpec]) -> dict[str, str]:
    from ggfmt.options.value_types import Bool, Choice

    lines = {}
    for spec in specs:
        words = ("true", "false") if isinstance(spec.kind, Bool) else ("",)
        for value in spec.kind.words if isinstance(spec.kind, Choice) else words:
            lines[f"{prefix}{spec.name}={value}"] = spec.doc
    return lines


def show_or_install(arguments: Sequence[str]) -> None:
    """Handle `--show-completion SHELL` and `--install-completion SHELL`; without a SHELL, typer handles them."""
    if len(arguments) != 2 or arguments[0] not in ("--show-completion", "--install-completion"):
        return
    from typer import completion

    shell = arguments[1]
    if shell not in _SHELLS:
        sys.stderr.write(f"{PROGRAM}: there is no completion for `{shell}`; shells are {', '.join(_SHELLS)}\n")
        sys.exit(2)
    machinery: Any = completion
    if arguments[0] == "--show-completion":
        print(machinery.get_completion_script(prog_name=PROGRAM, complete_var=VARIABLE, shell=shell))
    else:
        _, file = machinery.install(shell=shell, prog_name=PROGRAM, complete_var=VARIABLE)
        print(f"The completion is in {file} and works in the next shell.")
    sys.exit(0)


def _handlers(parameters: dict[str, Any]) -> dict[str, str | None]:
    """Return the handlers of `gg.handlerlist`, or all with keys, with their formats; none after an error."""
    from ggfmt.config.properties import entries_from_settings, read_properties
    from ggfmt.config.property_names import handler_key

    try:
        sources = [read_properties(str(path)) for path in parameters.get("config") or ()]
        sources.append(entries_from_settings([str(setting) for setting in parameters.get("settings") or ()]))
        entries = [entry for source in sources for entry in source.entries]
        listed = [entry.value for entry in entries if entry.key.lower() == "gg.handlerlist"][-1:]
        keys = [(key, entry) for entry in entries if (key := handler_key(entry.key))]
        names = [name.strip() for name in listed[0].split(",")] if listed else [key.handler for key, _ in keys]
        formats = {key.handler: entry.value.strip().lower() for key, entry in keys if key.is_format}
        return {name: formats.get(name) for name in filter(None, names)}
    except Exception:
        return {}
