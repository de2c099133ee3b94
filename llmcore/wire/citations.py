"""Sources of an answer in the shape that OpenAI gave them (`annotations`)."""

from llmcore.schema.base import JSONObject
from llmcore.schema.parts import Citation
from llmcore.wire.values import at, mapping, text


def citation(annotation: JSONObject) -> Citation:
    """One source: a page (`url_citation`) or a file; other kinds are kept whole in `native`."""
    cited = mapping(annotation.get("url_citation"))
    start, end = cited.get("start_index"), cited.get("end_index")
    return Citation(
        url=text(cited.get("url")),
        title=text(cited.get("title")) or text(at(annotation, "file", "name")),
        quote=text(cited.get("content")),
        start=start if isinstance(start, int) else None,
        end=end if isinstance(end, int) else None,
        native=annotation,
    )
