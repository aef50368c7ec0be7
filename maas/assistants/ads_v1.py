"""The advertising assistant `ads_v1`: the tools and agents of `ads`, chosen by the words of a question."""

from __future__ import annotations

from maas.assistants.ads.definition import define_ads_v1

ASSISTANT = define_ads_v1
