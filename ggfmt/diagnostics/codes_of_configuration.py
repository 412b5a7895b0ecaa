"""The codes of configuration, GG1xx."""

from __future__ import annotations

from ggfmt.diagnostics.code import Code, error, note, warning

CODES_OF_CONFIGURATION: dict[str, Code] = {
    "GG100": error(
        "a configuration file cannot be read", "The file does not exist, is a directory, or may not be read."
    ),
    "GG101": warning(
        "an unknown property",
        "The key is not a property of the handler or of its format, or its line is part of the value above it, so "
        "GoldenGate would ignore it in silence.",
    ),
    "GG102": warning(
        "a property under another name",
        "The key is a misprint of the manual or an alias. It is read as the property's real name.",
    ),
    "GG103": error("an illegal value", "The value is not one of the property's legal values."),
    "GG104": error("a listed handler without properties", "`gg.handlerlist` names a handler that no key configures."),
    "GG105": error(
        "no handler to run", "There is no `gg.handlerlist`, or it is empty, or `--handler` names none of its handlers."
    ),
    "GG106": error("an unknown format", "`gg.handler.<name>.format` is not the id of a format that ggfmt writes."),
    "GG107": warning(
        "a property given twice", "The key occurs more than once, with several values. As in Java, the last one counts."
    ),
    "GG108": error(
        "malformed properties syntax",
        "The line is not valid Java properties syntax, for example a bad `\\uXXXX` escape.",
    ),
    "GG109": error("a required property is missing", "The handler cannot be run without the property."),
    "GG110": warning(
        "a property of another format or type",
        "The property is one that GoldenGate knows, but not of the format or of the `type` that is chosen: it has no "
        "effect.",
    ),
    "GG111": warning(
        "a property of another release",
        "GoldenGate for Big Data has the property from a later release on than `ggfmt.compatibility` says, or not any "
        "more: the release that is meant ignores it. The first such property of a handler is told, with the releases "
        "that have all its properties.",
    ),
    "GG112": error(
        "a format that the handler does not take",
        "The handler's `type`, or another of its properties, rules the format out; GoldenGate does not start with it.",
    ),
    "GG113": warning(
        "a comment that is none",
        "A comment stands on a line of its own and starts with `#` or `!`. `--`, `//` and `;` start none, and behind a "
        "value, or below a line that ends with a backslash, there can be none: the text is part of the key or of the "
        "value.",
    ),
    "GG114": warning(
        "blanks that are trimmed away",
        "Blanks and control characters at both ends of a value are removed, so that `\\n` alone becomes nothing. "
        "`CDATA[...]` keeps them.",
    ),
    "GG115": warning(
        "an unclosed `CDATA[`",
        "A value is unwrapped only if it starts with `CDATA[`, in capitals, and ends with `]`; otherwise it is taken "
        "as it is.",
    ),
    "GG116": warning(
        "delimiters that cannot be told apart",
        "Two delimiters of a message are equal, or one is part of another or of the text that stands for a NULL or a "
        "missing column, so that no reader can take the message apart.",
    ),
    "GG117": warning(
        "a delimiter of several characters",
        "Hive and most other readers of delimited text know delimiters of one character only. What looks like the code "
        "of a character, such as `0x01`, is several characters: only `\\u0001`, `\\t`, `\\n`, `\\r` and `\\f` are one.",
    ),
    "GG118": warning(
        "a text that the encoding lacks",
        "The `encoding` of the messages has no bytes for the text, which is written as question marks.",
    ),
    "GG119": note(
        "a schema directory that does not exist",
        "GoldenGate does not make the directory. ggfmt does, when it writes the first schema.",
    ),
    "GG120": warning(
        "a replacement that is not carried out",
        "The pairs of `gg.schemareplaceregex` and `gg.contentreplaceregex` are numbered from 1 on without a gap, and a "
        "string needs its expression.",
    ),
    "GG121": note(
        "a row format that needs whole images",
        "With `pkUpdateHandling=delete-insert`, an update of the primary key becomes a delete of the before image and "
        "an insert of the after image. If the database logs only what has changed (no supplemental logging of all "
        "columns), the insert lacks all columns that did not change.",
    ),
    "GG122": warning(
        "an ignore comment without effect",
        "`# ggfmt: ignore CODE, ...`, in a comment directly above a key or above other comments of it, silences "
        "findings of these codes at that key. There are none, or there is no such code.",
    ),
    "GG123": warning(
        "an unknown type of handlers",
        "The `type` is not one of GoldenGate's that ggfmt knows, and not the name of a Java class, which has a dot. "
        "Properties of all types are accepted.",
    ),
    "GG124": note(
        "a handler that is left out",
        "Handlers of the type make their messages, or the rows of a database, without a formatter, or what they write "
        "without a `format` is not known: ggfmt has no messages for them. Other handlers of the file are run.",
    ),
    "GG125": note(
        "a property that is not known for the type",
        "Nothing that is known of handlers of this `type` names the property. GoldenGate may have it nevertheless: not "
        "every table of its manuals was at hand.",
    ),
    "GG126": warning(
        "a property that ggfmt does not do",
        "GoldenGate has the property, and its messages follow it. ggfmt does not do it, so that what it writes would "
        "differ: `ggfmt run`, `preview` and `schema` refuse it (`GG127`).",
    ),
    "GG127": error(
        "messages that would differ",
        "GoldenGate has the property, and its messages follow it. ggfmt does not do it, and writes no messages that "
        "would differ. With `ggfmt.uncovered=ignore`, it writes them as if the property were not there.",
    ),
    "GG128": note(
        "a property given twice with one value", "The key occurs more than once, always with the same value."
    ),
    "GG129": note(
        "a placeholder left in a value",
        "The value holds what a manual or a template writes in place of a value, such as `<name>` or `your-bucket`.",
    ),
    "GG130": note(
        "a line that is not GoldenGate's",
        "The line is prose without the `#` of a comment, or a property of another program. GoldenGate ignores it.",
    ),
    "GG131": note(
        "a template of a handler file",
        "The file has places that a program fills in before GoldenGate reads it (`{{ }}`, `{% %}`, `%{ }`, `${ }`). "
        "Lines with such a place are not judged; nor is any other line where they decide on which handlers and formats "
        "there are.",
    ),
    "GG132": warning(
        "a list of handlers that is overridden",
        "Two files that are given together have a `gg.handlerlist` each. The last one counts, so that handlers of the "
        "other do not run.",
    ),
    "GG133": error(
        "settings of the linter that cannot be used",
        "`ggfmt.toml`, the table `[tool.ggfmt]` of a `pyproject.toml`, or an option of `validate-config` names a code "
        "or a setting that there is not, or the file cannot be read.",
    ),
    "GG134": warning(
        "a transform that is not carried out",
        "There are properties of a transform that `gg.transforms` does not name. GoldenGate leaves it out, and so does "
        "ggfmt.",
    ),
    "GG135": note(
        "names of files that do not tell tables apart",
        "The templates give the files of all tables one name. A run with messages of two tables ends before anything "
        "is written (`GG514`).",
    ),
    "GG136": note(
        "files that ggfmt does not write",
        "GoldenGate writes control files beside those of messages, and ggfmt writes none. Or the names of files ask "
        "for something that GoldenGate may know, and ggfmt does not: a run refuses such names (`GG515`).",
    ),
    "GG137": note(
        "a path that is taken as relative",
        "The path is one of the machine that GoldenGate runs on. ggfmt writes nothing outside of its output directory, "
        "and takes the path as one below it.",
    ),
    "GG138": error(
        "a release whose metadata are not known",
        "GoldenGate for Big Data 19.1 brought `metaColumnsTemplate`. What it writes for a handler without one is not "
        "known, so that ggfmt does not write it.",
    ),
    "GG139": note(
        "messages without metadata",
        "From release 21 on messages have the metadata of `metaColumnsTemplate` alone. Without one, a reader of rows "
        "cannot tell a delete from an insert.",
    ),
}
