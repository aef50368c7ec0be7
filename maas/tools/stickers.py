"""The three tools of the sticker assistant: values are collected, a photo is asked for, a sticker is made."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from maas.agents.results import ToolFailure
from maas.agents.sessions import WAIT_PHOTO, SlotSession
from maas.agents.tools import Context, Toolset, tool
from maas.pipeline.stages import Deps

DOMAIN = "stickers"


class StickerParams(BaseModel):
    style: str | None = Field(None, description="How it is drawn, such as anime, 3D, watercolour")
    emotion: str | None = Field(None, description="What the face shows, such as happy, angry, surprised")
    pose: str | None = Field(None, description="What the body does, such as hands up, waving, arms crossed")


@tool(domain=DOMAIN, effect="write", idempotent=True)
async def update_sticker_params(params: StickerParams, context: Context) -> Any:
    """Keep what the user said about style, emotion or pose of the sticker; one or several at once.

    Call it whenever the user mentions any of them, also to change one that was collected.
    """
    session = _session(context)
    accepted = session.accepted(params.model_dump(exclude_none=True))
    return {"accepted": accepted} | session.told(accepted)


@tool(domain=DOMAIN, effect="write", idempotent=True)
async def request_photo() -> Any:
    """Ask the user's program for a photo of who the sticker shall show. Call it once you know what it is for."""
    return {"state": WAIT_PHOTO}


def tools(deps: Deps) -> Toolset:
    """With what they need to make a sticker."""

    @tool(domain=DOMAIN, effect="write", idempotent=True)
    async def confirm_and_generate(context: Context) -> Any:
        """Make the sticker. Call it only when the user has confirmed style, emotion and pose in their own words."""
        session = _session(context)
        if session.missing:
            names = ", ".join(slot.name for slot in session.missing)
            raise ToolFailure(f"not yet, nothing was made: {names} must be collected first; ask the user")
        return {"state": WAIT_PHOTO, "say": _photo_please(session)}

    return Toolset([update_sticker_params, request_photo, confirm_and_generate])


def _session(context: Context) -> SlotSession:
    session: SlotSession = context.values["session"]
    return session


def _photo_please(session: SlotSession) -> str:
    return session.in_words("Пришлите фото, по которому сделать стикер.", "Send the photo to make the sticker from.")
