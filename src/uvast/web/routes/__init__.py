"""Thin handlers, one file per subject: they read a request, call the app and answer."""
