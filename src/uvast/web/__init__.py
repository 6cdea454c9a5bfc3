"""The browser app: what people say about a project's videos, kept safely and shown live.

The path of a change: `changes` (what a person asked for) -> `Edit` of a `Document` (what it does)
-> `journal` (on disk before it is acknowledged) -> `annotations/NAME.json` (what the command line
reads). Request handlers never import torch: models run in processes of their own (`jobs`).
"""
