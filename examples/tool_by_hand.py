"""A tool, answered by hand: the model asks, the program answers, until the model asks no more. Needs OPENAI_API_KEY."""

import llmcore
from llmcore import Json, Message, ToolDefinition

MODEL = "openai/chat:gpt-5-mini"
STOCK = {"pen": 120, "ink": 0}

stock = ToolDefinition(
    name="stock",
    description="How many of an article there are.",
    parameters={
        "type": "object",
        "properties": {"article": {"type": "string", "enum": list(STOCK)}},
        "required": ["article"],
    },
)


def answer(call: llmcore.ToolCall) -> Message:
    """The result of one call. What the model got wrong goes back to it, marked as an error."""
    if call.error is not None:  # the arguments do not parse
        return Message.tool(call, call.error, is_error=True)
    match call.input:
        case {"article": str(article)} if article in STOCK:
            return Message.tool(call, Json(value={"article": article, "in_stock": STOCK[article]}))
        case _:
            return Message.tool(call, "there is no such article", is_error=True)


messages = [Message.user("Can I order a pen and a bottle of ink?")]

with llmcore.Client() as client:
    while True:
        with client.stream(MODEL, messages, tools=(stock,)) as stream:
            for text in stream.text_deltas():
                print(text, end="", flush=True)

        # The whole turn goes back, then one result for each call.
        messages.append(stream.response.message)
        for call in stream.response.tool_calls:
            print(f"[{call.name} {call.arguments}]")
            messages.append(answer(call))
        if not stream.response.tool_calls:
            break
print()
