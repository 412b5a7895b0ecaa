"""Configuration: handler files as entries with their places, and handlers made from the entries."""
