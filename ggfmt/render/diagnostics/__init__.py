"""Diagnostics rendered: for a person, for a program, for build servers and code scanning."""
