"""Where ids come from."""

import re
import time

from llmcore.ids import counter, mint_call, ulid

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def milliseconds(text: str) -> int:
    number = 0
    for char in text[:10]:
        number = number * 32 + ALPHABET.index(char)
    return number


def test_a_ulid_has_its_form_and_begins_with_the_time() -> None:
    before = time.time_ns() // 1_000_000
    made = [ulid() for _ in range(200)]
    after = time.time_ns() // 1_000_000
    assert all(re.fullmatch("[0-7][0-9A-HJKMNP-TV-Z]{25}", one) for one in made)
    times = [milliseconds(one) for one in made]
    assert times == sorted(times)
    assert before <= times[0] <= times[-1] <= after
    assert len(set(made)) == len(made)


def test_the_id_of_a_call_is_ours() -> None:
    assert re.fullmatch("tu_[0-9A-Z]{26}", mint_call())
    assert mint_call() != mint_call()


def test_a_counter_counts_for_itself() -> None:
    one, other = counter(), counter("x")
    assert [one(), one(), other(), one()] == ["tu_0", "tu_1", "x0", "tu_2"]
