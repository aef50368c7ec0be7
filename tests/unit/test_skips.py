"""Which skipped tests count as failed in CI."""

from __future__ import annotations

import pytest

from tests import skips


@pytest.mark.parametrize(
    ("reason", "keyword", "is_counted"),
    [
        ("Skipped: there is no node", "contract", True),
        ("Skipped: there is no key", "live", False),
        (f"Skipped: {skips.NOT_TO_BE_HAD}: no network", "contract", False),
        (f"Skipped: no, {skips.NOT_TO_BE_HAD}", "contract", True),
    ],
)
def test_a_skip_counts_unless_nothing_can_be_done(
    monkeypatch: pytest.MonkeyPatch, reason: str, keyword: str, is_counted: bool
) -> None:
    counted: dict[str, str] = {}
    monkeypatch.setattr(skips, "_skipped", counted)
    place = ("tests/x.py", 1, reason)
    report = pytest.TestReport("tests/x.py::test", ("tests/x.py", 1, "test"), {keyword: 1}, "skipped", place, "setup")
    skips.pytest_runtest_logreport(report)
    assert bool(counted) == is_counted
