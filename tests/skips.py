"""In CI a skipped test is a failed one: what is not run is not known to work.

Excepted are tests marked `live`, and those whose reason begins with NOT_TO_BE_HAD: what they need was tried to install.
"""

from __future__ import annotations

import os

import pytest

NOT_TO_BE_HAD = "not to be had here"
_skipped: dict[str, str] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and "live" not in report.keywords and not hasattr(report, "wasxfail"):
        reason = _reason(report.longrepr)
        if not reason.removeprefix("Skipped: ").startswith(NOT_TO_BE_HAD):
            _skipped[report.nodeid] = reason


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.skipped:
        _skipped[report.nodeid] = _reason(report.longrepr)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if _forbidden() and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not _forbidden():
        return
    terminalreporter.section("skipped in CI, which counts as failed", red=True)
    for name, reason in _skipped.items():
        terminalreporter.line(f"{name}: {reason}")


def _forbidden() -> bool:
    return bool(os.environ.get("CI")) and bool(_skipped)


def _reason(longrepr: object) -> str:
    return str(longrepr[2]) if isinstance(longrepr, tuple) else str(longrepr)
