"""Comparisons: the paper's tables as named configurations, beside the published numbers.

`published` holds what papers report, and says so wherever it is shown; `tables` describes a table
and its rows; `paper_tables` lists every table of the paper.
"""
