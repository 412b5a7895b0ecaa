"""The version, where whatever needs it can have it without more."""

VERSION = "0.1.0"
