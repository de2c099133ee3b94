"""The clients: one call written once as a flow, and the two drivers that carry it out."""

from llmcore.client.asynchronous import AsyncClient, AsyncStream
from llmcore.client.prepare import Check, Prepared
from llmcore.client.sync import Client, Stream

__all__ = ["AsyncClient", "AsyncStream", "Check", "Client", "Prepared", "Stream"]
