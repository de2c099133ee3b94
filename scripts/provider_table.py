"""The providers that come with llmcore, as the table in `docs/providers.md`.

`python scripts/provider_table.py --write` writes it; without `--write` the script says whether the table is what the
declarations give. A test holds them equal.
"""

import importlib
import pkgutil
import sys
from typing import Any

from generated import ROOT, between, main

from llmcore import providers
from llmcore.providers.compatible import COMPATIBLE
from llmcore.route import Provider, Route

PAGE = ROOT / "docs" / "providers.md"


def declared() -> list[Provider]:
    """Our own providers, by id: those of modules and the rows. What the machine has besides is not asked for."""
    names = [found.name for found in pkgutil.iter_modules(providers.__path__) if not found.name.startswith("_")]
    modules = [importlib.import_module(f"{providers.__name__}.{name}") for name in names if name != "compatible"]
    return sorted([*(module.PROVIDER for module in modules), *COMPATIBLE.values()], key=lambda found: found.id)


def table() -> str:
    """A row for each route, in Markdown."""
    rows = ["| name | protocol | base URL | key | evidence |", "|---|---|---|---|---|"]
    for provider in declared():
        for api, route in provider.routes().items():
            name = f"`{provider.id}:`" if route is provider.route else f"`{provider.id}/{api}:`"
            cells = (
                name,
                f"`{route.protocol.id}`",
                _base(route),
                _key(route),
                f"[{provider.evidence}]({provider.docs})",
            )
            rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def _base(route: Route[Any, Any]) -> str:
    variables = "".join(f"; `{{{name}}}`: `{variable}`" for name, variable in route.variables.items())
    return f"`{route.base_url}`{variables}" if route.base_url else "give `base_url=`"


def _key(route: Route[Any, Any]) -> str:
    names = " or ".join(f"`{name}`" for name in route.auth.env)
    if not names:
        return "`api_key=`, if any" if route.auth.optional else "`api_key=`"
    return f"{names}, if any" if route.auth.optional else names


if __name__ == "__main__":
    sys.exit(main({PAGE: between(PAGE, __file__, table())}))
