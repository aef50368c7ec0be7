"""One caller who is bound to a user may hold a share of the followers of a process, not all."""

from __future__ import annotations

from contextlib import ExitStack
from uuid import UUID

import pytest

from maas.http.callers import Caller
from maas.http.errors import STATUS, headers_of
from maas.http.followers import SHARE, Followers
from shared.errors import MaasError

MOST = 30
ASK = frozenset({"ask", "read"})
ANN, OF_ANN_TOO = (Caller(name, ASK, user_id=UUID(int=1)) for name in ("key:a", "key:b"))
BOB = Caller("key:c", ASK, user_id=UUID(int=2))
TENANT = Caller("key:d", ASK, prefix="shop:")
EVERYBODY = Caller("key:e", ASK)


def follow(followers: Followers, stack: ExitStack, caller: Caller) -> None:
    followers.check(caller)
    stack.enter_context(followers.counting(caller))


def test_a_user_is_refused_beyond_the_share_by_whatever_key_and_others_are_not() -> None:
    followers = Followers(MOST)
    with ExitStack() as stack:
        for caller in (ANN, OF_ANN_TOO, ANN):
            follow(followers, stack, caller)
        with pytest.raises(MaasError) as caught:
            followers.check(OF_ANN_TOO)
        for caller in (BOB, *[TENANT] * (MOST // SHARE), *[EVERYBODY] * MOST):
            follow(followers, stack, caller)
        with pytest.raises(MaasError):
            followers.check(TENANT)
    assert (STATUS[caught.value.code], headers_of(caught.value)) == (429, {"Retry-After": "1"})
    followers.check(ANN)


def test_everybody_may_follow_one_run_at_least() -> None:
    followers = Followers(1)
    with ExitStack() as stack:
        follow(followers, stack, ANN)
        with pytest.raises(MaasError):
            followers.check(ANN)
