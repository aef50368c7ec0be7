"""/metrics as Prometheus reads it."""

from __future__ import annotations

import signal
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from prometheus_client.parser import text_string_to_metric_families

from maas.cli.up import prepare_database
from shared.postgres import acquire
from tests.polling import poll
from tests.stack import Stack

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def scrape(stack: Stack) -> Samples:
    reply = stack.client.get("/metrics")
    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith("text/plain; version=")
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(reply.text)
        for sample in family.samples
    }


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples.get((name, tuple(sorted(labels.items()))), 0.0)


def finished(samples: Samples, status: str = "COMPLETED", code: str = "") -> float:
    return value(samples, "maas_runs_finished_total", kind="ask", status=status, code=code)


def test_counters_move_when_runs_are_done(bare: Stack) -> None:
    before = scrape(bare)
    assert (finished(before), finished(before, "FAILED", "engine_died")) == (0, 0)
    assert value(before, "maas_orchestrators") == 0
    bare.start_orchestrator()
    users = [uuid4() for _ in range(6)]
    bare.wait_archived(*(bare.ask(user, f"My number is {n}.") for n, user in enumerate(users)))
    bare.answer(bare.ask(users[0], "я" * 32_000))
    poll(lambda: finished(scrape(bare)) == 6 and finished(scrape(bare), "FAILED", "query_too_long") == 1)
    counts = {"claim": 7, "analyzer": 7, "final_responder": 6, "archivist": 6, "answer": 6}
    poll(lambda: {stage: value(scrape(bare), "maas_stage_seconds_count", stage=stage) for stage in counts} == counts)
    after = scrape(bare)
    assert value(after, "maas_database_up") == value(after, "maas_orchestrators") == 1
    parts = sum(
        value(after, "maas_stage_seconds_sum", stage=stage)
        for stage in ("draft_builder", "assembler", "final_responder")
    )
    assert 0 < parts < value(after, "maas_stage_seconds_sum", stage="answer")
    calls: dict[str, Any] = {"provider": "extractive", "model": "builtin", "finish": "stop"}
    assert value(after, "maas_model_calls_total", **calls) >= 4 * 6
    for lane in ("inbox", "waiting", "runnable", "in_flight"):
        assert value(after, "maas_queue_runs", lane=lane) == 0
    assert value(after, "maas_queue_oldest_seconds") == 0


def test_buckets_are_cumulative(bare: Stack, user: UUID) -> None:
    bare.start_orchestrator()
    bare.wait_archived(bare.ask(user, "A tent is green."), bare.ask(user, "A kayak is red."))
    poll(lambda: finished(scrape(bare)) == 2)
    samples = scrape(bare)
    buckets = sorted(
        (float(dict(labels)["le"]), count)
        for (name, labels), count in samples.items()
        if name == "maas_stage_seconds_bucket" and dict(labels)["stage"] == "answer"
    )
    assert all(less[1] <= more[1] for less, more in pairwise(buckets))
    assert buckets[0][0] == 0.001 and buckets[-1] == (float("inf"), 2)


def test_the_queue_is_seen_without_any_orchestrator(bare: Stack, user: UUID) -> None:
    for _ in range(3):
        bare.ask(user, "Is anybody there?")
    poll(lambda: value(scrape(bare), "maas_queue_oldest_seconds") > 0.1)
    assert value(scrape(bare), "maas_queue_runs", lane="inbox") == 3


def test_counters_outlive_their_processes(bare: Stack, user: UUID) -> None:
    """Two orchestrators, one stopped and one killed, then a third: nothing falls back."""
    first, second = bare.start_orchestrator(), bare.start_orchestrator()
    bare.wait_archived(*(bare.ask(uuid4(), f"Fact {n}.") for n in range(8)))
    poll(lambda: finished(scrape(bare)) == 8)
    bare.stop(first)
    bare.stop(second, signal.SIGKILL)
    assert finished(scrape(bare)) == 8
    third = bare.start_orchestrator()
    bare.wait_archived(bare.ask(user, "One more."))
    bare.stop(third)
    assert finished(scrape(bare)) == 9, "a stopped process leaves nothing uncounted"


def test_requests_are_counted_by_route(bare: Stack, user: UUID) -> None:
    run_id = bare.ask(user, "Who counts me?")
    bare.client.get(f"/v1/runs/{run_id}")
    bare.client.get(f"/v1/runs/{uuid4()}")
    bare.client.request("TRACE", "/v1/runs")
    bare.client.get("/somewhere/else")
    samples = scrape(bare)
    for method, path, status in (
        ("POST", "/v1/runs", "202"),
        ("GET", "/v1/runs/{id}", "200"),
        ("GET", "/v1/runs/{id}", "404"),
        ("other", "/v1/runs", "405"),
        ("GET", "unknown", "404"),
    ):
        assert value(samples, "maas_http_requests_total", method=method, path=path, status=status) == 1, (path, status)
    assert value(samples, "maas_http_request_seconds_count", method="GET", path="/v1/runs/{id}") == 2
    assert value(samples, "process_resident_memory_bytes") > 0
    assert not any(str(run_id) in str(labels) for _, labels in samples)


def test_a_scrape_without_database_says_so(reachable_tmp: Path, pg_bin: Path | None, tmp_path: Path) -> None:
    """The traffic of the process is still shown."""
    server = acquire(reachable_tmp / f"metrics-{uuid4().hex[:8]}", bin_dir=pg_bin)
    prepare_database(server.dsn)
    with Stack(server.dsn, tmp_path) as running:
        running.start_server()
        assert value(scrape(running), "maas_database_up") == 1
        server.close(wait=True)
        samples = scrape(running)
        assert ("maas_database_up", ()) in samples and value(samples, "maas_database_up") == 0
        assert value(samples, "maas_http_requests_total", method="GET", path="/metrics", status="200") == 1
