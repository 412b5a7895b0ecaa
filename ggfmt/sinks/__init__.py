"""Sinks of a scan: messages, previews, and runs that write nothing."""
