"""Tokens of Facebook that end: when they do is kept, so that people are warned, and what can be renewed is renewed."""

from __future__ import annotations

from datetime import timedelta

import structlog

from maas.assistants.ads import queries
from maas.assistants.ads.account import FACEBOOK_TOKEN, account_of, ad_account_of
from maas.assistants.ads.connections import ENDS_SOON, facebook_secret
from maas.assistants.ads.vendors import Vendors
from maas.tools.tool import ToolContext
from maas.user_secrets import renew_secret
from shared.db import Database
from shared.vendors import VendorError

ACTOR = "sync"
_log = structlog.get_logger()


async def look_after_token(db: Database, vendors: Vendors, context: ToolContext) -> None:
    """Keep when the token of the ad account ends, and renew it within a fortnight before, by the secret of its app.

    Facebook may refuse either; what is being read goes on with the token as it is. Raises ToolFailure without a token.
    """
    account, facebook, app = ad_account_of(context), vendors.facebook(context), vendors.facebook_app
    user_id, read_at = context.user_id, account_of(context).read_at
    try:
        ends_at = await facebook.token_ends_at()
        await db.rows(queries.ads_keep_token_end, user_id, account.id, ends_at)
        if app is None or ends_at is None or not read_at < ends_at < read_at + ENDS_SOON:
            return
        value, seconds = await facebook.renewed_token(*app)
    except VendorError as error:
        _log.warning("ads_token_unknown", ad_account=account.fb_id, error=error.message)
        return
    old = context.values[FACEBOOK_TOKEN].get_secret_value()
    if await renew_secret(db, user_id, facebook_secret(account.fb_id), old, value, ACTOR):
        _log.info("ads_token_renewed", ad_account=account.fb_id)
        ends_at = None if seconds is None else read_at + timedelta(seconds=seconds)
        await db.rows(queries.ads_keep_token_end, user_id, account.id, ends_at)
