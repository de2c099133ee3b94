"""One question, answered whole and then as it comes. Needs OPENAI_API_KEY."""

import llmcore

MODEL = "openai/chat:gpt-5-mini"

with llmcore.Client() as client:
    response = client.generate(MODEL, "Name a river in Portugal.", max_tokens=500)
    print(response.text)
    print(response.stop_reason, response.usage.total_tokens, "tokens")

    # Entering the block sends the request; leaving it early would close the connection.
    with client.stream(MODEL, "Now name three more.", max_tokens=500) as stream:
        for text in stream.text_deltas():
            print(text, end="", flush=True)
    print()
    print(stream.response.stop_reason, stream.response.usage.total_tokens, "tokens")
