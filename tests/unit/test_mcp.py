"""What operators write of servers, what servers say of their tools, and what calls give."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from maas.agents.runtime import Toolbox
from maas.tools.arguments import WrongArguments, read_arguments
from maas.tools.calls import MAX_DATA_BYTES, ToolDoubt, ToolFailure
from maas.tools.executor import Executor
from maas.tools.mcp_client.naming import fit_name
from maas.tools.mcp_client.remote_tools import MAX_TOOLS, content_data, convert_tools, effect_of
from maas.tools.mcp_client.servers import McpServer, read_servers
from maas.tools.permissions import Permissions
from maas.tools.rows import size
from maas.tools.tool import Effect, Tool, ToolContext, Toolset
from shared.errors import MaasError
from shared.log import mask
from shared.models import ToolCall
from tests.toolbox import TOOLS

CONTEXT = ToolContext(UUID(int=1), UUID(int=2))
PROGRAM = {"issuer": "https://accounts.example", "client_id": "crm", "client_secret": "planted-client-secret-6"}
TIME = {"command": "mcp-server-time"}
MAIL = {"url": "https://mail.example/mcp", "headers": {"Authorization": "Bearer ${MAIL_TOKEN}"}}
NO_ARGUMENTS = {"type": "object"}


def written(**servers: object) -> str:
    return json.dumps({"mcpServers": servers})


async def nothing(_: UUID, __: str, ___: Mapping[str, Any]) -> Any:
    return None


def described(name: str = "send", schema: Any = NO_ARGUMENTS, **more: Any) -> dict[str, Any]:
    return {"name": name, "description": "Send it.", "inputSchema": schema} | more


def one_tool(described: Mapping[str, Any], **server: Any) -> Tool:
    (made,) = convert_tools(McpServer(name="mail", command="mail", **server), [described], nothing)
    return made


def test_servers_are_read_as_text_and_as_a_file(tmp_path: Path) -> None:
    text = written(time=TIME, mail=MAIL | {"trusted": True, "effects": {"send": "write"}}, old={"disabled": True})
    (tmp_path / "servers.json").write_text(text)
    environment = {"MAIL_TOKEN": "planted-mail-token-1"}
    time, mail = read_servers(text, environment)
    assert read_servers(str(tmp_path / "servers.json"), environment) == (time, mail)
    assert (time.name, time.command, time.trusted) == ("time", "mcp-server-time", False)
    assert mail.headers == {"Authorization": "Bearer planted-mail-token-1"} and mail.effects == {"send": "write"}
    assert read_servers(None, {}) == ()


def test_secrets_of_servers_are_masked() -> None:
    servers = written(
        one={
            "command": "x",
            "args": ["--key=${WIRE_KEY}"],
            "env": {"API_TOKEN": "planted-in-env-2", "TZ": "Europe/Moscow"},
        },
        two={"url": "https://gate:planted-in-url-3@mail.example/mcp", "headers": {"X-Api-Key": "planted-in-header-4"}},
        three={"url": "https://x", "oauth": PROGRAM},
    )
    one, two, three = read_servers(servers, {"WIRE_KEY": "planted-in-args-5"})
    assert three.oauth is not None and three.oauth.client_secret == "planted-client-secret-6"
    said = mask(f"{one.args} {one.env} {two.url} {two.headers} {three.oauth.client_secret}")
    assert "planted" not in said and "Europe/Moscow" in said
    assert "planted" not in f"{one!r} {two!r} {three!r}"


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("/no/such/file.json", "cannot read /no/such/file.json: No such file or directory"),
        ('{"mcpServers": ', "is not JSON: see line 1, column 16"),
        ("{}", 'must be {"mcpServers": {"NAME": {"command": ...}}}'),
        (written(time="x"), 'must be {"mcpServers": {"NAME": {"command": ...}}}'),
        (written(time={}), "server 'time': name a command or a url, one of both"),
        (written(time=TIME | MAIL | {"headers": {}}), "server 'time': name a command or a url, one of both"),
        (written(time=TIME | {"type": "http"}), "server 'time': type stdio has a command, type http a url"),
        (written(time=TIME | {"type": "sse"}), "server 'time': type: Input should be 'stdio', 'http'"),
        (written(time=TIME | {"trustd": True}), "server 'time': trustd: Extra inputs are not permitted"),
        (written(time=TIME | {"effects": {"x": "safe"}}), "server 'time': effects: x: Input should be 'read', 'write'"),
        (written(time=TIME | {"args": "x"}), "server 'time': args: Input should be"),
        (written(mail={"url": "ftp://x"}), "server 'mail': url: String should match pattern"),
        (written(mail=MAIL), "server 'mail': Authorization needs MAIL_TOKEN, which is not in the environment"),
        (written(**{"a__b": TIME}), "server 'a__b': a name is 1 to 32 Latin letters, digits, single _ and -"),
        (written(**{"1": TIME}), "server '1': a name is"),
        (written(a=TIME | {"args": ["${user.token}"]}), "server 'a': args: ${user.NAME} is for the values of"),
        (written(a={"url": "https://x/${user.id}"}), "server 'a': url: ${user.NAME} is for the values of `headers`"),
        (written(a={"url": "https://x", "headers": {"${user.a}": "x"}}), "server 'a': headers: ${user.NAME} is for"),
        (written(a={"url": "https://x", "headers": {"A": "${user.a-b}"}}), "server 'a': headers: ${user.NAME} is for"),
        (written(a={"url": "https://x", "headers": {"A": "${user.}"}}), "server 'a': headers: ${user.NAME} is for"),
        (written(a=TIME | {"headers": {"A": "${user.a}"}}), "server 'a': headers with ${user.NAME} are for a url"),
        (written(a={"url": "https://x", "list_headers": {"A": "b"}}), "server 'a': list_headers is for a server whose"),
        (written(a={"command": "x", "oauth": PROGRAM}), "server 'a': oauth is for a url"),
        (written(a={"url": "https://x", "oauth": {"client_id": "c"}}), "server 'a': oauth: client_credentials need"),
        (written(a={"url": "https://x", "oauth": PROGRAM | {"private_key": "k"}}), "server 'a': oauth: client_creden"),
        (written(a={"url": "https://x", "oauth": PROGRAM, "headers": {"authorization": "b"}}), "server 'a': oauth se"),
        (written(a={"url": "https://x", "max_connections": 0}), "server 'a': max_connections: Input should be greater"),
    ],
)
def test_wrong_servers_are_one_clear_line(setting: str, words: str) -> None:
    with pytest.raises(MaasError) as caught:
        read_servers(setting, {})
    assert caught.value.code == "bad_setting"
    assert caught.value.message.startswith(f"MAAS_MCP_SERVERS: {words}") and "\n" not in caught.value.message


def test_a_server_cannot_join_a_domain_of_ours() -> None:
    with pytest.raises(MaasError, match="'box' names tools of MAAS_TOOLS, too"):
        Toolbox(TOOLS, read_servers(written(box=TIME), {}))


PERSONAL = {
    "url": "https://mail.example/mcp",
    "headers": {"Authorization": "Bearer ${user.token}", "X-App": "maas", "X-Key": "${KEY}-${user.token}-${user.id_2}"},
    "list_headers": {"Authorization": "Bearer ${SERVICE}"},
}


def test_headers_of_a_user() -> None:
    """They are filled for each connection; the list of tools is asked for with the others."""
    environment = {"KEY": "planted-key-7", "SERVICE": "planted-service-8"}
    (server,) = read_servers(written(mail=PERSONAL), environment)
    assert server.user_variables == {"token", "id_2"}
    assert server.headers_of({"token": r"a\1b", "id_2": "5"}) == {
        "Authorization": r"Bearer a\1b",
        "X-App": "maas",
        "X-Key": r"planted-key-7-a\1b-5",
    }
    assert server.shared_headers == {"X-App": "maas", "Authorization": "Bearer planted-service-8"}
    assert mask("Bearer ${user.token} ${user.token}") == "Bearer ${user.token} ${user.token}"


def bare(*names: str, **fields: Any) -> dict[str, Any]:
    return TIME | {"prefix": False, "effects": dict.fromkeys(names, "read")} | fields


async def test_tools_without_prefix() -> None:
    """Only those that the entry names, under the names that it gives them."""
    (server,) = read_servers(written(mail=bare("read_mail", names={"Gmail_send": "send_email"}, trusted=True)), {})
    with capture_logs() as logs:
        made = convert_tools(server, [described("read_mail"), described("Gmail_send"), described("other")], nothing)
    assert [one.name for one in made] == ["read_mail", "send_email"] and {one.domain for one in made} == {"mail"}
    assert [(line["tool"], line["cause"]) for line in logs] == [
        ("other", "wrong_tool: without prefix, only tools that `effects` names are offered")
    ]
    known = Toolbox(Toolset([]), [server]).tools()
    assert known.may_hold("send_email") and known.may_hold("mail")
    assert not known.may_hold("other") and not known.may_hold("Gmail_send")


@pytest.mark.parametrize(
    ("servers", "words"),
    [
        ({"a": bare("x"), "b": bare("x")}, "server 'b' without prefix: 'x' is also the name of a tool of the server a"),
        ({"a": bare("x", "y", names={"x": "y"})}, "server 'a' without prefix: 'y' is also the name of a tool of the"),
        ({"a": bare("write_line")}, "server 'a' without prefix: 'write_line' is also the name of the tool of box"),
        ({"a": bare("box")}, "server 'a' without prefix: 'box' is also the name of a domain"),
        ({"a": bare("a")}, "server 'a' without prefix: 'a' is also the name of the server a"),
        ({"a": bare("b__x"), "b": TIME}, "server 'a' without prefix: 'b__x' is also the name of the tools of the"),
        ({"a": bare("executeTool")}, "server 'a' without prefix: 'executeTool' is also the name of a tool of MaaS"),
        ({"a": bare("transfer_to_x")}, "server 'a' without prefix: 'transfer_to_x' is also the name of a tool of MaaS"),
    ],
)
def test_a_name_that_stands_for_two_things(servers: dict[str, Any], words: str) -> None:
    with pytest.raises(MaasError) as caught:
        Toolbox(TOOLS, read_servers(written(**servers), {}))
    assert caught.value.code == "bad_setting"
    assert caught.value.message.startswith(f"MAAS_MCP_SERVERS: {words}"), caught.value.message


@pytest.mark.parametrize(
    ("trusted", "hints", "listed", "effect"),
    [
        (False, {"readOnlyHint": True}, None, "dangerous"),
        (True, {}, None, "dangerous"),
        (True, {"readOnlyHint": True}, None, "read"),
        (True, {"readOnlyHint": True, "destructiveHint": True}, None, "read"),
        (True, {"destructiveHint": False}, None, "write"),
        (True, {"readOnlyHint": False, "destructiveHint": True}, None, "dangerous"),
        (True, {"readOnlyHint": "yes"}, None, "dangerous"),
        (True, {"readOnlyHint": True}, "dangerous", "dangerous"),
        (False, {}, "read", "read"),
    ],
)
def test_effect_of_a_remote_tool(trusted: bool, hints: dict[str, Any], listed: Effect | None, effect: Effect) -> None:
    """The operator's word first, a trusted server's next; what nobody vouches for is dangerous."""
    server = McpServer(name="mail", command="x", trusted=trusted, effects={"send": listed} if listed else {})
    assert effect_of(server, "send", hints) == effect
    assert one_tool(described(annotations=hints), trusted=trusted, effects=server.effects).effect == effect


def test_idempotence_is_believed_of_the_trusted_only() -> None:
    hints = {"idempotentHint": True}
    assert one_tool(described(annotations=hints), trusted=True).is_idempotent
    assert not one_tool(described(annotations=hints)).is_idempotent


def test_a_remote_tool_has_our_form() -> None:
    """Its name may be mapped by configuration; calls go out under its own."""
    made = one_tool(described("Gmail_send"), names={"Gmail_send": "send_email"}, timeout=5)
    assert (made.name, made.domain, made.timeout) == ("mail__send_email", "mail", 5.0)
    assert made.reason == "Calls Gmail_send of the server mail"
    assert made.parameters == {"type": "object", "properties": {}, "required": []}


@given(st.text(min_size=1, max_size=200), st.text(min_size=1, max_size=200))
def test_names_fit_and_stay_apart(one: str, other: str) -> None:
    try:
        names = [fit_name("mail", one), fit_name("mail", other)]
    except UnicodeEncodeError:
        return
    assert all(len(name) <= 64 and name.replace("_", "a").replace("-", "a").isalnum() for name in names)
    assert all(name.isascii() and name.startswith("mail__") for name in names)
    assert (names[0] == names[1]) == (one == other)


def test_descriptions_are_cleaned_and_cut() -> None:
    hidden = "".join(chr(0xE0000 + ord(char)) for char in "obey")
    schema = {
        "type": "object",
        "properties": {"to": {"type": "string", "description": f"Whom.{hidden}\x00" + "!" * 900}},
    }
    made = one_tool(described(schema=schema, description=f"Send\u200b it.{hidden}" + " word" * 900))
    assert made.description.startswith("Send it. word") and len(made.description) <= 1000
    about = made.parameters["properties"]["to"]["description"]
    assert about.startswith("Whom.!") and len(about) <= 500


def bomb(depth: int = 40) -> dict[str, Any]:
    """Each definition names the next one twice."""
    definitions: dict[str, Any] = {
        f"d{n}": {"type": "object", "properties": {side: {"$ref": f"#/$defs/d{n + 1}"} for side in "ab"}}
        for n in range(depth)
    }
    definitions[f"d{depth}"] = {"type": "string"}
    return {"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": definitions}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string"}, "must be an object"),
        ({"type": "object", "properties": {"x": {}}}, "must be of one type"),
        ({"type": "object", "properties": ["x"]}, "'list' object has no attribute"),
        ({"type": "object", "properties": {"x y": {"type": "string"}}}, "'x y': a provider refuses such names"),
        ({"type": "object", "properties": {f"x{n}": {"type": "string"} for n in range(700)}}, "longer than 16000"),
        (bomb(), "more than 2000 schemas in all"),
        (None, "'NoneType' object"),
    ],
)
def test_a_tool_that_cannot_be_shown_is_left_out(schema: Any, words: str) -> None:
    with capture_logs() as logs:
        made = convert_tools(McpServer(name="mail", command="x"), [described("bad", schema), described()], nothing)
    assert [one.name for one in made] == ["mail__send"]
    (line,) = logs
    assert (line["event"], line["server"], line["tool"]) == ("mcp_tool_skipped", "mail", "bad")
    assert words in line["cause"]


def test_a_server_has_no_more_than_so_many_tools() -> None:
    found = [described(f"t{n}") for n in range(MAX_TOOLS + 2)]
    with capture_logs() as logs:
        assert len(convert_tools(McpServer(name="mail", command="x"), found, nothing)) == MAX_TOOLS
    assert len(logs) == 2


SCHEMA = {
    "type": "object",
    "properties": {
        "zone": {"type": "string", "minLength": 1, "pattern": "(a+)+$"},
        "count": {"type": "integer", "maximum": 9},
        "tags": {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}},
        "more": {"type": "object", "additionalProperties": {"type": "string"}},
        "since": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
    },
    "required": ["zone"],
}


def test_arguments_keep_to_the_schema() -> None:
    """What is meant is coerced as for tools of our own; a stranger's pattern is not run."""
    made = one_tool(described(schema=SCHEMA), effects={"send": "read"})
    text = '{"zone": 5, "tags": "[\\"x\\"]", "count": null, "more": {"any": "a"}, "since": 3, "other": 1}'
    given = read_arguments(made, text)
    assert given.values == given.model == {"zone": "5", "tags": ["x"], "more": {"any": "a"}, "since": 3}
    assert given.ignored == ("other",)
    assert read_arguments(made, json.dumps({"zone": "a" * 60 + "!"})).ignored == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{}", "zone: is required"),
        ('{"zone": ""}', "zone: '' should be non-empty"),
        ('{"zone": "a", "count": 10}', "count: 10 is greater than the maximum of 9"),
        ('{"zone": "a", "tags": ["x", "z"]}', "tags.1: 'z' is not one of"),
        ('{"zone": "a", "since": []}', "since: [] is not valid under any of the given schemas"),
        ('{"zone": "a", "other": 1}', "unknown: other; send only what the tool takes"),
    ],
)
def test_wrong_arguments_say_what_is_wrong(text: str, words: str) -> None:
    with pytest.raises(WrongArguments) as caught:
        read_arguments(one_tool(described(schema=SCHEMA)), text)
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize(
    ("result", "data"),
    [
        ({"content": []}, None),
        ({"content": [{"type": "text", "text": "hello"}]}, "hello"),
        ({"content": [{"type": "text", "text": '{"a": [1]}'}]}, {"a": [1]}),
        ({"content": [{"type": "text", "text": "[not json"}]}, "[not json"),
        ({"content": [{"type": "text", "text": '{"a": 1}'}], "structuredContent": {"a": 1}}, {"a": 1}),
        (
            {"content": [{"type": "text", "text": "a"}, {"type": "image", "mimeType": "image/png", "data": "AAAA"}]},
            ["a", {"type": "image", "mime_type": "image/png", "bytes": 3}],
        ),
        ({"content": [{"type": "resource", "resource": {"uri": "f:1", "text": "t"}}]}, {"uri": "f:1", "text": "t"}),
        (
            {"content": [{"type": "resource", "resource": {"uri": "f:1", "mimeType": "a/b", "blob": "AAAAAAAA"}}]},
            {"type": "file", "mime_type": "a/b", "bytes": 6, "uri": "f:1"},
        ),
        (
            {"content": [{"type": "resource_link", "uri": "f:1", "name": "n", "_meta": {}}]},
            {"type": "resource_link", "uri": "f:1", "name": "n"},
        ),
    ],
)
def test_what_a_call_gave(result: dict[str, Any], data: Any) -> None:
    assert content_data(result) == data


def test_secrets_do_not_come_back() -> None:
    read_servers(written(mail=MAIL), {"MAIL_TOKEN": "planted-echoed-6"})
    text = json.dumps({"headers": {"authorization": "Bearer planted-echoed-6"}})
    assert "planted" not in json.dumps(content_data({"content": [{"type": "text", "text": text}]}))
    with pytest.raises(ToolFailure) as caught:
        content_data({"isError": True, "content": [{"type": "text", "text": "refused planted-echoed-6"}]})
    assert caught.value.message == "refused ***"


def test_a_failure_without_words() -> None:
    with pytest.raises(ToolFailure, match="did not say why"):
        content_data({"isError": True, "content": []})


async def made_call(tool: Tool) -> Mapping[str, Any]:
    async def count() -> int:
        return 1

    async def record(_: object) -> None:
        return None

    executor = Executor(Toolset([tool]), Permissions(frozenset({tool.name})), CONTEXT, count, record)
    (result,) = await executor.run([ToolCall("c1", tool.name, "{}")])
    return result.body


async def test_a_huge_result_is_cut() -> None:
    async def huge(_: UUID, __: str, ___: Mapping[str, Any]) -> Any:
        return content_data({"content": [{"type": "text", "text": "я" * 5_000_000}]})

    server = McpServer(name="mail", command="x", effects={"send": "read"})
    (tool,) = convert_tools(server, [described()], huge)
    body = await made_call(tool)
    assert body["success"] and size(body["data"]) <= MAX_DATA_BYTES
    assert body["_meta"]["cut"] == ["data"] and body["_meta"]["via"] == "mcp" and body["_meta"]["domain"] == "mail"


@pytest.mark.parametrize(
    ("effect", "is_idempotent", "code"),
    [("read", False, "failed"), ("write", True, "failed"), ("write", False, "in_doubt")],
)
async def test_a_server_lost_during_a_call(effect: Effect, is_idempotent: bool, code: str) -> None:
    """Nobody knows whether a write was done; what may be repeated just failed."""

    async def lost(_: UUID, __: str, ___: Mapping[str, Any]) -> Any:
        raise ToolDoubt("the server mail was lost during the call")

    hints = {"readOnlyHint": effect == "read", "destructiveHint": False, "idempotentHint": is_idempotent}
    (tool,) = convert_tools(McpServer(name="mail", command="x", trusted=True), [described(annotations=hints)], lost)
    body = await made_call(tool)
    assert body["error_code"] == code and body["message"].startswith("the server mail was lost during the call. ")
