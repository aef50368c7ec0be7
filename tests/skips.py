"""In CI a skipped test is a failed one: what is not run is not known to work. Tests marked `live` are excepted."""

from __future__ import annotations

import os

import pytest

_skipped: dict[str, str] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and "live" not in report.keywords and not hasattr(report, "wasxfail"):
        _skipped[report.nodeid] = _reason(report.longrepr)


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
