"""Broken files of every kind, fed to every command that reads them.

`test_fuzzing.py` is the bounded part that CI runs; `make fuzz MINUTES=10` searches for longer and
keeps each failing case in a file, which `python -m tests.fuzzing --replay FILE` runs again.
"""
