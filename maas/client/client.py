"""MaaS and AsyncMaaS: the client for blocking programs and the client for asyncio."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import aclosing, closing
from functools import partial, update_wrapper
from types import ModuleType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, overload
from uuid import UUID

import httpx2

from . import actions as action_operations
from . import conversations as conversation_operations
from . import facts as fact_operations
from . import files as file_operations
from . import operations
from . import runs as run_operations
from . import schedules as schedule_operations
from . import users as user_operations
from .calls import ApiCall, ApiReply, Operation
from .http import RETRIES, TIMEOUT_S, AsyncHttpTransport, HttpTransport, connection_options
from .messages import Time
from .results import ClientError, Event, InvalidRequest
from .runs import Attributes, Mode, Priority
from .users import UserId, Users

P = ParamSpec("P")
T = TypeVar("T")


class Transport(Protocol):
    """Sends calls and returns their replies. Its methods raise ClientError."""

    def send(self, call: ApiCall) -> ApiReply: ...
    def events(self, run_id: str, last_event_id: str) -> Iterator[Event]: ...
    def close(self) -> None: ...


class AsyncTransport(Protocol):
    """The asyncio form of Transport."""

    async def send(self, call: ApiCall) -> ApiReply: ...
    def events(self, run_id: str, last_event_id: str) -> AsyncGenerator[Event, None]: ...
    def stream(self, call: ApiCall) -> AsyncGenerator[Event, None]: ...
    async def close(self) -> None: ...


class Runner(Protocol):
    """Runs operations and returns their values."""

    users: Users

    def run(self, operation: Operation[T]) -> T: ...


class AsyncRunner(Protocol):
    """Runs operations when awaited."""

    users: Users

    def run(self, operation: Operation[T]) -> Coroutine[Any, Any, T]: ...


class OperationMethod(Generic[P, T]):
    """An operation as a method of both clients: same arguments, without `users`, which the client supplies."""

    def __init__(self, operation: Callable[Concatenate[Users, P], Operation[T]]) -> None:
        self._operation = operation
        self.__doc__ = operation.__doc__
        signature = inspect.signature(operation)
        self.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Runner, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncRunner, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        if client is None:
            return self
        return update_wrapper(partial(self._run, client), self._operation)

    def _run(self, client: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
        return client.run(self._operation(client.users, *args, **kwargs))


class OperationMethods:
    """The methods that both clients have."""

    ask = OperationMethod(run_operations.ask)
    submit = OperationMethod(run_operations.submit)
    wait = OperationMethod(run_operations.wait)
    cancel = OperationMethod(run_operations.cancel)
    again = OperationMethod(run_operations.again)
    add = OperationMethod(operations.add)
    search = OperationMethod(operations.search)
    get_all = OperationMethod(operations.get_all)
    get = OperationMethod(operations.get)
    history = OperationMethod(operations.history)
    correct = OperationMethod(operations.correct)
    delete = OperationMethod(operations.delete)
    delete_all = OperationMethod(user_operations.delete_all)
    context = OperationMethod(operations.context)
    facts = OperationMethod(fact_operations.facts)
    decide_fact = OperationMethod(fact_operations.decide_fact)
    correct_fact = OperationMethod(fact_operations.correct_fact)
    merge_names = OperationMethod(fact_operations.merge_names)
    actions = OperationMethod(action_operations.actions)
    get_action = OperationMethod(action_operations.get_action)
    edit_action = OperationMethod(action_operations.edit_action)
    approve = OperationMethod(action_operations.approve)
    reject = OperationMethod(action_operations.reject)
    decide = OperationMethod(action_operations.decide)
    open_conversation = OperationMethod(conversation_operations.open_conversation)
    conversations = OperationMethod(conversation_operations.conversations)
    get_conversation = OperationMethod(conversation_operations.get_conversation)
    change_conversation = OperationMethod(conversation_operations.change_conversation)
    delete_conversation = OperationMethod(conversation_operations.delete_conversation)
    share_conversation = OperationMethod(conversation_operations.share_conversation)
    links = OperationMethod(conversation_operations.links)
    revoke_link = OperationMethod(conversation_operations.revoke_link)
    clear_conversation = OperationMethod(conversation_operations.clear_conversation)
    messages = OperationMethod(conversation_operations.messages)
    upload_image = OperationMethod(file_operations.upload_image)
    get_image = OperationMethod(file_operations.get_image)
    download_image = OperationMethod(file_operations.download_image)
    delete_image = OperationMethod(file_operations.delete_image)
    add_document = OperationMethod(file_operations.add_document)
    documents = OperationMethod(file_operations.documents)
    get_document = OperationMethod(file_operations.get_document)
    delete_document = OperationMethod(file_operations.delete_document)
    search_documents = OperationMethod(file_operations.search_documents)
    add_schedule = OperationMethod(schedule_operations.add_schedule)
    schedules = OperationMethod(schedule_operations.schedules)
    change_schedule = OperationMethod(schedule_operations.change_schedule)
    delete_schedule = OperationMethod(schedule_operations.delete_schedule)
    trace = OperationMethod(run_operations.trace)
    spending = OperationMethod(user_operations.spending)
    export = OperationMethod(user_operations.export)
    import_ = OperationMethod(user_operations.import_)


class MaaS(OperationMethods):
    """The blocking client, over HTTP; with `dsn` instead of `url` by SQL, with `ask`, `submit` and `wait` only.

    `url` and `api_key` default to MAAS_URL and MAAS_API_KEY. `timeout` is in seconds, for one reply; `retries` is the
    number of attempts after the first. Methods raise subclasses of ClientError.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        dsn: str | None = None,
        timeout: float = TIMEOUT_S,
        retries: int = RETRIES,
    ) -> None:
        self.users = Users()
        self._transport: Transport
        if dsn is None:
            client = httpx2.Client(**connection_options(url, api_key, timeout))
            self._transport = HttpTransport(client, timeout, retries)
        else:
            self._transport = _sql_transports(url).SqlTransport(dsn, retries)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._transport.close()

    def stream(
        self,
        query: str,
        *,
        user_id: UserId,
        assistant: str = "mentor",
        conversation_id: UserId | None = None,
        mode: Mode | None = None,
        metadata: Mapping[str, Any] | None = None,
        attachment_ids: Sequence[UserId] = (),
        priority: Priority | None = None,
        run_at: Time | None = None,
        attributes: Attributes | None = None,
        debounce: float | None = None,
    ) -> Iterator[Event]:
        """Ask, and yield the events of the answer: `event.text` is its next piece. Raises RunFailed."""
        request_id = self.submit(
            query,
            user_id=user_id,
            assistant=assistant,
            conversation_id=conversation_id,
            mode=mode,
            metadata=metadata,
            attachment_ids=attachment_ids,
            priority=priority,
            run_at=run_at,
            attributes=attributes,
            debounce=debounce,
        )
        yield from self.follow(request_id)

    def follow(self, request_id: UserId, *, last_event_id: str = "") -> Iterator[Event]:
        """Yield the events of a run until `done`, from the first or after `last_event_id`; reconnects if needed.

        To stop reading does not cancel the run. Raises RunFailed, NotFound, Unavailable.
        """
        yield from self._transport.events(str(request_id), last_event_id)

    def run(self, operation: Operation[T]) -> T:
        """Send the calls of an operation, give it their replies and errors, and return its value."""
        with closing(operation):
            try:
                call = next(operation)
                while True:
                    try:
                        time.sleep(call.delay_s)
                        reply = self._transport.send(call)
                    except ClientError as error:
                        call = operation.throw(error)
                    else:
                        call = operation.send(reply)
            except StopIteration as end:
                value: T = end.value
                return value


class AsyncMaaS(OperationMethods):
    """The client for asyncio: the methods and arguments of MaaS, each method awaited."""

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        dsn: str | None = None,
        timeout: float = TIMEOUT_S,
        retries: int = RETRIES,
    ) -> None:
        self.users = Users()
        self._transport: AsyncTransport
        if dsn is None:
            client = httpx2.AsyncClient(**connection_options(url, api_key, timeout))
            self._transport = AsyncHttpTransport(client, timeout, retries)
        else:
            self._transport = _sql_transports(url).AsyncSqlTransport(dsn, retries)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.close()

    async def stream(
        self,
        query: str,
        *,
        user_id: UserId,
        assistant: str = "mentor",
        conversation_id: UserId | None = None,
        mode: Mode | None = None,
        metadata: Mapping[str, Any] | None = None,
        attachment_ids: Sequence[UserId] = (),
        priority: Priority | None = None,
        run_at: Time | None = None,
        attributes: Attributes | None = None,
        debounce: float | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Ask, and yield the events of the answer: `event.text` is its next piece. Raises RunFailed."""
        request_id = await self.submit(
            query,
            user_id=user_id,
            assistant=assistant,
            conversation_id=conversation_id,
            mode=mode,
            metadata=metadata,
            attachment_ids=attachment_ids,
            priority=priority,
            run_at=run_at,
            attributes=attributes,
            debounce=debounce,
        )
        async with aclosing(self.follow(request_id)) as events:
            async for event in events:
                yield event

    async def follow(self, request_id: UserId, *, last_event_id: str = "") -> AsyncGenerator[Event, None]:
        """Yield the events of a run until `done`, from the first or after `last_event_id`; reconnects if needed.

        To stop reading does not cancel the run. Raises RunFailed, NotFound, Unavailable.
        """
        async with aclosing(self._transport.events(str(request_id), last_event_id)) as events:
            async for event in events:
                yield event

    async def follow_user(self, user_id: UUID, *, wait: float) -> AsyncGenerator[Event, None]:
        """Yield how the runs of a user change, for `wait` seconds, at most 60, or until the server stops.

        It begins with the unfinished runs and the newest one. Raises NotFound, Unavailable.
        """
        path, params = f"/v1/users/{user_id}/events", {"wait": wait}
        call = ApiCall(method="GET", path=path, params=params, long_poll_s=wait)
        async with aclosing(self._transport.stream(call)) as events:
            async for event in events:
                yield event

    async def run(self, operation: Operation[T]) -> T:
        """Send the calls of an operation, give it their replies and errors, and return its value."""
        with closing(operation):
            try:
                call = next(operation)
                while True:
                    try:
                        await asyncio.sleep(call.delay_s)
                        reply = await self._transport.send(call)
                    except ClientError as error:
                        call = operation.throw(error)
                    else:
                        call = operation.send(reply)
            except StopIteration as end:
                value: T = end.value
                return value


def _sql_transports(url: str | None) -> ModuleType:
    """The module of the SQL transports, imported on first use. Raises InvalidRequest for a url, or without drivers."""
    if url is not None:
        raise InvalidRequest("invalid_request", "give url or dsn, not both")
    try:
        from . import sql  # database drivers load slowly
    except ModuleNotFoundError as error:
        message = f"MaaS(dsn=...) needs the package {error.name}: pip install 'maas-client[sql]'"
        raise InvalidRequest("missing_package", message) from error
    return sql
