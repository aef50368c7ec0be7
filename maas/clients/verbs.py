"""The methods of both clients, each declared once: a plan, which one client carries out and the other awaits."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from functools import partial, update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, overload

from maas.clients import memories, people, requests
from maas.clients.calls import Plan
from maas.clients.users import Users

P = ParamSpec("P")
T = TypeVar("T")


class Carrier(Protocol):
    """Carries plans out at once."""

    users: Users

    def carry(self, plan: Plan[T]) -> T: ...


class AsyncCarrier(Protocol):
    """Carries plans out when awaited."""

    users: Users

    def carry(self, plan: Plan[T]) -> Coroutine[Any, Any, T]: ...


class Verb(Generic[P, T]):
    """A plan as a method: its arguments are those of the plan, without the users that the client knows."""

    def __init__(self, plan: Callable[Concatenate[Users, P], Plan[T]]) -> None:
        self._plan = plan
        self.__doc__ = plan.__doc__
        signature = inspect.signature(plan)
        self.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Carrier, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncCarrier, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        if client is None:
            return self
        return update_wrapper(partial(self._carry, client), self._plan)

    def _carry(self, client: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
        return client.carry(self._plan(client.users, *args, **kwargs))


class Verbs:
    """What a client can do."""

    ask = Verb(requests.ask)
    submit = Verb(requests.submit)
    wait = Verb(requests.wait)
    add = Verb(memories.add)
    search = Verb(memories.search)
    get_all = Verb(memories.get_all)
    get = Verb(memories.get)
    history = Verb(memories.history)
    delete = Verb(memories.delete)
    delete_all = Verb(people.delete_all)
    context = Verb(memories.context)
    trace = Verb(requests.trace)
    export = Verb(people.export)
    import_ = Verb(people.import_)
