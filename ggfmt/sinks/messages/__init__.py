"""`ggfmt run`: operations become the messages of handlers, in files that are committed."""
