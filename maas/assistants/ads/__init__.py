"""The advertising assistants `ads` and `ads_v1`.

A domain of tools is a folder of tools/: ads, creative, crm, whatsapp. account.py finds the account that a run works
for, vendors.py makes the clients of its services, context.py tells models what they should know before they call.
"""

from __future__ import annotations

from shared.plugins import Plugin

PLUGIN = Plugin(
    name="ads",
    package=__name__,
    assistants={"ads": "definition:define_ads", "ads_v1": "definition:define_ads_v1"},
    tools="toolset:make_tools",
    openers="toolset:OPENERS",
)
