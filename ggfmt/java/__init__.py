"""What Java does with text: charsets, regular expressions, replacements, blanks and escapes."""
