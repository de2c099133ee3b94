"""Limits of media: which parts are over them, and that a route refuses before anything is sent."""

import msgspec
import pytest

import llmcore
from llmcore import CapabilityError, Client
from llmcore.schema import DURABLE, Json, Media, MediaLimits, Message
from llmcore.schema.limits import excesses

PNG = Media.from_bytes(b"x" * 100, "image/png")
PDF = Media.from_bytes(b"x", "application/pdf")
URL = Media.from_url("https://example.com/a.png")


@pytest.mark.parametrize(
    ("limits", "messages", "expected"),
    [
        (MediaLimits(), [Message.user(PNG)], []),
        (MediaLimits(image=100), [Message.user("a", PNG)], []),
        (MediaLimits(image=99), [Message.user("a"), Message.user("a", PNG)], [(1, 1)]),
        (MediaLimits(image=0), [Message.user(URL)], []),
        (MediaLimits(image=99), [Message.tool("tu_1", Json(value=1), PNG)], [(0, 0)]),
        (MediaLimits(parts=1), [Message.user(PNG, PDF)], [(0, None)]),
        (MediaLimits(message_bytes=150), [Message.user(PNG, PNG)], [(0, None)]),
        (MediaLimits(message_bytes=200), [Message.user(PNG, PNG), Message.user(PNG)], []),
        (DURABLE, [Message.user(PDF)], [(0, 0)]),
        (DURABLE, [Message.user(PNG)], []),
    ],
)
def test_what_is_over_a_limit(
    limits: MediaLimits, messages: list[Message], expected: list[tuple[int, int | None]]
) -> None:
    assert [(excess.message_index, excess.part_index) for excess in excesses(messages, limits)] == expected


def test_a_route_refuses_what_is_over_its_limits_before_sending() -> None:
    model = llmcore.model("openai/chat:gpt-4o", api_key="sk-canary")
    small = msgspec.structs.replace(
        model, route=msgspec.structs.replace(model.route, media_limits=MediaLimits(image=50))
    )
    with Client() as client:
        with pytest.raises(
            CapabilityError, match=r"messages\[0\]\.content\[1\] has 100 bytes of image, where 50"
        ) as no:
            client.generate(small, [Message.user("Look:", PNG)])
        assert (no.value.subject, no.value.message_index, no.value.part_index) == ("media", 0, 1)
        assert client.check(small, [Message.user("Look:", PNG)]).errors
        assert client.check(model, [Message.user("Look:", PNG)]).ok
