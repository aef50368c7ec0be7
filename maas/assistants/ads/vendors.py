"""Clients of the advertising services for one call of a tool, and what their errors mean to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import httpx2

from maas.assistants.ads.account import CRM_TOKEN, FACEBOOK_TOKEN, account_of
from maas.assistants.ads.clients.amocrm import AmoCrmClient
from maas.assistants.ads.clients.evolution import EvolutionClient
from maas.assistants.ads.clients.facebook import FacebookClient
from maas.assistants.ads.settings import AdsSettings
from maas.settings import Settings
from maas.tools.calls import ToolDoubt, ToolFailure
from maas.tools.tool import ToolContext
from shared.bounded_http import MAX_VENDOR_REPLY_BYTES, open_bounded
from shared.vendors import VendorError
from shared.vendors.service import DEFAULT_LIMITS, Limits

NOT_CONNECTED: Mapping[str, str] = {
    "facebook": "Facebook is not connected: an operator sets its token, maas ads connect",
    "amocrm": "the CRM is not connected: an operator sets its address and token, maas ads connect",
    "whatsapp": "WhatsApp is not connected: an operator names its instance, maas ads connect",
}


class Vendors:
    """Makes the clients of a call from the values of its domain's opener; all share one pool of connections.

    `limits` are those of each request.
    """

    def __init__(self, settings: Settings, limits: Limits = DEFAULT_LIMITS) -> None:
        self._settings = settings.of(AdsSettings)
        self._limits = limits
        self._opened: httpx2.AsyncClient | None = None

    @property
    def _http(self) -> httpx2.AsyncClient:
        if self._opened is None:
            self._opened = open_bounded(MAX_VENDOR_REPLY_BYTES)
        return self._opened

    async def close(self) -> None:
        """Close the connections. The clients that were made cannot be used any more."""
        if self._opened is not None:
            await self._opened.aclose()

    def facebook(self, context: ToolContext) -> FacebookClient:
        """Raises ToolFailure without a token."""
        settings = self._settings
        return FacebookClient(
            self._http,
            _token(context, FACEBOOK_TOKEN, "facebook"),
            settings.fb_base_url,
            settings.fb_api_version,
            self._limits,
        )

    @property
    def facebook_app(self) -> tuple[str, str] | None:
        """The id and the secret of the app that tokens of Facebook are of, if both are set."""
        app_id, secret = self._settings.fb_app_id, self._settings.fb_app_secret
        return None if app_id is None or secret is None else (app_id, secret.get_secret_value())

    def crm(self, context: ToolContext) -> AmoCrmClient:
        """Raises ToolFailure without an address or a token."""
        if (url := account_of(context).crm_url) is None:
            raise ToolFailure(NOT_CONNECTED["amocrm"])
        return AmoCrmClient(self._http, url, _token(context, CRM_TOKEN, "amocrm"), self._limits)

    def whatsapp(self, context: ToolContext) -> EvolutionClient:
        """Raises ToolFailure without an instance or the service's address and key."""
        settings, instance = self._settings, account_of(context).whatsapp_instance
        if instance is None or settings.evolution_base_url is None or settings.evolution_api_key is None:
            raise ToolFailure(NOT_CONNECTED["whatsapp"])
        key = settings.evolution_api_key.get_secret_value()
        return EvolutionClient(self._http, settings.evolution_base_url, instance, key, self._limits)


def _token(context: ToolContext, member: str, vendor: str) -> str:
    if (token := context.values.get(member)) is None:
        raise ToolFailure(NOT_CONNECTED[vendor])
    return str(token.get_secret_value())


@contextmanager
def vendor_errors() -> Iterator[None]:
    """Turns a VendorError into what a tool raises: ToolDoubt if a write may have arrived, else ToolFailure."""
    try:
        yield
    except VendorError as error:
        raise (ToolDoubt if error.is_outcome_unknown else ToolFailure)(error.message) from error
