"""Configuration: a handler file is read into entries that know their place, and the entries into handlers."""
