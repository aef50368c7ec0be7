"""The report as text and as one page of HTML without anything to load."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from pathlib import Path

from learning_agent.emulator.results import OUTCOMES, PlayedTurn, Report, Result

MARKS = {"passed": "ok  ", "failed": "FAIL", "left out": "-   "}
MAX_ANSWER_CHARS = 300
MAX_STALE_LINES = 5
_STYLE = """
body{font:15px/1.45 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b;background:#fff}
table{border-collapse:collapse;margin:1rem 0}td,th{padding:.2rem .9rem .2rem 0;text-align:left}
summary{cursor:pointer;padding:.25rem 0}details{border-top:1px solid #ddd}
.passed{color:#116329}.failed{color:#a40e26}.skipped,.left{color:#666}
blockquote{margin:.4rem 0;padding:.3rem .8rem;border-left:3px solid #ccc;white-space:pre-wrap}
@media(prefers-color-scheme:dark){body{background:#16181c;color:#ddd}.passed{color:#5fc27e}.failed{color:#ff7b8a}
.skipped,.left{color:#999}details{border-color:#333}}
"""


def to_text(report: Report) -> str:
    """A line for each scenario, what did not hold below it, and the sums."""
    lines: list[str] = []
    for one in report.results:
        note = f"  ({one.error})" if one.outcome == "left out" else f"  {one.seconds:.1f} s"
        lines.append(f"{MARKS[one.outcome]}  {one.name:<34}{one.kind:<11}{note}")
        lines += [f"        {line}" for line in one.failures]
        if one.outcome == "failed":
            lines += [f"        answer: {_short(turn.answer)}" for turn in one.turns if _is_failed(turn)]
    if report.stale:
        lines += ["", f"{len(report.stale)} requests are not in the recording, so this says nothing of the answers:"]
        lines += [f"        {line}" for line in report.stale[:MAX_STALE_LINES]]
        lines.append(f"recorded for another prompt: record again with `make emulate MODEL={report.model} RECORD=FILE`")
    lines += ["", summary_of(report)]
    return "\n".join(lines)


def summary_of(report: Report) -> str:
    """One line: how many scenarios and expectations held, with which model and judge."""
    counts = ", ".join(f"{report.count(name)} {name}" for name in OUTCOMES if report.count(name))
    checks = [check for one in report.results for check in one.checks]
    held = sum(check.verdict == "passed" for check in checks)
    skipped = sum(check.verdict == "skipped" for check in checks)
    judge = f"judge {report.judge}" if report.judge else "no judge"
    return (
        f"{report.model}, {judge}: {counts or 'nothing played'}; {held} of {len(checks) - skipped} expectations held, "
        f"{skipped} skipped"
    )


def to_html(report: Report) -> str:
    """One page with every answer."""
    kinds = sorted({one.kind for one in report.results})
    rows = "".join(f"<tr><td>{escape(kind)}</td>{_counts(report, kind)}</tr>" for kind in kinds)
    heads = "".join(f"<th>{name}</th>" for name in ("kind", *OUTCOMES))
    missing = f"<p class=failed>{len(report.stale)} requests are not in the recording; record again.</p>"
    stale = missing if report.stale else ""
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>Scenarios: {escape(report.model)}</title>"
        f"<style>{_STYLE}</style><h1>Scenarios</h1><p>{escape(summary_of(report))}</p><p>{escape(report.played_at)}</p>"
        f"{stale}<table><tr>{heads}</tr>{rows}</table>{''.join(map(_scenario, report.results))}</html>\n"
    )


def write_reports(report: Report, out: Path) -> tuple[Path, Path]:
    """Write OUT.json and OUT.html; their paths."""
    out.parent.mkdir(parents=True, exist_ok=True)
    paths = out.with_suffix(".json"), out.with_suffix(".html")
    paths[0].write_text(json.dumps(report.to_json(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    paths[1].write_text(to_html(report), encoding="utf-8")
    return paths


def _counts(report: Report, kind: str) -> str:
    outcomes = [one.outcome for one in report.results if one.kind == kind]
    return "".join(f"<td>{outcomes.count(name)}</td>" for name in OUTCOMES)


def _scenario(one: Result) -> str:
    opened = " open" if one.outcome == "failed" else ""
    error = f"<p class=failed>{escape(one.error)}</p>" if one.error else ""
    return (
        f"<details{opened}><summary><span class={one.outcome.split()[0]}>{one.outcome}</span> "
        f"<b>{escape(one.name)}</b> {escape(one.title)}</summary>{error}{''.join(_turns(one))}</details>"
    )


def _turns(one: Result) -> Iterator[str]:
    for turn in one.turns:
        degraded = f" · by rules: {escape(', '.join(turn.degraded))}" if turn.degraded else ""
        seconds = f" · {turn.seconds:.1f} s" if turn.seconds is not None else ""
        tokens = f" · {turn.tokens_in} + {turn.tokens_out} tokens" if turn.tokens_in else ""
        yield f"<p>Day {turn.day}{seconds}{tokens}{degraded}</p><blockquote>{escape(turn.question)}</blockquote>"
        yield f"<blockquote>{escape(turn.answer)}</blockquote><ul>"
        for check in turn.checks:
            detail = f" ({escape(check.detail)})" if check.detail else ""
            yield f"<li class={check.verdict}>{check.verdict}: {check.expectation} {escape(check.wanted)}{detail}</li>"
        yield "</ul>"


def _is_failed(turn: PlayedTurn) -> bool:
    return any(check.verdict == "failed" for check in turn.checks)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_ANSWER_CHARS else f"{line[:MAX_ANSWER_CHARS]}…"
