"""The codes of handler files: GG1xx."""

from __future__ import annotations

from ggfmt.diagnostics.code import Code, error, note, warning

CODES_OF_CONFIGURATION: dict[str, Code] = {
    "GG100": error(
        "an unreadable configuration file",
        "The file does not exist, is a directory, or you have no permission to read it.",
    ),
    "GG101": warning(
        "an unknown property",
        "The key is not a property of the handler or of its format, or its line is part of the value above it. "
        "GoldenGate ignores such a key without a message.",
    ),
    "GG102": warning(
        "a property under another name",
        "The key is a misprint of the manual or an alias. ggfmt reads it as the property's real name.",
    ),
    "GG103": error(
        "an illegal value",
        "The value is not one of the property's legal values.",
    ),
    "GG104": error(
        "a listed handler without properties",
        "`gg.handlerlist` names a handler, but no key configures it.",
    ),
    "GG105": error(
        "no handler to run",
        "`gg.handlerlist` is missing or empty, or `--handler` names none of its handlers.",
    ),
    "GG106": error(
        "an unknown format",
        "`gg.handler.<name>.format` is not the name of a format that ggfmt writes. `ggfmt formats` lists them.",
    ),
    "GG107": warning(
        "a property with several values",
        "The key occurs more than once, with different values. As in Java, the last one counts.",
    ),
    "GG108": error(
        "malformed properties syntax",
        "The line is not valid Java properties syntax, for example because of a bad `\\uXXXX` escape.",
    ),
    "GG109": error(
        "a required property is missing",
        "The handler cannot run without the property.",
    ),
    "GG110": warning(
        "a property of another format or type",
        "GoldenGate knows the property, but not for the chosen format or `type`: it has no effect.",
    ),
    "GG111": warning(
        "a property of another release",
        "The release in `ggfmt.compatibility` does not have the property: a later release introduced it, or an earlier "
        "one removed it. The target release ignores it. ggfmt reports the first such property of a handler, with the "
        "releases that have all its properties.",
    ),
    "GG112": error(
        "a format that the handler does not support",
        "The handler's `type`, or another of its properties, excludes the format; GoldenGate does not start with it.",
    ),
    "GG113": warning(
        "text that looks like a comment",
        "A comment is a separate line that starts with `#` or `!`. `--`, `//` and `;` do not start a comment. A "
        "comment cannot follow a value on its line, nor a line that ends with a backslash. Otherwise the text is part "
        "of the key or of the value.",
    ),
    "GG114": warning(
        "trimmed white space",
        "GoldenGate removes white space and control characters from both ends of a value, so that `\\n` alone becomes "
        "an empty value. To keep them, use `CDATA[...]`.",
    ),
    "GG115": warning(
        "an unclosed `CDATA[`",
        "GoldenGate unwraps a value only if it starts with `CDATA[`, in capitals, and ends with `]`. Otherwise the "
        "value stays as it is.",
    ),
    "GG116": warning(
        "ambiguous delimiters",
        "Two delimiters of a message are equal, or one contains the other. Or a delimiter is part of the text for a "
        "NULL or a missing column. No reader can distinguish the parts of such a message.",
    ),
    "GG117": warning(
        "a delimiter of several characters",
        "Hive and most other readers of delimited text support only delimiters of one character. A value that looks "
        "like a character code, such as `0x01`, is several characters; only `\\u0001`, `\\t`, `\\n`, `\\r` and `\\f` "
        "are one.",
    ),
    "GG118": warning(
        "text that the encoding lacks",
        "The `encoding` of the messages cannot represent the text. GoldenGate and ggfmt write question marks instead.",
    ),
    "GG119": note(
        "a schema directory that does not exist",
        "GoldenGate does not create the directory. ggfmt creates it with the first schema.",
    ),
    "GG120": warning(
        "a replacement that is not applied",
        "Number the pairs of `gg.schemareplaceregex` and `gg.contentreplaceregex` from 1 without a gap. Each "
        "replacement string needs its regular expression.",
    ),
    "GG121": note(
        "a row format that needs complete images",
        "With `pkUpdateHandling=delete-insert`, an update of the primary key becomes a delete of the before image and "
        "an insert of the after image. If the database logs only changed columns (without supplemental logging of all "
        "columns), the insert lacks all columns that did not change.",
    ),
    "GG122": warning(
        "an ignore comment without effect",
        "The comment `# ggfmt: ignore CODE, ...` silences findings of these codes at one key. Write it directly above "
        "the key, or above other comments of the key. Here, the key has no such finding, or the code does not exist.",
    ),
    "GG123": warning(
        "an unknown handler type",
        "ggfmt does not know the `type`. It is not a type of GoldenGate, and not the name of a Java class, which "
        "contains a dot. ggfmt accepts the properties of all types.",
    ),
    "GG124": note(
        "a skipped handler",
        "Handlers of this type make messages or rows of a database without a formatter, or their default output is "
        "unknown. ggfmt has no messages for this handler. It runs the other handlers of the file.",
    ),
    "GG125": note(
        "a property that is not known for the type",
        "No source that ggfmt knows names the property for handlers of this `type`. GoldenGate may have it "
        "nevertheless: not every table of its manuals was available.",
    ),
    "GG127": error(
        "messages that would differ",
        "GoldenGate has the property, and it changes GoldenGate's messages. ggfmt does not support it, and by default "
        "writes no messages that differ. To write them as if the property were absent, set `ggfmt.uncovered=ignore`. "
        "`validate-config` only warns, because GoldenGate takes the file.",
    ),
    "GG128": note(
        "a repeated property",
        "The key occurs more than once, always with the same value.",
    ),
    "GG129": note(
        "a placeholder left in a value",
        "The value contains a placeholder of a manual or a template, such as `<name>` or `your-bucket`. Replace it "
        "with a real value.",
    ),
    "GG130": note(
        "a line that does not belong to GoldenGate",
        "The line is prose without the `#` of a comment, or a property of another program. GoldenGate ignores it.",
    ),
    "GG131": note(
        "a template of a handler file",
        "The file contains placeholders (`{{ }}`, `{% %}`, `%{ }`, `${ }`) that a program fills in before GoldenGate "
        "reads the file. ggfmt does not check lines with placeholders. If statements (`{% %}`) choose lines, or "
        "placeholders decide which handlers and formats exist, it does not check other lines either.",
    ),
    "GG132": warning(
        "an overridden list of handlers",
        "Two of the given files have a `gg.handlerlist`. The last one counts: the handlers of the other list do not "
        "run.",
    ),
    "GG133": error(
        "invalid settings of the linter",
        "`ggfmt.toml`, the table `[tool.ggfmt]` of a `pyproject.toml`, or an option of `validate-config` names an "
        "unknown code or setting; or the file cannot be read.",
    ),
    "GG134": warning(
        "a transform that is not applied",
        "`gg.transforms` does not name a transform that has properties. GoldenGate does not apply it, and neither does "
        "ggfmt.",
    ),
    "GG135": note(
        "one file name for all tables",
        "The templates give the files of all tables the same name. A run with messages of two tables stops with "
        "`GG514` before it writes anything.",
    ),
    "GG136": note(
        "files that ggfmt does not write",
        "GoldenGate writes control files beside the messages, and ggfmt does not.",
    ),
    "GG137": note(
        "an absolute path that becomes relative",
        "The path is absolute on the machine where GoldenGate runs. ggfmt writes only below its output directory, and "
        "uses the path relative to that directory.",
    ),
    "GG138": error(
        "a release with unknown metadata",
        "GoldenGate for Big Data 19.1 introduced `metaColumnsTemplate`. The metadata that it writes for a handler "
        "without the property are unknown, so ggfmt does not write such messages. Set `metaColumnsTemplate`, or choose "
        "another release with `ggfmt.compatibility`.",
    ),
    "GG139": note(
        "messages without metadata",
        "From release 21 on, messages have only the metadata of `metaColumnsTemplate`. Without this property, a reader "
        "of rows cannot distinguish a delete from an insert.",
    ),
    "GG140": warning(
        "properties of different releases",
        "No release of GoldenGate has all properties of the file. One property came with a release that no longer has "
        "another one. ggfmt follows the newest sign. Remove what the file's release does not have, or name the "
        "release with `ggfmt.compatibility`.",
    ),
    "GG141": error(
        "settings that GoldenGate refuses",
        "Each value is legal, but GoldenGate does not start with them together, or stops at the first operation, "
        "as its manuals say.",
    ),
    "GG142": warning(
        "a value with an unwanted effect",
        "GoldenGate accepts the value, but the value does not do what it seems to do. For example, counts in "
        "`fileNameMappingTemplate` are always 0, and a `*.jar` in a class path names no file.",
    ),
    "GG143": error(
        "a byte order mark",
        "The file starts with a byte order mark of UTF-8. Java takes it for a part of the first key, so that "
        "GoldenGate never sees this property. `validate-config --fix` removes the mark.",
    ),
    "GG144": warning(
        "characters that Java reads as others",
        "Java reads handler files as ISO-8859-1, one byte for a character. A character beyond ASCII in a file in UTF-8 "
        "is two or more characters for GoldenGate, and for ggfmt. Write it as `\\uXXXX`; `validate-config --fix` does "
        "so in texts and delimiters. Comments do not matter.",
    ),
    "GG145": note(
        "an event handler that ggfmt does not run",
        "The event handler loads files into a database, or starts a program. ggfmt keeps the files as the previous "
        "handler wrote them.",
    ),
    "GG146": error(
        "handlers that a target makes itself",
        "With `gg.target`, GoldenGate makes the File Writer and its event handlers itself. For some targets and "
        "releases, the content of the staging files is unknown. To write these files, set `ggfmt.target.format` to "
        "their format, and `ggfmt.target.template` to their metadata. `validate-config` only warns, because "
        "GoldenGate takes the file.",
    ),
    "GG147": warning(
        "a character that looks like another",
        "Keys, words and templates of GoldenGate have ASCII characters. Documents, web pages and keyboards put others "
        "in their place: curly quotes, long dashes, full-width signs, and blanks that are special or invisible. "
        "`validate-config --fix` writes the ASCII character.",
    ),
}
