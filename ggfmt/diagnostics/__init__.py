"""Diagnostics: the problem, its place and what to do; and the codes, each declared once."""
