"""A principal that is bound to a user may hold only a share of the followers of a process."""

from __future__ import annotations

from contextlib import ExitStack
from uuid import UUID

import pytest

from maas.http.auth import Principal
from maas.http.errors import STATUS, headers_of
from maas.http.state import FOLLOWER_SHARE, FollowerLimit
from shared.errors import MaasError

MAX_FOLLOWERS = 30
ASK = frozenset({"ask", "read"})
ANN, OF_ANN_TOO = (Principal(name, ASK, user_id=UUID(int=1)) for name in ("key:a", "key:b"))
BOB = Principal("key:c", ASK, user_id=UUID(int=2))
TENANT = Principal("key:d", ASK, prefix="shop:")
EVERYBODY = Principal("key:e", ASK)


def follow(limit: FollowerLimit, stack: ExitStack, principal: Principal) -> None:
    limit.check(principal)
    stack.enter_context(limit.counting(principal))


def test_a_user_is_refused_beyond_the_share_by_whatever_key_and_others_are_not() -> None:
    limit = FollowerLimit(MAX_FOLLOWERS)
    with ExitStack() as stack:
        for principal in (ANN, OF_ANN_TOO, ANN):
            follow(limit, stack, principal)
        with pytest.raises(MaasError) as caught:
            limit.check(OF_ANN_TOO)
        for principal in (BOB, *[TENANT] * (MAX_FOLLOWERS // FOLLOWER_SHARE), *[EVERYBODY] * MAX_FOLLOWERS):
            follow(limit, stack, principal)
        with pytest.raises(MaasError):
            limit.check(TENANT)
    assert (STATUS[caught.value.code], headers_of(caught.value)) == (429, {"Retry-After": "1"})
    limit.check(ANN)


def test_everybody_may_follow_one_run_at_least() -> None:
    limit = FollowerLimit(1)
    with ExitStack() as stack:
        follow(limit, stack, ANN)
        with pytest.raises(MaasError):
            limit.check(ANN)
