"""How Java treats text: charsets, regular expressions, replacements, blanks and escapes."""
