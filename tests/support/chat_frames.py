"""One answer of OpenAI Chat with text and a call, as a whole body and as the frames of a stream."""

USAGE = '"usage":{"prompt_tokens":9,"completion_tokens":5,"total_tokens":14}'
HEAD = '"id":"c1","object":"chat.completion","created":1,"model":"gpt-5-mini-2025"'
CHUNK = HEAD.replace("completion", "completion.chunk")
WHOLE = (
    f'{{{HEAD},"choices":[{{"index":0,"finish_reason":"tool_calls","message":{{"role":"assistant","content":"Well, ",'
    '"tool_calls":[{"id":"call_1","type":"function","function":{"name":"add","arguments":"{\\"a\\":1,\\"b\\":2}"}}]}}],'
    f"{USAGE}}}"
)


def chunk(delta: str, finish: str = "null") -> str:
    return f'{{{CHUNK},"choices":[{{"index":0,"delta":{delta},"finish_reason":{finish}}}]}}'


STREAM = (
    chunk('{"role":"assistant","content":""}'),
    chunk('{"content":"Well, "}'),
    chunk('{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"add","arguments":""}}]}'),
    chunk('{"tool_calls":[{"index":0,"function":{"arguments":"{\\"a\\":1,"}}]}'),
    chunk('{"tool_calls":[{"index":0,"function":{"arguments":"\\"b\\":2}"}}]}'),
    chunk("{}", '"tool_calls"'),
    f'{{{CHUNK},"choices":[],{USAGE}}}',
    "[DONE]",
)
