"""Cancelling a call that waits on a silent socket, from another thread or by the event loop."""

import asyncio
import gc
import threading
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import httpx
import pytest
import tiny
from loopback import PATIENCE, Serve, Way, beside, call

from llmcore.cassette import Hold, Repeat, ReplayServer, Reply
from llmcore.client import AsyncClient, Client
from llmcore.errors import CallCancelledError, ConfigError

SILENT = Reply(framing="raw", actions=(Hold(),))


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return request.param


def cancelled(error: object, sent: str) -> CallCancelledError:
    assert isinstance(error, CallCancelledError), repr(error)
    assert error.request_sent == sent
    assert error.attempts[0].outcome == "cancelled"
    assert not error.retryable
    return error


def test_from_another_thread_before_the_head(way: Way, scheme: str, serve: Serve) -> None:
    server = serve(SILENT, tiny.whole())

    def cancel(stream: Any) -> None:
        assert server.wait_requests(1)
        stream.cancel()

    outcome = call(way, tiny.model(server.url), meanwhile=cancel, again=True)
    error = cancelled(outcome.error, "maybe")
    assert (outcome.entered, error.status, error.partial) == (False, None, None)
    assert server.connections[0].closed.wait(PATIENCE)
    assert outcome.again is not None


def test_from_another_thread_in_mid_stream(way: Way, scheme: str, serve: Serve) -> None:
    server = serve(tiny.stream(*tiny.words("Hel"), Hold()), tiny.whole())
    heard = threading.Event()

    def cancel(stream: Any) -> None:
        assert heard.wait(PATIENCE)
        stream.cancel()

    def listen(event: object) -> None:
        if getattr(event, "text", ""):
            heard.set()

    outcome = call(way, tiny.model(server.url), meanwhile=cancel, seen=listen, again=True)
    error = cancelled(outcome.error, "yes")
    assert error.partial is not None
    assert (error.partial.text, error.partial.metadata.status) == ("Hel", "cancelled")
    assert server.connections[0].closed.wait(PATIENCE)
    assert outcome.again is not None


def test_on_a_connection_that_served_before(way: Way, scheme: str, serve: Serve) -> None:
    server = serve(tiny.hello(), SILENT)
    model = tiny.model(server.url)

    def cancel(stream: Any) -> None:
        assert server.wait_requests(2)
        stream.cancel()

    def sync() -> BaseException:
        with Client() as client:
            with client.stream(model, "Hi") as stream:
                list(stream)
            stream = client.stream(model, "Hi")
            with beside(cancel, stream), pytest.raises(CallCancelledError) as caught:
                stream.__enter__()
        return caught.value

    async def main() -> BaseException:
        async with AsyncClient() as client:
            async with client.stream(model, "Hi") as stream:
                assert [event async for event in stream]
            stream = client.stream(model, "Hi")
            with beside(cancel, stream), pytest.raises(CallCancelledError) as caught:
                await stream.__aenter__()
        return caught.value

    cancelled(sync() if way == "sync" else anyio.run(main, backend=way), "maybe")
    assert len(server.connections) == 1


def test_while_events_keep_coming(way: Way, serve: Serve) -> None:
    server = serve(tiny.stream(*tiny.words("x"), Repeat(b": keep-alive\n\n", seconds=0.001)))
    heard = threading.Event()

    def cancel(stream: Any) -> None:
        assert heard.wait(PATIENCE)
        stream.cancel()

    outcome = call(way, tiny.model(server.url), meanwhile=cancel, seen=lambda event: heard.set())
    cancelled(outcome.error, "yes")
    assert server.wait_closed()


def test_a_body_that_only_the_connection_ends(way: Way, serve: Serve) -> None:
    """A socket that is shut down looks like the end of such a body; with the finish seen it would pass for success."""
    reply = tiny.stream(*tiny.words("Hel"), tiny.FINISH, Hold())
    server = serve(Reply(headers=reply.headers, actions=reply.actions, framing="close"))
    heard = threading.Event()

    def cancel(stream: Any) -> None:
        assert heard.wait(PATIENCE)
        stream.cancel()

    def listen(event: object) -> None:
        if getattr(event, "text", ""):
            heard.set()

    cancelled(call(way, tiny.model(server.url), meanwhile=cancel, seen=listen).error, "yes")


def test_before_it_begins(way: Way, serve: Serve) -> None:
    server = serve(tiny.hello())
    model = tiny.model(server.url)
    if way == "sync":
        with Client() as client:
            stream = client.stream(model, "Hi")
            stream.cancel()
            with pytest.raises(CallCancelledError) as caught, stream:
                pass
    else:

        async def main() -> None:
            async with AsyncClient() as client:
                stream = client.stream(model, "Hi")
                stream.cancel()
                await stream.__aenter__()

        with pytest.raises(CallCancelledError) as caught:
            anyio.run(main, backend=way)
    cancelled(caught.value, "no")
    assert server.requests == ()


def test_by_the_caller_between_two_events(way: Way, serve: Serve) -> None:
    """From the caller's own thread: what has come is still given, then the error."""
    server = serve(tiny.stream(*tiny.words("a"), Hold()))
    streams = list[Any]()
    outcome = call(
        way,
        tiny.model(server.url),
        meanwhile=streams.append,
        seen=lambda event: streams[0].cancel() if getattr(event, "text", "") else None,
    )
    assert outcome.text == "a"
    cancelled(outcome.error, "yes")


def test_after_the_end_it_harms_nobody(serve: Serve) -> None:
    """The connection serves another call by then."""
    server = serve(tiny.hello(), tiny.hello())
    model = tiny.model(server.url)
    with Client() as client:
        with client.stream(model, "Hi") as first:
            list(first)
        with client.stream(model, "Hi") as second:
            first.cancel()
            assert "".join(second.text_deltas()) == "Hello"
    assert len(server.connections) == 1


def test_a_custom_sync_client_in_mid_stream(serve: Serve) -> None:
    server = serve(tiny.stream(*tiny.words("Hel"), Hold()))
    heard = threading.Event()

    def cancel(stream: Any) -> None:
        assert heard.wait(PATIENCE)
        stream.cancel()

    with httpx.Client(trust_env=False) as http:
        outcome = call("sync", tiny.model(server.url), meanwhile=cancel, seen=lambda event: heard.set(), http=http)
        cancelled(outcome.error, "yes")
        assert server.wait_closed()
        assert not http.is_closed


@pytest.mark.parametrize("way", ["asyncio", "trio"])
@pytest.mark.parametrize("silent", [True, False], ids=["before the head", "in mid-stream"])
def test_a_custom_async_client(way: Way, serve: Serve, silent: bool) -> None:
    server = serve(SILENT if silent else tiny.stream(*tiny.words("Hel"), Hold()), tiny.whole())
    heard = threading.Event()

    async def listen(stream: Any) -> None:
        async with stream:
            async for _ in stream:
                heard.set()

    async def main() -> None:
        async with httpx.AsyncClient(trust_env=False) as http, AsyncClient(http=http) as client:
            stream = client.stream(tiny.model(server.url), "Hi")

            def cancel() -> None:
                assert server.wait_requests(1)
                assert silent or heard.wait(PATIENCE)
                stream.cancel()

            async with anyio.create_task_group() as group:
                group.start_soon(anyio.to_thread.run_sync, cancel)
                with pytest.raises(CallCancelledError) as caught:
                    await listen(stream)
            cancelled(caught.value, "maybe" if silent else "yes")
            assert (await client.generate(tiny.model(server.url), "Again")).text == "Hello"

    anyio.run(main, backend=way)


# The event loop's own cancellation


@pytest.mark.anyio
@pytest.mark.parametrize("silent", [True, False], ids=["before the head", "in mid-stream"])
async def test_a_cancelled_task_gets_its_own_exception(
    anyio_backend: str, serve: Serve, scheme: str, silent: bool
) -> None:
    server = serve(SILENT if silent else tiny.stream(*tiny.words("Hel"), Hold()), tiny.whole())
    seen = list[BaseException]()
    streams = list[Any]()

    async with AsyncClient() as client:

        async def work() -> None:
            streams.append(client.stream(tiny.model(server.url), "Hi"))
            try:
                async with streams[0] as stream:
                    async for _ in stream:
                        pass
            except BaseException as problem:
                seen.append(problem)
                raise

        async with anyio.create_task_group() as group:
            group.start_soon(work)
            await anyio.to_thread.run_sync(server.wait_requests, 1)
            while not silent and streams[0].partial is None:
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        assert [type(problem) for problem in seen] == [anyio.get_cancelled_exc_class()]
        if not silent:
            assert streams[0].partial.metadata.status == "cancelled"
        assert await anyio.to_thread.run_sync(server.connections[0].closed.wait, PATIENCE)
        assert (await client.generate(tiny.model(server.url), "Again")).text == "Hello"


async def _cancelled_natively(server: ReplayServer) -> None:
    async with AsyncClient() as client:
        task = asyncio.ensure_future(client.generate(tiny.model(server.url), "Hi"))
        await asyncio.to_thread(server.wait_requests, 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()
        assert await asyncio.to_thread(server.connections[0].closed.wait, PATIENCE)


def test_asyncio_task_cancel(serve: Serve) -> None:
    asyncio.run(_cancelled_natively(serve(SILENT)))


def test_asyncio_timeout_is_its_own_and_not_swallowed(serve: Serve) -> None:
    """`asyncio.timeout` counts its cancellations: one that we swallowed or added would break it."""

    async def main() -> None:
        async with AsyncClient() as client:
            task = asyncio.current_task()
            assert task is not None
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await client.generate(tiny.model(server.url), "Hi")
            assert task.cancelling() == 0

    server = serve(SILENT)
    asyncio.run(main())


def test_ctrl_c_closes_the_connection(serve: Serve) -> None:
    server = serve(tiny.stream(*tiny.words("a"), Hold()))

    def press(event: object) -> None:
        raise KeyboardInterrupt

    with Client() as client:
        with pytest.raises(KeyboardInterrupt), client.stream(tiny.model(server.url), "Hi") as stream:
            press(next(iter(stream)))
        assert server.wait_closed()


# Streams that are left


@pytest.mark.parametrize("leave", ["break", "close", "exception"])
def test_a_stream_left_early_frees_a_pool_of_one(way: Way, serve: Serve, leave: str) -> None:
    server = serve(tiny.stream(*tiny.words("a"), Hold()), tiny.whole())
    model, limits = tiny.model(server.url), httpx.Limits(max_connections=1)

    def sync() -> None:
        with httpx.Client(limits=limits, trust_env=False) as http, Client(http=http) as client:
            try:
                with client.stream(model, "Hi") as stream:
                    for _ in stream:
                        if leave == "exception":
                            raise LookupError
                        if leave == "close":
                            stream.close()
                        break
            except LookupError:
                assert leave == "exception"
            assert server.connections[0].closed.wait(PATIENCE)
            assert client.generate(model, "Hi").text == "Hello"

    async def main() -> None:
        async with httpx.AsyncClient(limits=limits, trust_env=False) as http, AsyncClient(http=http) as client:
            try:
                async with client.stream(model, "Hi") as stream:
                    async for _ in stream:
                        if leave == "exception":
                            raise LookupError
                        if leave == "close":
                            await stream.aclose()
                        break
            except LookupError:
                assert leave == "exception"
            assert await anyio.to_thread.run_sync(server.connections[0].closed.wait, PATIENCE)
            assert (await client.generate(model, "Hi")).text == "Hello"

    sync() if way == "sync" else anyio.run(main, backend=way)
    assert server.connections[0].early


@pytest.mark.parametrize("iterated", [True, False])
def test_a_sync_stream_collected_unclosed_closes_and_warns(serve: Serve, iterated: bool) -> None:
    server = serve(tiny.stream(*tiny.words("a"), Hold()), tiny.whole())
    model = tiny.model(server.url)
    with Client() as client:
        stream = client.stream(model, "Hi").__enter__()
        if iterated:
            next(iter(stream))
        streams = [stream]
        del stream
        with pytest.warns(ResourceWarning, match="never closed"):
            streams.clear()
        assert server.connections[0].closed.wait(PATIENCE)
        assert client.generate(model, "Hi").text == "Hello"


@pytest.mark.parametrize("iterated", [True, False])
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_async_stream_collected_unclosed_closes_and_warns(serve: Serve, iterated: bool, backend: str) -> None:
    server = serve(tiny.stream(*tiny.words("a"), Hold()), tiny.whole())
    model = tiny.model(server.url)

    async def main() -> None:
        async with AsyncClient() as client:
            stream = await client.stream(model, "Hi").__aenter__()
            if iterated:
                await anext(aiter(stream))
            del stream
            gc.collect()
            assert await anyio.to_thread.run_sync(server.connections[0].closed.wait, PATIENCE)
            assert (await client.generate(model, "Hi")).text == "Hello"

    with pytest.warns(ResourceWarning) as caught:
        anyio.run(main, backend=backend)
    assert any("a stream was never closed" in str(warning.message) for warning in caught)


@pytest.mark.anyio
async def test_a_stream_closed_from_another_task(anyio_backend: str, serve: Serve) -> None:
    """No cancel scope lies across a `yield`: the task that closes need not be the one that reads."""
    server = serve(tiny.stream(*tiny.words("a"), Hold()), tiny.whole())
    seen = list[BaseException]()
    async with AsyncClient() as client:
        stream = await client.stream(tiny.model(server.url), "Hi").__aenter__()

        async def read() -> None:
            with pytest.raises(CallCancelledError) as caught:
                async for _ in stream:
                    pass
            seen.append(caught.value)

        async with anyio.create_task_group() as group:
            group.start_soon(read)
            while stream.partial is None or not stream.partial.text:
                await anyio.lowlevel.checkpoint()
            await stream.aclose()
        cancelled(seen[0], "yes")
        assert (await client.generate(tiny.model(server.url), "Hi")).text == "Hello"
    assert server.connections[0].closed.is_set()


def test_a_stream_closed_from_another_thread(serve: Serve) -> None:
    server = serve(tiny.stream(*tiny.words("a"), Hold()))
    heard = threading.Event()

    def close(stream: Any) -> None:
        assert heard.wait(PATIENCE)
        stream.close()

    outcome = call("sync", tiny.model(server.url), meanwhile=close, seen=lambda event: heard.set())
    if outcome.error is not None:  # the reader was in a wait; else its iteration ended
        cancelled(outcome.error, "yes")
    assert outcome.response is None
    assert server.connections[0].closed.wait(PATIENCE)


@pytest.mark.anyio
async def test_entered_in_one_task_read_in_a_second_left_in_a_third(anyio_backend: str, serve: Serve) -> None:
    server = serve(tiny.stream(*tiny.words("a"), Hold()))
    async with AsyncClient() as client:
        stream = client.stream(tiny.model(server.url), "Hi")
        texts = list[str]()

        async def read() -> None:
            texts.append(await anext(stream.text_deltas()))

        for step in (stream.__aenter__, read, stream.aclose):
            async with anyio.create_task_group() as group:
                group.start_soon(step)
        assert texts == ["a"]
        assert await anyio.to_thread.run_sync(server.connections[0].closed.wait, PATIENCE)


# The stream object


def test_iteration_goes_on_after_a_break(way: Way, serve: Serve) -> None:
    server = serve(tiny.stream(*tiny.words("a", "b", "c"), tiny.FINISH, tiny.DONE))
    model, texts = tiny.model(server.url), list[str]()

    def sync() -> None:
        with Client() as client, client.stream(model, "Hi") as stream:
            for event in stream:
                texts.append(getattr(event, "text", ""))
                if texts[-1]:
                    break
            for text in stream.text_deltas():
                texts.append(text)
                break
            texts.extend(getattr(event, "text", "") for event in stream)
            assert stream.response.text == "abc"

    async def main() -> None:
        async with AsyncClient() as client, client.stream(model, "Hi") as stream:
            async for event in stream:
                texts.append(getattr(event, "text", ""))
                if texts[-1]:
                    break
            async for text in stream.text_deltas():
                texts.append(text)
                break
            texts.extend([getattr(event, "text", "") async for event in stream])
            assert stream.response.text == "abc"

    sync() if way == "sync" else anyio.run(main, backend=way)
    assert [text for text in texts if text] == ["a", "b", "c"]


Use = Callable[[Any], Any]


def test_wrong_uses_of_a_stream(serve: Serve) -> None:
    server = serve(tiny.hello(), tiny.stream(*tiny.words("a"), Hold()))
    model = tiny.model(server.url)
    with Client() as client:
        stream = client.stream(model, "Hi")
        with pytest.raises(ConfigError, match="enter the stream"):
            iter(stream)
        with pytest.raises(ConfigError, match="enter the stream"):
            next(stream.text_deltas())
        with pytest.raises(ConfigError, match="not ended"):
            _ = stream.response
        assert stream.partial is None
        with stream:
            with pytest.raises(ConfigError, match="entered before"):
                stream.__enter__()
            list(stream)
        assert list(stream) == []  # it has ended, and says no more
        assert stream.partial == stream.response.message
        with pytest.raises(ConfigError, match="entered before"):
            stream.__enter__()
        with client.stream(model, "Hi") as left:
            iterator = iter(left)
            next(iterator)
        with pytest.raises(ConfigError, match="closed before its end"):
            iter(left)
        assert left.partial is not None
        assert left.partial.metadata.status == "partial"
        left.close()  # twice is once


@pytest.mark.anyio
async def test_wrong_uses_of_an_async_stream(anyio_backend: str, serve: Serve) -> None:
    server = serve(tiny.hello(), tiny.stream(*tiny.words("a"), Hold()))
    model = tiny.model(server.url)
    async with AsyncClient() as client:
        stream = client.stream(model, "Hi")
        with pytest.raises(ConfigError, match="enter the stream"):
            aiter(stream)
        with pytest.raises(ConfigError, match="enter the stream"):
            stream.text_deltas()
        with pytest.raises(ConfigError, match="not ended"):
            _ = stream.response
        async with stream:
            with pytest.raises(ConfigError, match="entered before"):
                await stream.__aenter__()
            assert [event async for event in stream]
        with pytest.raises(ConfigError, match="entered before"):
            await stream.__aenter__()
        async with client.stream(model, "Hi") as left:
            await anext(aiter(left))
        with pytest.raises(ConfigError, match="closed before its end"):
            aiter(left)
        await left.aclose()


def test_a_stream_that_failed_says_so_once(serve: Serve) -> None:
    server = serve(tiny.whole(), Reply(status=500))
    with Client() as client:
        stream = client.stream(tiny.model(server.url + "/"), "Hi")
        with stream:
            assert tiny.names(list(stream)) == ["ResponseStart", "TextStart", "TextDelta", "TextEnd", "ResponseEnd"]
        failed = client.stream(tiny.model(server.url), "Hi")
        with pytest.raises(Exception, match="500"), failed:
            pass
        with pytest.raises(ConfigError, match="entered before"):
            failed.__enter__()
