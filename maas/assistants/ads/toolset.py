"""All tools of advertising, and the openers of their domains."""

from __future__ import annotations

from maas.assistants.ads import account, context, missing
from maas.assistants.ads.tools.campaigns import make_campaign_tools
from maas.assistants.ads.tools.creative_analysis import make_creative_analysis
from maas.assistants.ads.tools.creative_changes import make_creative_changes
from maas.assistants.ads.tools.creative_details import make_creative_details, make_creative_records
from maas.assistants.ads.tools.creative_trials import make_creative_trials
from maas.assistants.ads.tools.creatives import make_creative_tools
from maas.assistants.ads.tools.crm import make_crm_tools
from maas.assistants.ads.tools.dialog_analysis import make_dialog_analysis
from maas.assistants.ads.tools.dialogs import make_dialog_tools
from maas.assistants.ads.tools.directions import make_direction_tools
from maas.assistants.ads.tools.mailing import make_mailing_tools
from maas.assistants.ads.vendors import Vendors
from maas.engine.stages import Deps
from maas.tools.openers import Opener
from maas.tools.tool import Tool

OPENERS: dict[str, Opener] = {**account.OPENERS, **context.OPENERS, **missing.OPENERS}


def make_tools(deps: Deps, vendors: Vendors | None = None) -> list[Tool]:
    """All tools of advertising, and the sources of its context; `vendors`: whose connections they use."""
    vendors = vendors or Vendors(deps.settings)
    return [
        *make_campaign_tools(deps, vendors),
        *make_direction_tools(deps, vendors),
        *make_creative_tools(deps),
        *make_creative_details(deps),
        *make_creative_records(deps),
        *make_creative_analysis(deps),
        *make_creative_changes(deps, vendors),
        *make_creative_trials(deps, vendors),
        *make_crm_tools(deps, vendors),
        *make_dialog_tools(deps),
        *make_dialog_analysis(deps),
        *make_mailing_tools(deps, vendors),
        *context.make_context_tools(deps, vendors),
        missing.make_set_up_tool(deps),
    ]
