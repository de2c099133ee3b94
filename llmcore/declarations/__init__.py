"""Providers declared in TOML: the same structs as in Python, with the same rules, and none of a program's powers.

    [providers.house]
    docs = "https://llm.example.com/docs"

    [providers.house.route]
    id = "house/chat"
    protocol = "openai-chat"
    base_url = "https://llm.example.com/v1"
    endpoint = { path = "/chat/completions" }
    auth = { bearer = ["EXAMPLE_API_KEY"] }
    framing = "sse"

A table is a struct, field by field under its own name: `[providers.ID]` a `Provider`, `route` and `apis.NAME` a
`Route`, `[[…rules]]` a `ModelRule`. What is no text there is named: the protocol and the framing by id, the auth as
`"none"`, `{ bearer = [VARIABLE, …] }`, `{ header = NAME, prefix = "…", env = [VARIABLE, …] }` or
`{ query = NAME, env = [VARIABLE, …] }`, each with `optional = true` where a call may go without a key. TOML has no
null: where a field may be `None`, `false` says so. `method` is `POST` and `evidence` is `documented` unless they are
given. An unknown key is refused with the nearest.

A file is not trusted like a program. Refused, unless the provider's table says `override = true`: a known id; the key
variable of another provider beside another host; a key sent over plain http to another machine. Refused always: a key
that stands in the file itself.

`files` says where route files are, `document` reads them, `tables` turns tables into structs, `literals` finds keys
that were written down, `build` makes the providers, and `trust` looks at what they may do. `llmcore.registry` opens
this door only where there is a file.
"""
