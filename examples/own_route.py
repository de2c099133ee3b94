"""A provider of one's own: where it is and how it is asked, as data. Needs EXAMPLE_API_KEY, and a server there."""

import llmcore
from llmcore import SSE, Message, Provider, Route, bearer, post
from llmcore.protocols.openai_chat import OPENAI_CHAT

HOUSE = Provider(
    id="house",
    docs="https://llm.example.com/docs",
    evidence="documented",
    route=Route(
        id="house/chat",
        protocol=OPENAI_CHAT,
        base_url="https://llm.example.com/v1",
        endpoint=post("/chat/completions"),
        auth=bearer("EXAMPLE_API_KEY"),
        framing=SSE,
    ),
)

model = HOUSE.model("house-7b")
with llmcore.Client() as client:
    print(client.prepare(model, "Who are you?").url)
    response = client.generate(model, [Message.system("Answer in one sentence."), Message.user("Who are you?")])
print(f"{response.provider}: {response.text}")
