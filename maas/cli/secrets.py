"""`maas secrets`: set, obtain, list and delete the tokens of users for MCP servers. No command prints a value."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from maas import user_secrets
from maas.settings import Settings, load_settings
from maas.terminal.invocation import read_uuid, with_database
from maas.terminal.output import Table, note, show
from shared.db import Database
from shared.errors import MaasError

MAX_INPUT_CHARS = 10_000
cli = typer.Typer(no_args_is_help=True, add_completion=False)
SecretUser = Annotated[str, typer.Option("--user", "-u", help="user of the secret, a UUID")]
Name = Annotated[str, typer.Argument(help="NAME of ${user.NAME} in the headers of MCP servers")]


@cli.command("set", help="Store or replace a secret; its value is read from standard input, or from a variable.")
def set_secret(
    name: Name,
    user: SecretUser,
    env: Annotated[str | None, typer.Option(help="environment variable that holds the value")] = None,
) -> None:
    """The value is no argument: other users of this machine could read it there. Raises MaasError."""
    user_id = read_uuid(user, "--user")
    if env is None:
        value = _read_stdin()
    elif (given := os.environ.get(env)) is None:
        raise MaasError("bad_parameter", f"--env: the environment variable {env!r} is not set")
    else:
        value = given
    is_new = with_database(lambda db, _: user_secrets.set_secret(db, user_id, name, value, "cli"))
    show("stored" if is_new else "replaced; connections with the old value are closed within seconds")


@cli.command("sign-in", help="Sign a user in at an MCP server that wants OAuth, by a browser on this machine.")
def sign_in(
    server: Annotated[str, typer.Argument(help="name of the server in MAAS_MCP_SERVERS")],
    user: SecretUser,
    port: Annotated[int, typer.Option(min=1, max=65_535, help="port that the browser comes back to")] = 8765,
) -> None:
    """Print the address to open, wait for the browser, and store what the user agreed to. Raises MaasError."""
    from maas.assistants.registry import load_servers  # it imports the plugins
    from maas.tools.mcp_client.browser_sign_in import sign_in_by_browser  # the SDK takes most of a second to import

    user_id = read_uuid(user, "--user")
    found = next((one for one in load_servers(load_settings(), os.environ) if one.name == server), None)
    if found is None or (name := found.grant_secret) is None:
        raise MaasError("bad_parameter", f"MAAS_MCP_SERVERS has no {server!r} whose oauth has grant authorization_code")

    async def run(db: Database, _: Settings) -> bool:
        note("open this address in a browser on this machine:")
        value = await sign_in_by_browser(found, port, note)
        return await user_secrets.set_secret(db, user_id, name, value, "cli")

    is_new = with_database(run)
    show("signed in" if is_new else "signed in anew; connections with the old access are closed within seconds")


@cli.command("list", help="List the names of a user's secrets.")
def list_secrets(user: SecretUser) -> None:
    """Print names and times, no values. Raises MaasError."""
    user_id = read_uuid(user, "--user")
    table = Table("name", "set")
    rows = with_database(lambda db, _: user_secrets.list_secrets(db, user_id), command="secrets list", user_id=user_id)
    for row in rows:
        table.add_row(row["name"], f"{row['changed_at']:%Y-%m-%d %H:%M:%S}")
    show(table)


@cli.command("delete", help="Delete a secret; connections with it are closed within seconds.")
def delete_secret(name: Name, user: SecretUser) -> None:
    """Raises MaasError for an unknown name."""
    user_id = read_uuid(user, "--user")
    with_database(lambda db, _: user_secrets.delete_secret(db, user_id, name, "cli"))
    show("deleted")


def _read_stdin() -> str:
    """The first line of standard input; a terminal does not show what is typed."""
    if sys.stdin.isatty():
        value: str = typer.prompt("value", hide_input=True, err=True)
        return value
    return sys.stdin.readline(MAX_INPUT_CHARS).removesuffix("\n").removesuffix("\r")
