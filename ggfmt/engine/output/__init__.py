"""The output of a run: staged files, joins, names, rejects, and the commit that makes them one."""
