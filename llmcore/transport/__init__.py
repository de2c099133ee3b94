"""Transports: how bytes move. `http` is HTTP over httpx; nothing here is imported before the first call."""
