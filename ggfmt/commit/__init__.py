"""The commit of output directories: locks, journal, and the names of files."""
