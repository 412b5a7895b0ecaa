"""The XML format once more: slow, obvious, one operation at a time, sharing no code with ggfmt."""

from __future__ import annotations

from oracle import OP_OPTIONS, Options, PlainColumn, PlainImage, PlainOperation, PlainTable


def can_carry(text: str) -> bool:
    """Whether all characters of the text are `Char`s of XML 1.0, 2.2."""
    for character in text:
        code = ord(character)
        legal = code in (0x9, 0xA, 0xD) or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or code >= 0x10000
        if not legal:
            return False
    return True


def attribute(text: str) -> str:
    result = ""
    for character in text:
        if character == "&":
            result += "&amp;"
        elif character == "<":
            result += "&lt;"
        elif character == "'":
            result += "&apos;"
        elif character in "\t\n\r":
            result += f"&#{ord(character)};"
        else:
            result += character
    return "'" + result + "'"


def section(text: str) -> str:
    """One CDATA section, or several: none holds its own end, or a carriage return, which a parser would change."""
    result = "<![CDATA["
    for position, character in enumerate(text):
        if text[position - 2 : position + 1] == "]]>" and position >= 2:
            result += "]]><![CDATA[>"
        elif character == "\r":
            result += "]]>&#13;<![CDATA["
        else:
            result += character
    return result + "]]>"


def side(name: str, column: PlainColumn, image: PlainImage | None) -> str:
    if image is None or column.name not in image:
        return f"   <{name} missing='true'/>\n"
    value = image[column.name]
    if value is None:
        return f"   <{name} isNull='true'/>\n"
    return f"   <{name}>{section(value)}</{name}>\n"


def xml_message(
    table: PlainTable, operation: PlainOperation, options: Options, include_tokens: bool, current_ts: str
) -> str:
    text = f"<?xml version='1.0' encoding='{options['encoding']}'?>\n" if options["include_prolog"] else ""
    text += f"<operation table={attribute(table.name)}"
    text += f" type={attribute(options[OP_OPTIONS[operation.op]])}"
    text += f" ts={attribute(operation.op_ts or '')}"
    text += f" current_ts={attribute(current_ts)}"
    text += f" pos={attribute(operation.pos or '')}"
    text += f" numCols='{len(table.columns)}'>\n"
    for index, column in enumerate(table.columns):
        text += f" <col name={attribute(column.name)} index='{index}'>\n"
        if column.name in (operation.before or {}) or column.name in (operation.after or {}):
            text += side("before", column, operation.before) + side("after", column, operation.after)
        else:
            text += "  <missing/>\n"
        text += " </col>\n"
    if include_tokens:
        text += " <tokens>\n"
        for name, value in operation.tokens.items():
            text += (
                f"   <token>\n     <Name>{section(name)}</Name>\n     <Value>{section(value)}</Value>\n   </token>\n"
            )
        text += " </tokens>\n"
    return text + "</operation>\n"


def fits(table: PlainTable, operation: PlainOperation, options: Options, include_tokens: bool) -> bool:
    """Whether XML can carry all that the message says."""
    said: list[str | None] = [table.name, options[OP_OPTIONS[operation.op]], operation.op_ts, operation.pos]
    said += [column.name for column in table.columns]
    for image in (operation.before, operation.after):
        said += (image or {}).values()
    if include_tokens:
        said += [*operation.tokens, *operation.tokens.values()]
    return all(text is None or can_carry(text) for text in said)


def as_written(operation: PlainOperation) -> PlainOperation:
    """The operation as it comes back from its message: an update whose before image holds no column has none, and an
    empty time stamp or position is none."""
    before = (operation.before or None) if operation.op == "U" else operation.before
    return PlainOperation(
        operation.op, operation.op_ts or None, operation.pos or None, before, operation.after, operation.tokens
    )
