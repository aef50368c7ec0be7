"""The advertising assistants `ads` and `ads_v1`.

A domain of tools is a folder of tools/: ads, creative, crm, whatsapp. account.py finds the account that a run works
for, vendors.py opens the clients/ of its services, context.py tells models what they should know before they call.
"""

from __future__ import annotations

from maas.plugins import Command, Plugin

PLUGIN = Plugin(
    name="ads",
    package=__name__,
    assistants={"ads": "definition:define_ads", "ads_v1": "definition:define_ads_v1"},
    tools="toolset:make_tools",
    openers="toolset:OPENERS",
    commands=(
        Command("ads", "commands:cli", "Manage the accounts of the advertising assistants and their connections."),
    ),
    settings="settings:AdsSettings",
    checks="checks:CHECKS",
    tasks="sync_queue:background_tasks",
    routes="routes:ROUTES",
    tags={"brain": "Assistants that act, in the shapes that web interfaces of advertising assistants use."},
)
