"""The tables that say what must come out."""

import pytest

from llmcore import errors
from llmcore.conformance.corpus import OracleError
from llmcore.conformance.expect import (
    ERROR_CODES,
    ERROR_STATUS,
    ERROR_TYPES,
    error_class,
    usage_problems,
)


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (OracleError(code="model_not_found", type="invalid_request_error", status=404), "InvalidRequestError"),
        (OracleError(code="insufficient_quota", type="rate_limit_error", status=429), "QuotaError"),
        (OracleError(code="invalid_api_key", type="invalid_request_error", status=401), "AuthError"),
        (OracleError(code="never_seen", type="overloaded_error", status=400), "OverloadedError"),
        (OracleError(code=429, type=429, status=429), "RateLimitError"),
        (OracleError(code=402, status=200), "QuotaError"),
        (OracleError(code=7, status=400), "InvalidRequestError"),
        (OracleError(status=401), "AuthError"),
        (OracleError(status=403), "AuthError"),
        (OracleError(status=408), "RequestTimeoutError"),
        (OracleError(status=418), "InvalidRequestError"),
        (OracleError(status=429), "RateLimitError"),
        (OracleError(status=529), "OverloadedError"),
        (OracleError(status=200), "LLMError"),
        (OracleError(), "LLMError"),
    ],
)
def test_the_class_of_an_error_comes_from_code_then_type_then_status(error, name):
    assert error_class(error) == name


def test_the_tables_name_classes_that_exist():
    for table in (ERROR_CODES, ERROR_TYPES, ERROR_STATUS):
        for name in table.values():
            assert issubclass(getattr(errors, name), errors.LLMError)


def counts(**given):
    names = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "cache_write_1h_tokens", "output_tokens")
    return {**dict.fromkeys((*names, "reasoning_tokens")), **given}


@pytest.mark.parametrize(
    ("usage", "native"),
    [
        (counts(input_tokens=7, output_tokens=3), {"prompt_tokens": 7, "completion_tokens": 3}),
        (
            counts(input_tokens=2, cache_read_tokens=4, cache_write_tokens=1, output_tokens=3, reasoning_tokens=0),
            {
                "prompt_tokens": 7,
                "completion_tokens": 3,
                "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 1},
                "completion_tokens_details": {"reasoning_tokens": 0},
            },
        ),
        (counts(input_tokens=3, cache_read_tokens=4), {"prompt_tokens": 7, "prompt_cache_hit_tokens": 4}),
        (counts(input_tokens=3, cache_read_tokens=4), {"prompt_tokens": 7, "cached_tokens": 4}),
        (counts(input_tokens=3, cache_read_tokens=4), {"prompt_tokens": 7, "num_cached_tokens": 4}),
        (counts(input_tokens=7), {"prompt_tokens": 7, "prompt_tokens_details": None}),
        (counts(), None),
        (None, None),
    ],
)
def test_equations_that_hold(usage, native):
    assert usage_problems("openai-chat", usage, native) == []


@pytest.mark.parametrize(
    ("usage", "native", "problem"),
    [
        # cached tokens counted twice
        (
            counts(input_tokens=7, cache_read_tokens=4, output_tokens=3),
            {"prompt_tokens": 7, "completion_tokens": 3, "cached_tokens": 4},
            "= prompt_tokens: 11 is not 7",
        ),
        # a field that the native usage lacks is None, not 0
        (counts(input_tokens=7, cache_read_tokens=0), {"prompt_tokens": 7}, "0 is not None"),
        (counts(input_tokens=7, cache_write_1h_tokens=0), {"prompt_tokens": 7}, "= nothing: 0 is not None"),
        (counts(input_tokens=7), {"prompt_tokens": 7, "completion_tokens": 0}, "None is not 0"),
        (counts(input_tokens=7), None, "7 is not None"),
        (None, {"prompt_tokens": 7}, "None is not 7"),
    ],
)
def test_equations_that_do_not_hold_say_so(usage, native, problem):
    assert problem in "; ".join(usage_problems("openai-chat", usage, native))


def test_a_protocol_without_equations_does_not_pass_by_silence():
    assert usage_problems("semaphore", counts(), {}) == ["no equations are written for semaphore"]
