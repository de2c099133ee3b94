"""Errors: one class for each thing that a program can do about it, the rest in fields. Needs OPENAI_API_KEY."""

import time

import llmcore
from llmcore import AuthError, LLMError, RateLimitError, StreamTruncatedError

MODEL = "openai/chat:gpt-5-mini"

with llmcore.Client() as client:
    for _ in range(3):
        try:
            print(client.generate(MODEL, "Say hello.").text)
            break
        except RateLimitError as error:  # the provider says how long
            wait = error.retry_after or 1.0
            print(f"too fast: again in {wait} s")
            time.sleep(wait)
        except AuthError as error:  # no waiting helps here
            raise SystemExit(f"mend the key: {error}") from None

    try:
        with client.stream(MODEL, "Count to twenty.") as stream:
            for text in stream.text_deltas():
                print(text, end="", flush=True)
        print()
    except StreamTruncatedError as error:  # the line broke; what came is not lost
        print(f"\ncut off after {len(error.partial.text) if error.partial else 0} characters")
    except LLMError as error:  # all others have the same fields
        print(f"\n{error.kind} (status {error.status}): {'try again' if error.retryable else 'give up'}")
