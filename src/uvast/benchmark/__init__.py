"""Comparisons: many runs, resumable, on one machine or many; and the tables of the paper.

A `Cell` is a model trained once and scored by several decodings; a `Matrix` makes cells, an
`Engine` runs them, `results` collects them. `paper_tables` lists every table of the paper,
`reproduce` computes them. `published` holds what papers report; `layout` prints it beside ours
and says which is which. `sweep` searches settings.
"""
