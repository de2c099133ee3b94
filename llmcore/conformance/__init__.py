"""The conformance run: recorded replies of providers, served from loopback, read by the public client, and compared
with what somebody else makes of the same bytes.

`corpus` reads the folder, `place` finds the route of a case, `run` serves a reply and reads it, `expect` says what must
come out (by tables that use nothing of the protocols' code; `readers` where nobody has an expectation), `compare` tells
the differences, `rules` holds the few that are documented, `report` is the public form of a result. `replay` gives the
replies back, as the recorded conversations did; `turns` says where requests have them.
"""
