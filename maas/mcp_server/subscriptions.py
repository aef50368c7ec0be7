"""Subscriptions: a client hears when a resource has changed, or the list of them, and reads again what it needs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.shared.subscriptions import (
    SUBSCRIPTION_ID_META_KEY,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    event_to_notification,
)
from mcp_types import (
    INVALID_PARAMS,
    SubscriptionFilter,
    SubscriptionsAcknowledgedNotification,
    SubscriptionsAcknowledgedNotificationParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
)

from maas.client.results import ClientError, NotFound
from maas.mcp_server.context import McpContext, protocol_errors
from maas.mcp_server.resources import is_address, read_list, read_text

MAX_RESOURCES = 16  # of one subscription: each is read again whenever something of the user has changed
LOOK_INTERVAL_S = 5.0  # for what is no run and so tells nobody: a decision about a fact, a deletion
MIN_INTERVAL_S = 2.0  # between two looks
STREAM_S = 60.0
EARLY_END_S = 1.0  # a stream that ends so much earlier is from a stopping server


async def listen(
    context: McpContext, request: ServerRequestContext[Any], params: SubscriptionsListenRequestParams
) -> SubscriptionsListenResult:
    """Notify the client until it leaves, or until the server stops. Raises MCPError."""
    wanted = params.notifications
    uris = dict.fromkeys(uri for uri in wanted.resource_subscriptions or () if is_address(uri))
    if len(uris) > MAX_RESOURCES:
        raise MCPError(INVALID_PARAMS, f"resourceSubscriptions: at most {MAX_RESOURCES} resources")
    meta: dict[str, Any] = {SUBSCRIPTION_ID_META_KEY: request.request_id}
    with protocol_errors():
        user = await context.authorize("read", None)
        watch = _Watch(context, user, tuple(uris), wanted.resources_list_changed is True)
        await watch.look()
    honored = SubscriptionFilter(
        resources_list_changed=watch.is_list_watched or None, resource_subscriptions=list(uris) or None
    )
    acknowledged = SubscriptionsAcknowledgedNotificationParams(notifications=honored, _meta=meta)
    session, stream = request.session, request.request_id
    await session.send_notification(
        SubscriptionsAcknowledgedNotification(params=acknowledged), related_request_id=stream
    )
    following = asyncio.create_task(watch.follow())
    following.add_done_callback(lambda _: watch.changed.set())
    try:
        while not following.done():
            await watch.wait()
            for event in await watch.look_again():
                await session.send_notification(event_to_notification(event, meta), related_request_id=stream)
        with protocol_errors():
            await following
    finally:
        following.cancel()
    return SubscriptionsListenResult(_meta=meta)


@dataclass(slots=True)
class _Watch:
    """What a client has seen of the resources that it follows."""

    context: McpContext
    user: str
    uris: Sequence[str]
    is_list_watched: bool
    seen: dict[str, Any] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def follow(self) -> None:
        """Wake `wait` whenever a run of the user changes, until the server stops. Raises ClientError."""
        client = self.context.client
        while True:
            owner = await client.run(client.users.find(self.user))
            if owner is None:  # nothing is known of them yet
                await asyncio.sleep(LOOK_INTERVAL_S)
                continue
            started = monotonic()
            async with aclosing(client.follow_user(owner, wait=STREAM_S)) as events:
                async for _ in events:
                    self.changed.set()
            if monotonic() - started < STREAM_S - EARLY_END_S:
                return

    async def wait(self) -> None:
        """Return when something may have changed."""
        await asyncio.sleep(MIN_INTERVAL_S)
        try:
            async with asyncio.timeout(LOOK_INTERVAL_S):
                await self.changed.wait()
        except TimeoutError:
            pass
        self.changed.clear()

    async def look_again(self) -> list[ServerEvent]:
        """What has changed since the last look; nothing while it cannot be seen."""
        try:
            return await self.look()
        except ClientError:
            return []

    async def look(self) -> list[ServerEvent]:
        """What has changed since the last look. Raises ClientError."""
        now: dict[str, Any] = {uri: await self._read(uri) for uri in self.uris}
        if self.is_list_watched:
            now[""] = [(one.uri, one.name) for one in (await read_list(self.context, self.user, None)).resources]
        before, self.seen = self.seen, now
        events: list[ServerEvent] = [ResourceUpdated(uri) for uri in self.uris if before.get(uri) != now[uri]]
        return events if before.get("") == now.get("") else [*events, ResourcesListChanged()]

    async def _read(self, uri: str) -> str | None:
        try:
            return await read_text(self.context, uri, self.user)
        except NotFound:
            return None
