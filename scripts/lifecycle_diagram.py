"""The order of events, drawn from `llmcore.lifecycle.RULES`: `python scripts/lifecycle_diagram.py --write`.

Writes `docs/lifecycle.svg` and the table in `docs/protocol-authors-guide.md`; without `--write` it says whether they
are what the rules give. A test holds them equal.
"""

import sys
from collections.abc import Iterator
from html import escape

from generated import ROOT, between, main

from llmcore.lifecycle import RULES, Rule

DRAWING = ROOT / "docs" / "lifecycle.svg"
PAGE = ROOT / "docs" / "protocol-authors-guide.md"

EFFECTS = ("open", "grow", "close")
LEFT, ROW, TOP, CELL = 330, 52, 92, 150  # pixels
INNER = len(EFFECTS) * (CELL + 34) + 108
STYLE = """\
  text { font: 13px ui-monospace, monospace; fill: #1f2328; }
  .word { font-style: italic; fill: #59636e; }
  rect { fill: #f6f8fa; stroke: #59636e; }
  .arrow { fill: none; stroke: #59636e; marker-end: url(#tip); }
  .tip { fill: #59636e; }
  .paper { fill: #ffffff; stroke: none; }"""


_HEAD = f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {{width}} {{height}}" role="img" aria-label="The order of events">
<style>
{STYLE.replace("{", "{{").replace("}", "}}")}
</style>
<defs>
<marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">
<path class="tip" d="M0 0 8 4 0 8z"/>
</marker>
</defs>
<rect class="paper" width="{{width}}" height="{{height}}"/>"""


def phases() -> list[str]:
    """The phases in the order in which the rules lead through them."""
    found = list[str]()
    for rule in RULES.values():
        found += [phase for phase in (rule.phase, rule.then) if phase not in found]
    return found


def table() -> str:
    """The rules as a table in Markdown, a row for each event."""
    rows = ["| event | may come | then | block |", "|---|---|---|---|"]
    for event, rule in RULES.items():
        block = f"{rule.effect}s a `{rule.family}` block" if rule.family else "–"
        rows.append(f"| `{event.__name__}` | {rule.phase} | {rule.then} | {block} |")
    return "\n".join(rows) + "\n"


def drawing() -> str:
    """The rules as a state diagram in SVG: a box for each phase, an arrow for each event that leads on; within the
    phase that has blocks, a row of three states for each family, and the events that stand alone."""
    leading = {event.__name__: rule for event, rule in RULES.items() if rule.phase != rule.then}
    alone = [event.__name__ for event, rule in RULES.items() if rule.phase == rule.then and rule.family is None]
    families = dict[str, dict[str, str]]()
    for event, rule in RULES.items():
        if rule.family is not None and rule.effect is not None:
            families.setdefault(rule.family, {})[rule.effect] = event.__name__
    height = TOP + ROW * len(families) + 22
    out = [_HEAD.format(width=LEFT + INNER + 170, height=height + 20), *_phases(leading, height)]
    for number, (family, names) in enumerate(families.items()):
        out += _family(TOP + number * ROW - 12, family, names)
    y = TOP + len(families) * ROW - 7
    out.append(_text(LEFT - 64, y, "alone", "word", "start"))
    out.append(_text(LEFT + 30, y, " · ".join(alone), anchor="start"))
    return "\n".join([*out, "</svg>", ""])


def _phases(leading: dict[str, Rule], height: int) -> Iterator[str]:
    """The three phases, the middle one tall enough for its blocks, and the events between them."""
    middle = height // 2 + 10
    places = dict(zip(phases(), ((20, 90), (LEFT - 80, INNER), (LEFT + INNER + 60, 90)), strict=True))
    for phase, (x, wide) in places.items():
        tall = height - 20 if wide == INNER else 44
        yield _box(x, middle - tall // 2, wide, tall)
        yield _text(x + wide // 2, middle - tall // 2 + 27 if wide == INNER else middle + 5, phase)
    for name, rule in leading.items():
        (start, wide), (stop, _) = places[rule.phase], places[rule.then]
        yield _arrow(f"M{start + wide} {middle}H{stop}")
        yield _text((start + wide + stop) // 2, middle - 10, name)


def _family(y: int, family: str, names: dict[str, str]) -> Iterator[str]:
    """A block's row: it opens, grows as often as it likes or not at all, and closes."""
    yield _text(LEFT - 64, y + 5, family, "word", "start")
    step = CELL + 34
    for column, effect in enumerate(EFFECTS):
        x = LEFT + 30 + column * step
        yield _box(x, y - 14, CELL, 28)
        yield _text(x + CELL // 2, y + 5, names[effect])
        if column:
            yield _arrow(f"M{x - 34} {y}H{x}")
        if effect == "grow":
            yield _arrow(f"M{x + 95} {y - 14}c0 -10 -40 -10 -40 0")
            yield _arrow(f"M{x - step + CELL // 2} {y + 14}v8H{x + step + CELL // 2}v-8")


def _box(x: int, y: int, wide: int, tall: int) -> str:
    return f'<rect x="{x}" y="{y}" width="{wide}" height="{tall}" rx="6"/>'


def _arrow(path: str) -> str:
    return f'<path class="arrow" d="{path}"/>'


def _text(x: int, y: int, text: str, style: str = "", anchor: str = "middle") -> str:
    kind = f' class="{style}"' if style else ""
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}"{kind}>{escape(text)}</text>'


if __name__ == "__main__":
    sys.exit(main({DRAWING: drawing(), PAGE: between(PAGE, __file__, table())}))
