"""What administrators read and write of other people is in the audit: over HTTP, over MCP, on the command line."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID, uuid4

import pytest

from maas.cli import COMMANDS, _load, commands_of_plugins
from maas.http.route import Route
from maas.http.routes import all_routes
from maas.users import LOCAL_USER
from tests.flow.test_access import bearer, name_of, new_key, new_user
from tests.http_calls import call, make, takes_user
from tests.stack import NOBODY, ROOT, Stack, maas

GUARDED = [pytest.param(route, id=f"{route.method} {route.path}") for route in all_routes() if route.scope != "open"]
LISTS = {
    "/v1/admin/users": "users_list",
    "/v1/admin/runs": "runs_list",
    "/v1/admin/actions": "actions_list",
    "/v1/admin/memories": "memories_list",
    "/mem0/v1/entities/": "users_list",
}
OF_NOBODY = {  # these show and change what is no user's, or write what they change to the audit themselves
    "/v1/apps",  # of people who sign in
    "/v1/apps/preview",
    "/v1/assistants",
    "/v1/tools",
    "/v1/caller",
    "/v1/models",
    "/v1/models/{model}",
    "/metrics",
    "/v1/admin/metrics",
    "/v1/admin/spending",  # by user it leaves a row: test_admin.py
    "/v1/admin/inventory",
    "/v1/admin/webhooks",
    "/v1/admin/prompts",
    "/v1/admin/prompts/{role}",
    "/v1/admin/prompts/{role}/history",
    "/v1/admin/prompts/{role}/try",
    "/v1/admin/budget",
    "/v1/admin/limits",
    "/v1/admin/limits/{limit}",
    "/v1/admin/prices",
    "/v1/admin/prices/drop",
    "/v1/admin/filters",
    "/v1/admin/filters/{list}/{filter}",
    "/v1/admin/trial_sets",
    "/v1/admin/trial_sets/{set}",  # a set that is there leaves a row: test_admin.py
    "/v1/admin/accounts",
    "/v1/admin/keys",
    "/v1/admin/keys/{key}",
    "/v1/admin/pauses",
    "/v1/admin/pauses/end",
    "/v1/admin/knowledge",
    "/v1/admin/knowledge/{document}",
    "/mem0/v1/ping/",
    "/mem0/v1/batch/",  # called for no memories here; test_mem0.py calls it for some
    "/mem0/v1/entities/{entity_type}/{entity}/",
    "/mem0/v2/entities/{entity_type}/{entity}/",
}
ACCESSES = "select user_id, details from v_audit where action = 'user_access' and actor = %s"
MCP = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
NOTED_OTHERWISE = {
    "import",
    "export",
    "erase",
    "move",
    "forget",
    "load",
    "secrets set",
    "secrets sign-in",
    "secrets delete",
    "keys create",
    "users add",
    "users block",
    "users unblock",
}
CALL_OVER_HTTP = {"mcp"}
WITHOUT_OPTION = {"facts list", "facts rebuild"}  # which take the user as an argument
LINES: dict[str, tuple[str, ...]] = {  # every other command that names a user, and a call of it
    "ask": ("I like tea.",),
    "chat": (),
    "search": ("tea",),
    "runs": (),
    "cancel": ("--yes",),
    "retry": ("--yes",),
    "compact": (),
    "tool": ("noSuchTool",),
    "secrets list": (),
    "schedules add": ("30 8 * * 1-5", "What is due?"),
    "schedules list": (),
    "knowledge add": (str(ROOT / "README.md"),),
    "knowledge list": (),
    "knowledge remove": (str(NOBODY),),
    "knowledge search": ("tea",),
    "knowledge status": (),
    "facts list": (),
    "facts decide": (str(NOBODY), "wrong"),
    "facts correct": (str(NOBODY), "I like tea."),
    "facts rebuild": (),
    "facts merge": ("sister", "Anna"),
    "ads connect": ("--name", "Shop"),
    "ads account list": (),
    "ads account remove": (str(NOBODY), "--yes"),
    "ads sync": (),
    "ads syncs": (),
    "ads stages": (),
    "ads directions": (),
    "ads rate": ("0.5",),
}


@pytest.fixture(scope="module")
def stack(fresh_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    settings = {"MAAS_A2A": "mentor", "MAAS_AUTH": "keys", "MAAS_OPENAI_WAIT": "0.2"}
    with Stack(fresh_database, tmp_path_factory.mktemp("stack"), **settings) as running:
        running.start_server()
        running.start_orchestrator()
        yield running


@pytest.fixture(scope="module")
def root(stack: Stack) -> str:
    return new_key(stack, scopes=("admin",))


def accesses(stack: Stack, key: str, user: UUID | None = None) -> list[str]:
    """The routes by which this key used data of a user, or of anybody."""
    rows = stack.rows(ACCESSES, f"key:{key[5:17]}")
    return [row["details"]["route"] for row in rows if user in (None, row["user_id"])]


@pytest.mark.parametrize("route", GUARDED)
def test_no_route_is_used_unseen(stack: Stack, root: str, route: Route) -> None:
    """By an administrator: a row. By an application that serves many users: none."""
    victim, admin, plain = new_user(stack), new_key(stack, ("admin",)), new_key(stack)
    for key in (plain, admin):
        call(stack, route, victim, make(stack, route.resource, victim, root), **bearer(key))
    assert accesses(stack, plain) == []
    if takes_user(route):
        assert accesses(stack, admin, victim) == [f"{route.method} {route.path}"]
    elif route.path in LISTS:
        rows = stack.rows("select action, user_id from v_audit where actor = %s", f"key:{admin[5:17]}")
        assert rows == [{"action": LISTS[route.path], "user_id": None}]
    else:
        assert route.path in OF_NOBODY and accesses(stack, admin) == []


def test_an_administrator_of_some_users_is_seen_too(stack: Stack) -> None:
    user = new_user(stack)
    bound, own = new_key(stack, ("admin",), prefix="inside:"), new_key(stack, ("admin",), user)
    for key in (bound, own):
        assert stack.client.get("/v1/memories", params={"user_id": str(user)}, headers=bearer(key)).status_code == 200
    assert accesses(stack, bound, user) == ["GET /v1/memories"] and accesses(stack, own) == []


def test_a_name_is_a_user(stack: Stack) -> None:
    key, user = new_key(stack, ("admin",)), new_user(stack)
    assert stack.client.get("/v1/users", params={"external_id": name_of(stack, user)}, headers=bearer(key)).is_success
    assert accesses(stack, key) == ["GET /v1/users"] and accesses(stack, key, user)


def test_the_same_again_within_a_minute_is_one_row(stack: Stack) -> None:
    """A word is typed letter by letter into the list of users, and a page is read again and again."""
    key, user = new_key(stack, ("admin",)), new_user(stack)
    for end in range(1, 6):
        assert stack.client.get("/v1/admin/users", params={"q": "alice"[:end]}, headers=bearer(key)).is_success
        assert stack.client.get("/v1/memories", params={"user_id": str(user)}, headers=bearer(key)).is_success
    rows = stack.rows("select action from v_audit where actor = %s order by action", f"key:{key[5:17]}")
    assert [row["action"] for row in rows] == ["user_access", "users_list"]


def test_nothing_is_shown_that_cannot_be_noted(stack: Stack) -> None:
    key, user = new_key(stack, ("admin",)), new_user(stack)
    stack.rows("alter table audit add constraint shut check (action <> 'user_access') not valid")
    try:
        assert stack.client.get("/v1/memories", params={"user_id": str(user)}, headers=bearer(key)).status_code >= 500
    finally:
        stack.rows("alter table audit drop constraint shut")
    assert stack.client.get("/v1/memories", params={"user_id": str(user)}, headers=bearer(key)).status_code == 200
    assert accesses(stack, key, user) == ["GET /v1/memories"]


def test_mcp_is_no_way_around(stack: Stack) -> None:
    key, user = new_key(stack, ("admin",)), new_user(stack)
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "search_memories", "arguments": {"query": "tea", "user_id": str(user)}},
    }
    reply = stack.client.post("/mcp", json=body, headers=MCP | bearer(key))
    assert reply.status_code == 200 and '"isError":true' not in reply.text, reply.text
    assert accesses(stack, key, user) == ["POST /v1/memories/search"]


def of_users() -> Iterator[str]:
    """The commands that name a user."""

    def walk(command: object, name: str) -> Iterator[str]:
        inner = getattr(command, "commands", None)
        if inner is not None:
            for one in inner.values():
                yield from walk(one, f"{name} {one.name}")
        elif any(parameter.name == "user" for parameter in getattr(command, "params", ())):
            yield name

    for entry in (*COMMANDS, *commands_of_plugins()):
        yield from walk(_load(entry.name), entry.name)


def test_the_commands_below_are_all() -> None:
    assert {*of_users()} - NOTED_OTHERWISE - CALL_OVER_HTTP == set(LINES)


@pytest.mark.parametrize("name", LINES)
def test_a_command_is_seen(stack: Stack, name: str) -> None:
    user = uuid4()
    maas(stack, *name.split(), *LINES[name], *(() if name in WITHOUT_OPTION else ("--user",)), str(user))
    rows = stack.rows("select actor, details from v_audit where action = 'user_access' and user_id = %s", user)
    assert rows == [{"actor": "cli", "details": {"command": f"maas {name}"}}]


def test_runs_of_others_are_seen_and_those_of_this_machine_are_not(stack: Stack, root: str) -> None:
    user = new_user(stack)
    run = make(stack, "run", user, root)
    stack.wait_archived(run)
    for name in ("trace", "replay", "again"):
        done = maas(stack, name, str(run))
        assert done.returncode == 0, done.stderr
    rows = stack.rows(
        "select details->>'command' as command from v_audit where actor = 'cli' and user_id = %s order by at", user
    )
    assert [row["command"] for row in rows] == ["maas trace", "maas replay", "maas again"]
    assert maas(stack, "search", "tea").returncode == 0
    assert stack.rows("select from v_audit where user_id = %s", LOCAL_USER) == []
    assert maas(stack, "runs").returncode == maas(stack, "users", "list").returncode == 0
    rows = stack.rows("select action from v_audit where actor = 'cli' and user_id is null order by at")
    assert [row["action"] for row in rows] == ["runs_list", "users_list"]
