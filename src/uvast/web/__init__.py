"""The browser app: what people say of a project's videos, kept safely and shown live.

The way of a change: `changes` (what a person asked for) -> `Edit` of a `Document` (what becomes of
it) -> `journal` (on disk before it is acknowledged) -> `annotations/NAME.json` (what the command
line reads). Request handlers never import torch: models run in processes of their own (`jobs`).
"""
