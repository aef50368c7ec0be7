"""Mail and calendar: an MCP server of the company, on which every user acts with a token of their own."""

from __future__ import annotations

import os
from typing import Literal
from uuid import UUID

from maas.assistants.corporate.settings import CorporateSettings
from maas.settings import Settings
from maas.tools.mcp_client.servers import McpServer, read_servers
from maas.tools.wording import Phrase, Wording
from maas.user_secrets import UserSecrets
from shared.log import hide

SERVER = "calendar"
TOKEN = "calendar_token"  # the secret of a user: `maas secrets set calendar_token --user U`
MAIL_TOOLS = ("read_latest_email", "get_calendar_events", "send_email", "create_calendar_event")
SERVER_NAMES = (SERVER, *MAIL_TOOLS)
LATEST = Wording(Phrase("Read the latest email", "Прочитать последнее письмо"))
EVENTS = Wording(Phrase("Look at the calendar", "Посмотреть календарь"))
SEND = Wording(
    Phrase("Send an email", "Отправить письмо"),
    Phrase(
        "An email is sent from your mailbox; it cannot be recalled", "Письмо уйдёт из вашего ящика; вернуть его нельзя"
    ),
)
CREATE = Wording(
    Phrase("Create an event in the calendar", "Создать событие в календаре"),
    Phrase("Everybody who is invited gets an invitation", "Все приглашённые получат приглашение"),
    ("schedule", "create"),
    ("meeting",),
)
MailStatus = Literal["connected", "not configured: an operator sets CORPORATE_MCP_URL", "no access for this user"]


def mail_servers(settings: Settings) -> tuple[McpServer, ...]:
    """The server of CORPORATE_MCP_URL; none without it. What writes there is dangerous, so it waits for approval."""
    own = settings.of(CorporateSettings)
    if own.corporate_mcp_url is None:
        return ()
    token = own.corporate_mcp_token
    hide(own.corporate_mcp_url)
    latest_email, events, send, create = MAIL_TOOLS
    return (
        McpServer(
            name=SERVER,
            url=own.corporate_mcp_url,
            headers={"Authorization": f"Bearer ${{user.{TOKEN}}}"},
            list_headers={} if token is None else {"Authorization": f"Bearer {token.get_secret_value()}"},
            prefix=False,
            effects={latest_email: "read", events: "read", send: "dangerous", create: "dangerous"},
            wordings={latest_email: LATEST, events: EVENTS, send: SEND, create: CREATE},
        ),
    )


def find_mail_server(settings: Settings) -> McpServer | None:
    """The server of mail and calendar: that of MAAS_MCP_SERVERS, else ours. Raises MaasError('bad_setting')."""
    servers = (*read_servers(settings.assistants.mcp_servers, os.environ), *mail_servers(settings))
    return next((server for server in servers if server.name == SERVER), None)


async def mail_status(server: McpServer | None, secrets: UserSecrets, user_id: UUID) -> MailStatus:
    """Whether this user can use mail and calendar, and what is missing."""
    if server is None:
        return "not configured: an operator sets CORPORATE_MCP_URL"
    found = await secrets.read(user_id, server.user_variables)
    return "connected" if server.user_variables <= found.keys() else "no access for this user"
