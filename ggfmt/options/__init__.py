"""Options. Each is declared once; the parser, the linter, the help and the documents use the declaration."""
