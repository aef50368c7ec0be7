"""The shares of one server process: what is scarce in it, how many places there are, and how many one user may hold.

docs/security.md lists the same numbers, `/metrics` how many places are used, waited for and refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Self

from maas.memory.transfer.import_ import MAX_CONCURRENT_IMPORTS
from maas.settings import Settings
from shared.fair_semaphore import FairSemaphore

SHARE_OF_ONE = 10  # one user may hold one in so many of the requests and of the event streams of a process
MIN_REQUESTS_OF_ONE = 16  # a browser alone may send six
MAX_EXPORTS = 2
MAX_DELETIONS = 2
LONG_POOL_SIZE = MAX_EXPORTS + MAX_CONCURRENT_IMPORTS + MAX_DELETIONS
MAX_WAITING_RECALLS = 1000  # of one user
MAX_SMALL_TEXT_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Shares:
    """What requests of one process hold, each with a share for one owner: the user that a request is for.

    Requests, event streams and uploads begin before a user is named. Their owner is what the key is bound to: a user,
    or a prefix. A key that is bound to neither serves an application with many users, so it has no share of its own.
    """

    requests: FairSemaphore  # in progress, those that wait for an answer and those to /mcp included
    streams: FairSemaphore  # event streams
    provider_calls: FairSemaphore  # calls of pass-through models, until their reply has ended
    large_bodies: FairSemaphore  # JSON bodies of more than a MiB, until their request is answered
    recalls: FairSemaphore  # searches for requests to pass-through models, which a user may send side by side
    reads: FairSemaphore  # searches, which leave half of the pool to all other requests
    exports: FairSemaphore  # from the first row to the last byte that the client has read
    import_uploads: FairSemaphore  # temporary files of imports, 64 MiB each
    imports: FairSemaphore  # imports that run
    deletions: FairSemaphore  # memories that are forgotten, users who are erased
    uploads: FairSemaphore  # temporary files of images and documents
    images: FairSemaphore  # images in memory; they are decoded one at a time
    image_downloads: FairSemaphore  # images in memory until the client has read them
    documents: FairSemaphore  # processes that read a file
    embeddings: FairSemaphore  # texts of clients that are embedded
    texts: FairSemaphore  # processes that read a text of at most MAX_SMALL_TEXT_BYTES

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return the shares of a process with these settings."""
        connections, streams = settings.http.connections, settings.http.followers
        requests_of_one = max(MIN_REQUESTS_OF_ONE, connections // SHARE_OF_ONE)
        return cls(  # subject, places, places of one owner, seconds that a request waits
            requests=FairSemaphore("requests in progress", connections, requests_of_one, 0),
            streams=FairSemaphore("event streams", streams, max(1, streams // SHARE_OF_ONE), 0),
            provider_calls=FairSemaphore("calls of models", streams, max(1, streams // 2), 0),
            large_bodies=FairSemaphore("large bodies", 8, 3, 10),
            recalls=FairSemaphore("recalls", max(1, settings.database.pool_size // 2), 2, 30, MAX_WAITING_RECALLS),
            reads=FairSemaphore("searches", max(1, settings.database.pool_size // 2), 1, 5),
            exports=FairSemaphore("exports", MAX_EXPORTS, 1, 2),
            import_uploads=FairSemaphore("imports", 8, 2, 5),
            imports=FairSemaphore("imports", MAX_CONCURRENT_IMPORTS, 1, 5),
            deletions=FairSemaphore("deletions", MAX_DELETIONS, 1, 10),
            uploads=FairSemaphore("uploads", 16, 4, 10),
            images=FairSemaphore("images", 1, 1, 20),
            image_downloads=FairSemaphore("downloads of images", 16, 4, 10),
            documents=FairSemaphore("documents", 2, 1, 20),
            embeddings=FairSemaphore("embeddings", 2, 1, 20),
            texts=FairSemaphore("texts", 2, 1, 10),
        )

    def by_name(self) -> Iterator[tuple[str, FairSemaphore]]:
        """Yield each share with its name."""
        for field in fields(self):
            yield field.name, getattr(self, field.name)
