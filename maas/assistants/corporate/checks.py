"""What `maas doctor` says of the server of documents."""

from __future__ import annotations

from maas.assistants.corporate.lightrag_client import LightragClient
from maas.assistants.corporate.settings import EVERYBODY, CorporateSettings
from maas.settings import Settings
from shared.bounded_http import MAX_VENDOR_REPLY_BYTES, open_bounded
from shared.db import Database
from shared.errors import Advice


async def check_lightrag(settings: Settings, db: Database) -> str:
    """Ask the server what it reads now; raises VendorError, and Advice if nobody may read its documents."""
    own = settings.of(CorporateSettings)
    if own.lightrag_base_url is None:
        return "not configured, our own knowledge is searched (set LIGHTRAG_BASE_URL)"
    key = own.lightrag_api_key.get_secret_value() if own.lightrag_api_key else None
    async with open_bounded(MAX_VENDOR_REPLY_BYTES) as http:
        state = await LightragClient(http, own.lightrag_base_url, key).pipeline_status()
    work = f"reads {state.documents} documents" if state.is_busy else "idle"
    if not own.lightrag_users:
        raise Advice("not_used", f"answers, {work}; nobody may read its documents: set LIGHTRAG_USERS")
    readers = "everybody" if own.lightrag_users == (EVERYBODY,) else f"{len(own.lightrag_users)} users"
    return f"answers, {work}; open to {readers}"


CHECKS = {"lightrag": check_lightrag}
