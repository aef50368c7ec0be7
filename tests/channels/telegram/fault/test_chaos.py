"""A short trial of the Telegram channel under kill -9; `make chaos-telegram` is the long one."""

from __future__ import annotations

from tests.chaos.telegram import hold_telegram_trial
from tests.stack import Stack


def test_a_killed_channel_loses_and_doubles_nothing(stack: Stack) -> None:
    verdict = hold_telegram_trial(stack, 20, 4, interval=1.0)
    assert verdict.holds, verdict.offences
    assert verdict.kills >= 2 and verdict.figures["texts"] == 80
