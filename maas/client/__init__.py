"""The Python client: MaaS and AsyncMaaS, the values that they return and the errors that they raise.

The distribution maas-client has this folder as the package maas_client. So imports are relative here, and nothing else
of MaaS is imported.
"""

from .actions import Action
from .client import AsyncMaaS, MaaS
from .conversations import (
    Conversation,
    ConversationLink,
    ConversationMessage,
    ConversationSummary,
    CreatedLink,
    ForgottenConversation,
    OpenedConversation,
)
from .files import AddedDocument, Attachment, Document, Passage, RemovedDocument
from .results import (
    AddedMemory,
    AddResult,
    Answer,
    Change,
    ClientError,
    Context,
    CorrectedFact,
    Correction,
    DeleteResult,
    Event,
    Fact,
    Forbidden,
    InvalidRequest,
    Memories,
    Memory,
    NotFound,
    RateLimited,
    RunFailed,
    Source,
    Spending,
    TimedOut,
    Unauthenticated,
    Unavailable,
)
from .schedules import Schedule

__all__ = [
    "Action",
    "AddResult",
    "AddedDocument",
    "AddedMemory",
    "Answer",
    "AsyncMaaS",
    "Attachment",
    "Change",
    "ClientError",
    "Context",
    "Conversation",
    "ConversationLink",
    "ConversationMessage",
    "ConversationSummary",
    "CorrectedFact",
    "Correction",
    "CreatedLink",
    "DeleteResult",
    "Document",
    "Event",
    "Fact",
    "Forbidden",
    "ForgottenConversation",
    "InvalidRequest",
    "MaaS",
    "Memories",
    "Memory",
    "NotFound",
    "OpenedConversation",
    "Passage",
    "RateLimited",
    "RemovedDocument",
    "RunFailed",
    "Schedule",
    "Source",
    "Spending",
    "TimedOut",
    "Unauthenticated",
    "Unavailable",
]
