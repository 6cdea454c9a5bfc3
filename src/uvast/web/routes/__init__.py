"""Thin handlers, a file a subject: they read a request, call the app and answer."""
