"""Providers: declarations of who serves models, where, and how each differs from the protocol that it speaks.

`compatible` is a table of those that are data only, written in pieces whose names begin with an underscore. A provider
with options, auth or a choice of its own has a module named after it (its id, hyphens written as underscores), which
holds it as `PROVIDER`. Ask `llmcore.registry` for one by id; nothing here is imported before it is asked for.
"""
