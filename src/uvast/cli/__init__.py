"""The command line: a table of plain functions, one thin file per command."""
