"""Types of Arrow: its compute functions, and arrays whose class a check proves."""
