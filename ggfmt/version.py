"""The version, in a module without imports. Between releases it is that of the next one, with `.dev0`."""

VERSION = "0.4.0.dev0"
