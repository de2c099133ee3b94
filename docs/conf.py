"""The site: `python -m sphinx -W --keep-going docs build/site`, with the extra `docs`. Why this generator:
decisions/0012-documentation-site.md. Nothing is fetched, neither by the build nor by the pages."""

import re
from collections.abc import Iterator

import msgspec

import llmcore
from llmcore import protocol, route

project = "llmcore"
author = "the authors of llmcore"
project_copyright = author
version = release = llmcore.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_heading_anchors = 3
# `type` is the constant by which each struct of a union is told: words of the tables on the pages.
autodoc_default_options = {
    "members": True,
    "undoc-members": True,
    "member-order": "bysource",
    "exclude-members": "type",
}
highlight_language = "text"

html_theme = "furo"
html_title = "llmcore"
html_copy_source = False
html_show_sphinx = False

# The module knows the class for type checkers only, as each of the two needs the other.
protocol.Model = route.Model


def rst_of(lines: list[str]) -> Iterator[str]:
    """Our docstrings are plain text with `code` in single backticks, lists, and indented blocks that are shown as they
    stand. This is the same in reStructuredText, which the generator reads."""
    for paragraph in re.split(r"\n(?:[ \t]*\n)+", "\n".join(lines).strip("\n")):
        if re.match(r"    (?! )|     +\S", paragraph):
            yield "::\n\n" + paragraph
        else:
            yield "".join(_inline(paragraph))
        yield ""


def _inline(text: str) -> Iterator[str]:
    """A word may follow code without a space, as in `Event`s; elsewhere stars and underscores are themselves."""
    parts = re.split(r"`([^`]+)`", text)
    for number, part in enumerate(parts):
        if number % 2:
            yield f"``{part.strip()}``" + ("\\ " if parts[number + 1][:1].isalnum() else "")
        else:
            yield re.sub(r"[*|\\]|_\b", r"\\\g<0>", part)


def signature_of(struct: type[msgspec.Struct]) -> str:
    """The fields with their defaults, where these are short. The types stand below, field by field."""
    fields = msgspec.structs.fields(struct)
    placed = [_field(field) for field in fields if field.name in struct.__match_args__]
    named = [_field(field) for field in fields if field.name not in struct.__match_args__]
    return f"({', '.join([*placed, *(['*'] if named else []), *named])})"


def _field(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return field.name
    shown = repr(field.default)
    plain = field.default is not msgspec.NODEFAULT and not isinstance(field.default, msgspec.Struct)
    return f"{field.name}={shown if plain and len(shown) <= 24 and '<' not in shown else '...'}"


def setup(app):
    """Puts docstrings through `rst_of` and the signatures of structs through `signature_of`."""

    def docstring(_app, _what, _name, _object, _options, lines):
        lines[:] = "\n".join(rst_of(lines)).split("\n")

    def signature(_app, what, _name, found, _options, _signature, _returns):
        if what == "class" and isinstance(found, type) and issubclass(found, msgspec.Struct):
            return signature_of(found), None
        return None

    app.connect("autodoc-process-docstring", docstring)
    app.connect("autodoc-process-signature", signature)
