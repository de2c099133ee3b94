"""Wordings of errors, as data: what services say when their codes do not.

Each pattern is a wording that a service was seen to use or documents; `limit` and `used` are tokens. They are tried in
order, without regard to case, and only where neither code, type nor status has decided. They say what they mean in
full: "exceeds the limit" alone may be of files, images or tokens per minute.
"""

import re
from typing import Final

from llmcore.errors import AuthError, LLMError, OverloadedError, RateLimitError, RequestTimeoutError

_N: Final = r"(?P<{}>\d[\d,_]*)"
_LIMIT: Final = _N.format("limit")
_USED: Final = _N.format("used")


def _patterns(*texts: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(text, re.IGNORECASE) for text in texts)


CONTEXT: Final = _patterns(
    # OpenAI, Azure, DeepSeek, OpenRouter, vLLM, Fireworks
    rf"maximum context length is {_LIMIT} tokens?.{{0,80}}(?:resulted in|requested|request has)(?: about)? {_USED}",
    rf"maximum context length of {_LIMIT} tokens.{{0,40}}requested a total of {_USED}",  # SGLang
    rf"input \({_USED} tokens\) is longer than the model'?s context length \({_LIMIT} tokens\)",  # SGLang
    rf"prompt \(length {_USED}\) is longer than the maximum model length of {_LIMIT}",  # vLLM
    rf"input length \({_USED}\) exceeds (?:the )?model'?s maximum context length \({_LIMIT}\)",  # SGLang
    rf"prompt is too long: {_USED} tokens > {_LIMIT} maximum",  # Anthropic
    rf"prompt is too long: {_USED}, model maximum context length: {_LIMIT}",  # Fireworks
    rf"exceed context limit: {_USED} \+ \d+ > {_LIMIT}",  # Anthropic
    rf"input token count \(?{_USED}\)? exceeds the maximum number of tokens allowed \(?{_LIMIT}",  # Gemini
    rf"prompt contains {_USED} tokens.{{0,60}}too large for model with {_LIMIT} maximum context length",  # Mistral
    rf"too large for model with {_LIMIT} maximum context length",  # Mistral
    rf"current length is {_USED} while limit is {_LIMIT}",  # Cerebras
    rf"maximum prompt length is {_LIMIT} but the request contains {_USED} tokens",  # xAI
    rf"prompt token count of {_USED} exceeds the limit of {_LIMIT}",  # GitHub Copilot
    rf"`?inputs`? tokens \+ `?max_new_tokens`? must be <= {_LIMIT}\. given: {_USED} `?inputs`? tokens",  # TGI, Together
    rf"request \({_USED} tokens\) exceeds the available context size \({_LIMIT} tokens\)",  # llama.cpp
    rf"exceeds the available context size(?: \({_LIMIT} tokens\))?",  # llama.cpp
    rf"keep the first {_USED} tokens when context the overflows.{{0,80}}context length of only {_LIMIT}",  # LM Studio
    rf"output tokens \({_USED}\) exceeded this model context window limit \({_LIMIT}\)",  # Workers AI
    rf"exceeded model token limit: {_LIMIT}",  # Moonshot
    rf"prompt length \({_USED}\) should not exceed max_prompt_len \({_LIMIT}\)",  # TensorRT-LLM
    rf"number of tokens in the prompt exceeds the limit of {_LIMIT}",  # Cohere
    rf"range of input length should be \[1, {_LIMIT}\]",  # Model Studio (Qwen)
    rf"request body too large for .{{1,80}} model\. max size: {_LIMIT} tokens",  # GitHub Models
    rf"maximum context length (?:is|of) {_LIMIT}",  # those above, in shorter forms
    r"(?:input|prompt) is too long for (?:the )?(?:requested )?model",  # Bedrock
    r"input length exceeds the (?:maximum )?context length",  # Ollama
    r"exceeds? the (?:model'?s )?(?:maximum )?context (?:length|window)",
    r"context window exceeds limit",  # MiniMax
    r"prompt exceeds max length",  # Z.ai
    r"reduce the length of (?:the|your) (?:messages|prompt|input)",  # OpenAI, Groq, Cerebras
    r"context[ _]length[ _]exceeded",
)
"""The conversation is too long. A later pattern may be a shorter form of an earlier one, without its numbers."""

QUOTA: Final = re.compile(
    r"exceeded your current quota|insufficient[ _](?:quota|balance|credits?|funds)|credit balance is too low"
    r"|payment required|out of credits|(?:more|requires .{0,20}) credits|never purchased credits"
    r"|billing (?:hard )?limit"
    r"|spending (?:limit|cap)|quota (?:has been )?(?:exceeded|exhausted)|monthly (?:usage )?(?:limit|quota)"
    r"|prepaid|account balance|used all available credits",
    re.IGNORECASE,
)
"""Credit or a quota is spent, unless `PER_MINUTE` shows that only this minute's share is."""

PER_DAY: Final = re.compile(
    r"per[ _-]?day\b|perday|\bdaily\b|requests per day|tokens per day|\b[rt]pd\b|per[ _-]month", re.IGNORECASE
)
"""A limit that a short wait does not lift."""

PER_MINUTE: Final = re.compile(
    r"per[ _-]?(?:min(?:ute)?|second|hour)\b|perminute|\b[rt]pm\b|\bqps\b|(?:try again|retry) in \d|temporarily"
    r"|too many requests|rate[ _-]?limit",
    re.IGNORECASE,
)
"""A limit that a short wait lifts."""

CONTENT_FILTER: Final = re.compile(
    r"content management policy|content[ _]?filter(?:ing)? polic|flagged by (?:our|the) (?:moderation|content|safety)"
    r"|violat\w+ (?:of )?(?:our|the|openai'?s) (?:usage|content|safety|acceptable use) polic"
    r"|rejected as a result of (?:our|the) safety system|content (?:was )?(?:blocked|rejected) (?:by|due to)"
    r"|inappropriate content|requires moderation|data may contain inappropriate|sensitive content",
    re.IGNORECASE,
)
"""The prompt was refused. (Names of parameters such as `safety_settings` are not.)"""

OTHERS: Final[tuple[tuple[re.Pattern[str], type[LLMError]], ...]] = (
    (re.compile(r"too many requests|rate[ _-]?limit(?:ed| exceeded| reached)", re.IGNORECASE), RateLimitError),
    (re.compile(r"(?:invalid|incorrect|missing|expired) (?:api[ _-]?key|access token)", re.IGNORECASE), AuthError),
    (
        re.compile(
            r"overloaded|(?:server|service) (?:is |had )?(?:an? )?(?:internal )?(?:busy|unavailable|error)"
            r"|internal server error|temporarily unavailable|try again later|at capacity",
            re.IGNORECASE,
        ),
        OverloadedError,
    ),
    (
        re.compile(r"\b(?:request|upstream|gateway) time(?:d )?out|deadline exceeded", re.IGNORECASE),
        RequestTimeoutError,
    ),
)
"""The rest, in order."""
