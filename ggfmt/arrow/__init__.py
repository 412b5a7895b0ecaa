"""What the package knows of the types of Arrow: its compute functions, and arrays whose type a check proves."""
