"""Options: each is declared once, and the parser, the linter, the help and the README are read from the declaration."""
