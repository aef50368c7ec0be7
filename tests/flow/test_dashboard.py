"""The dashboard of Grafana asks for what /metrics gives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import promql_parser
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.http_server import HTTPServer
from tests.model_server import ModelServer
from tests.polling import poll
from tests.stack import ROOT, Stack

DASHBOARD = json.loads((ROOT / "deploy" / "grafana.json").read_text())
OPTIONAL = {  # there is nothing to embed here
    "maas_embedded_turns",
    "maas_embedding_refused_turns",
    "maas_embedding_tokens_total",
    "maas_embedding_waiting_turns",
}
OF_PROMETHEUS = {"job", "instance", "le"}


@pytest.fixture(scope="module")
def scraped(fresh_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, list[dict[str, Any]]]]:
    """Samples by name of a /metrics where a model has answered, called a tool, cost money and failed."""
    folder = tmp_path_factory.mktemp("dashboard")
    with HTTPServer(threaded=True) as server, Stack(fresh_database, folder) as stack:
        models = ModelServer(server)
        models.rounds["responder"] = [[("write_line", '{"text": "one"}')]]
        definition = json.dumps({"toolset": ["box"], "default_mode": "auto"})
        stack.rows("insert into assistants (name, role_name, definition) values ('clerk', 'Mentor', %s)", definition)
        price = "insert into model_prices (provider, model, input, output) values ('openai', 'responder', 1000, 2000)"
        stack.rows(price)
        stack.start_server()
        stack.rows("select maas_create_webhook(null, 'https://127.0.0.1/nobody', null)")  # no address to send to
        tools = {"MAAS_TOOLS": "tests.toolbox:TOOLS"}
        stack.start_orchestrator(**models.settings(), **tools, TOOLBOX=str(folder))
        stack.wait_archived(stack.ask(uuid4(), "Write it down.", assistant="clerk", mode="auto"))
        models.statuses["responder"] = 401
        stack.answer(stack.ask(uuid4(), "Who are you?"))
        poll(lambda: 'status="FAILED"' in stack.client.get("/metrics").text)
        poll(lambda: 'finish="error"' in stack.client.get("/metrics").text)
        poll(lambda: 'outcome="retried"' in stack.client.get("/metrics").text)
        samples: dict[str, list[dict[str, Any]]] = {}
        for family in text_string_to_metric_families(stack.client.get("/metrics").text):
            for sample in family.samples:
                samples.setdefault(sample.name, []).append(sample.labels | {"value": sample.value})
        yield samples
        models.close()


def panels() -> list[dict[str, Any]]:
    return list(DASHBOARD["panels"])


def expressions() -> list[str]:
    return [target["expr"] for panel in panels() for target in panel.get("targets", [])]


def selectors(expression: str) -> Iterator[promql_parser.VectorSelector]:
    """What a real parser of PromQL finds in it. Raises ValueError for what is none."""
    parsed = promql_parser.parse(expression.replace("$__rate_interval", "5m").replace("$job", ".*"))
    stack: list[Any] = [parsed]
    while stack:
        one = stack.pop()
        if isinstance(one, promql_parser.VectorSelector):
            yield one
        stack += [getattr(one, part) for part in ("expr", "lhs", "rhs", "vector_selector") if hasattr(one, part)]
        stack += getattr(one, "args", None) or []


def test_every_expression_asks_for_what_is_there(scraped: dict[str, list[dict[str, Any]]]) -> None:
    asked = 0
    for expression in expressions():
        for selector in selectors(expression):
            asked += 1
            assert selector.name in scraped or selector.name in OPTIONAL, expression
            for matcher in selector.matchers.matchers:
                known = {label for sample in scraped.get(selector.name, []) for label in sample}
                assert matcher.name in known | OF_PROMETHEUS, (expression, matcher.name)
    assert asked >= len(expressions()) > 30


def test_every_metric_of_ours_is_shown(scraped: dict[str, list[dict[str, Any]]]) -> None:
    shown = {selector.name for expression in expressions() for selector in selectors(expression)}
    ours = {name for name in scraped if name.startswith("maas_") and not name.endswith(("_created", "_sum", "_count"))}
    assert ours - shown == set()


def test_what_a_model_and_a_tool_did_is_counted(scraped: dict[str, list[dict[str, Any]]]) -> None:
    """Two calls of the Responder's model, 11 tokens in and 7 out each, at 1000 and 2000 dollars a million."""
    responder = [one for one in scraped["maas_model_tokens_total"] if one["model"] == "responder"]
    assert {one["kind"]: one["value"] for one in responder} == {"in": 22, "out": 14}
    assert [(one["model"], one["value"]) for one in scraped["maas_model_cost_dollars_total"]] == [("responder", 0.05)]
    assert [(one["tool"], one["outcome"], one["value"]) for one in scraped["maas_tool_calls_total"]] == [
        ("write_line", "done", 1)
    ]
    assert scraped["maas_tool_seconds_total"][0]["value"] >= 0
    assert {one["state"] for one in scraped["maas_pool_connections"]} == {"idle", "used"}
    assert scraped["maas_database_bytes"][0]["value"] > 1_000_000
    assert scraped["maas_info"][0]["version"]


def test_webhooks_that_do_not_answer_are_seen(scraped: dict[str, list[dict[str, Any]]]) -> None:
    attempts = {one["outcome"]: one["value"] for one in scraped["maas_webhook_deliveries_total"]}
    assert attempts.keys() == {"retried"} and attempts["retried"] >= 1
    assert scraped["maas_webhook_events_waiting"][0]["value"] >= 1
    assert scraped["maas_webhook_oldest_seconds"][0]["value"] > 0
    states = {one["state"]: one["value"] for one in scraped["maas_webhooks"]}
    assert states == {"enabled": 1, "asked": 0, "gone": 0, "failing": 0, "queue_full": 0}


def test_grafana_can_read_it() -> None:
    assert DASHBOARD["schemaVersion"] >= 36 and DASHBOARD["uid"] and DASHBOARD["title"]
    variables = {one["name"]: one["type"] for one in DASHBOARD["templating"]["list"]}
    assert variables == {"datasource": "datasource", "job": "query"}
    ids = [panel["id"] for panel in panels()]
    assert len(set(ids)) == len(ids)
    cells: set[tuple[int, int]] = set()
    for panel in panels():
        place = panel["gridPos"]
        mine = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert place["x"] + place["w"] <= 24 and not mine & cells, panel["title"]
        cells |= mine
        for target in panel.get("targets", []):
            assert target["datasource"]["uid"] == panel["datasource"]["uid"] == "${datasource}"
