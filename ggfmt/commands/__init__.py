"""What programs call: the commands as functions. `ggfmt` has their names; see the page Python."""
