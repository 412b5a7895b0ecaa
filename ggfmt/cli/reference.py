"""The commands that explain ggfmt: `formats`, `options`, `explain`, `docs`, `init` and `--version`."""

from __future__ import annotations

import json
import platform
import sys
from pathlib import Path
from shlex import quote
from typing import Annotated, Literal

import typer

from ggfmt.cli.output import emit
from ggfmt.commands.declaration import Argument, Option
from ggfmt.diagnostics.diagnostic import Abend, UsageError, did_you_mean, list_names, listing, suggestion
from ggfmt.options.spec import argument_error
from ggfmt.version import VERSION


def formats() -> None:
    """List the formats: what can be read, written and described by a schema.

    `ggfmt formats`
    """
    from ggfmt.render.pager import paged
    from ggfmt.render.reference import formats_table, print_rich

    with paged():
        print_rich(formats_table(), sys.stdout)


def options(
    name: Annotated[
        str | None,
        Argument(
            metavar="NAME",
            help="A format, a type of handlers or event handlers, `handler`, `process` or `ggfmt`.",
            complete="option_sets",
        ),
    ] = None,
    output_format: Annotated[
        Literal["text", "json", "markdown", "json-schema"],
        Option(panel="Display", help="Format of the list; `json-schema` (without NAME): all keys, for editors."),
    ] = "text",
) -> None:
    """List the properties of a format, of a type of handlers or event handlers, of GoldenGate's process, or of ggfmt.

    `ggfmt options json`

    `ggfmt options kafka`

    `ggfmt options handler --output-format json`

    `ggfmt options --output-format json-schema`
    """
    from ggfmt.config.symbols import option_sets
    from ggfmt.options.reference import as_dict, markdown_table
    from ggfmt.render.pager import paged
    from ggfmt.render.reference import options_table, print_rich

    if output_format == "json-schema":
        from ggfmt.render.editor_schema import editor_schema

        if name is not None:
            raise argument_error(f"the JSON schema has all keys, and `{name}` is given", "leave out the name")
        typer.echo(json.dumps(editor_schema(), indent=2, ensure_ascii=False))
        return
    known = option_sets()
    if name is None:
        raise argument_error("no format or type is given", f"names are {list_names(known)}")
    if name.lower() not in known:
        near = suggestion(name, known)
        legal = f"legal values are {list_names(known)}"
        raise UsageError("GG106", f"unknown format or type `{name}`", help=f"{legal}; {near}" if near else legal)
    sets = known[name.lower()]
    with paged():
        if output_format == "json":
            listed = [as_dict(spec) for specs in sets.values() for spec in specs]
            typer.echo(json.dumps(listed, indent=2, ensure_ascii=False))
            return
        for prefix, specs in sets.items():
            if output_format == "markdown":
                typer.echo(markdown_table(specs))
            else:
                print_rich(options_table(specs, prefix), sys.stdout)


def explain(
    word: Annotated[
        str,
        Argument(
            metavar="WORD",
            help="A code, a property or its value, a key, a format, a release, or a word of a parameter file.",
            complete="words",
        ),
    ],
    output_format: Annotated[
        Literal["text", "json", "markdown"], Option(panel="Display", help="Format of the explanation.")
    ] = "text",
) -> None:
    """Explain a code or a property: its meaning, its legal values, and its effect on a message.

    `ggfmt explain GG103`

    `ggfmt explain delete-insert`

    `ggfmt explain pkUpdateHandling`

    `ggfmt explain gg.handler.json.format.jsonDelimiter`

    `ggfmt explain GETTRUNCATES`
    """
    from ggfmt import docs
    from ggfmt.config.symbols import find_symbol, names_with, nearest
    from ggfmt.render.pager import paged
    from ggfmt.render.reference import explain, explanation_json, explanation_markdown, print_explanation

    symbol = find_symbol(word)
    if symbol is None:
        help = "give a code such as `GG103`, a property or a format"
        if mentions := names_with(word):
            help = f"see {listing(mentions)}"
        elif near := nearest(word):
            help = f"did you mean `{near}`?"
        elif docs.search(word):
            help = f"`ggfmt docs --search {quote(word)}` finds pages"
        raise typer.BadParameter(f"`{word}` is not a code, a property or a format; {help}", param_hint="WORD")
    explanation = explain(symbol, word)
    with paged():
        if output_format == "json":
            typer.echo(explanation_json(explanation), nl=False)
        elif output_format == "markdown":
            typer.echo(explanation_markdown(explanation), nl=False)
        else:
            print_explanation(explanation, sys.stdout)


def version_text() -> str:
    """Return the versions of ggfmt, alone in the first line, and of what it runs on."""
    from ggfmt import kernels
    from ggfmt.spark.installations import find_java

    try:
        java = find_java()
        java_line = f"Java {java.version} in {java.home} ({java.origin})"
    except Abend:
        java_line = "Java: none found"
    return "\n".join(
        (
            f"ggfmt {VERSION}",
            f"Python {platform.python_version()}",
            f"Spark {_installed('pyspark')}",
            java_line,
            f"Arrow {_installed('pyarrow')}",
            f"Kernels: {kernels.state}",
            *([] if kernels.lack is None else [f"  {kernels.COST}", f"  help: {kernels.lack.help}"]),
        )
    )


def _installed(package: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def docs(
    topic: Annotated[
        str | None, Argument(metavar="TOPIC", help="A page, a code, or the id of a format.", complete="topics")
    ] = None,
    search: Annotated[
        str | None, Option(metavar="WORDS", panel="Display", help="List the pages that have these words, best first.")
    ] = None,
) -> None:
    """Show a page of the documents, or list them.

    `ggfmt docs`

    `ggfmt docs --search "primary key"`

    `ggfmt docs output`

    `ggfmt docs GG205`

    `ggfmt docs canal_json`
    """
    from ggfmt import docs
    from ggfmt.render.pager import paged
    from ggfmt.render.reference import print_page, print_topics

    if topic is not None and search is not None:
        raise argument_error("a page and `--search` are given", "leave out one of them")
    found = docs.search(search) if search is not None else []
    if search is not None and not found:
        raise UsageError("GG508", f"no page has the words `{search}`", help="give other words, or fewer")
    if topic is None:
        many = f"{len(found)} page{'s' * (len(found) != 1)}"
        with paged():
            print_topics(
                {many: [(page.topic, line) for page, line, _ in found]} if found else docs.listed(), sys.stdout
            )
        return
    text = docs.find(topic)
    if text is None:
        raise UsageError("GG508", f"unknown page `{topic}`", help=_next_step(topic))
    with paged():
        print_page(text, sys.stdout)


_SHOWN = 6  # pages in a help


def _next_step(topic: str) -> str:
    from ggfmt import docs
    from ggfmt.config.symbols import find_symbol

    about = [page.topic for page, _, is_about in docs.search(topic) if is_about]
    if len(about) > 1:
        return (
            f"{len(about)} pages are about it: {list_names(about[:_SHOWN])}; `ggfmt docs --search {topic}` lists more"
        )
    near = did_you_mean(topic, (*docs.pages(), *docs.aliases()))
    if near is None and find_symbol(topic) is not None:
        return f"`ggfmt explain {topic}` explains it"
    return f"did you mean `{near}`?" if near else "`ggfmt docs` lists the pages"


def init(
    name: Annotated[
        str,
        Argument(
            metavar="NAME",
            help="A format, a type of handlers or event handlers, or `replicat`.",
            complete="new_handler_files",
        ),
    ],
    release: Annotated[
        str | None,
        Option(
            metavar="RELEASE",
            panel="Output",
            help="Write the file for this release of GoldenGate, such as `23ai`; default: the newest that has NAME.",
        ),
    ] = None,
    output: Annotated[
        Path | None, Option("-o", "--output", metavar="FILE", panel="Output", help="Write the file; default: print it.")
    ] = None,
    force: Annotated[bool, Option(help="Replace an existing file.")] = False,
) -> None:
    """Make a handler file with a comment on every property, or the parameter file of a Replicat.

    `ggfmt init json`

    `ggfmt init kafka --release 23ai`

    `ggfmt init parquet`

    `ggfmt init replicat`
    """
    from ggfmt.config.handler_file import NEW_TYPES, handler_file, type_file
    from ggfmt.formats import FORMATS
    from ggfmt.options.releases import UNKNOWN
    from ggfmt.replicat import new_file

    format = FORMATS.get(name)
    if name.lower() == new_file.NAME:
        text = new_file.parameter_file()
    elif name.lower() in NEW_TYPES:
        text = type_file(name.lower(), release)
        if release is not None and NEW_TYPES[name.lower()].since == UNKNOWN:
            emit("warning", f"no source says whether release `{release}` has `{name.lower()}`")
    elif format is not None and format.writes is not None:
        type = format.handler_type or "hdfs"
        text = handler_file(format) if release is None else type_file(type, release, format)
    else:
        known = [*(format.name for format in FORMATS.values() if format.writes is not None), *NEW_TYPES, new_file.NAME]
        help = suggestion(name, known) or f"legal values are {list_names(known)}"
        message = f"unknown format or type `{name}`"
        if format is not None:
            message = f"`{name}` is a format that ggfmt reads, but does not write"
            help = "no handler file is needed to read it: properties are given by `--input-option`"
        raise UsageError("GG106", message, help=help)
    if output is None:
        typer.echo(text, nl=False)
        return
    try:
        with output.open("w" if force else "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        message, help = "the file exists", "name another file, or give `--force` to replace it"
        raise UsageError("GG501", message, str(output), help) from None
    except OSError as error:
        raise UsageError("GG506", f"the file cannot be written: {error.strerror}", str(output)) from None


def samples(
    output: Annotated[
        Path, Option("-o", "--output", metavar="DIR", panel="Output", help="Write the files to this directory.")
    ] = Path("samples"),
) -> None:
    """Write the sample files that the documents use.

    `ggfmt samples`

    `ggfmt samples -o /tmp/samples`
    """
    from ggfmt.docs import sample_files

    written = 0
    for name, content in sample_files().items():
        file = output / name
        try:
            if file.exists() and file.read_bytes() == content:
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("xb") as stream:
                stream.write(content)
        except FileExistsError:
            help = "name another directory with `-o`, or remove the file"
            raise UsageError("GG501", "the file exists, with other content than the sample", str(file), help) from None
        except OSError as error:
            raise UsageError("GG506", f"the file cannot be written: {error.strerror}", str(file)) from None
        written += 1
    typer.echo(f"{written} file{'s' * (written != 1)} written to {output}")
