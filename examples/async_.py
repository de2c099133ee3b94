"""Questions at the same time, on asyncio. Needs OPENAI_API_KEY."""

import asyncio

import llmcore

MODEL = "openai/chat:gpt-5-mini"


async def ask(client: llmcore.AsyncClient, country: str) -> str:
    response = await client.generate(MODEL, f"The capital of {country}, in one word.")
    return f"{country}: {response.text}"


async def main() -> None:
    async with llmcore.AsyncClient(timeout=60) as client:
        for answer in await asyncio.gather(*(ask(client, country) for country in ("Portugal", "Peru", "Poland"))):
            print(answer)

        async with client.stream(MODEL, "Count to five.") as stream:
            async for text in stream.text_deltas():
                print(text, end="", flush=True)
        print()


asyncio.run(main())
