"""A trial whose disturbances come one after another, with an equal share of the load for each."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence

from tests.chaos.trial import Trial

LAST_SHARE = 0.1  # of the requests of one step: the trial does not end before the last step has


class StepTrial(Trial):
    """Half of the requests of a step come before it, the others one by one while it lasts; a few after the last."""

    step_s: float  # about as long as a step lasts
    _done = 0
    _began_at: float | None = None

    def steps(self) -> Sequence[Callable[[], Awaitable[None]]]:
        """What is done, in this order."""
        raise NotImplementedError

    def disturbances(self) -> Sequence[Callable[[], Awaitable[None]]]:
        return (self._take,)

    def allowed(self) -> int:
        lasted_s = 0.0 if self._began_at is None else time.monotonic() - self._began_at
        share = self._done + 0.5 + 0.5 * min(1.0, lasted_s / self.step_s)
        number = len(self.steps())
        if self._done < number:
            share = min(share, number - LAST_SHARE)
        return int(share / number * self.plan.runs) + 1

    async def _take(self) -> None:
        steps = self.steps()
        for number, step in enumerate(steps):
            await self.wait_finished((number + 0.5) / len(steps))
            self._began_at = time.monotonic()
            try:
                await step()
            finally:
                self._done, self._began_at = number + 1, None
