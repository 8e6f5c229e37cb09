"""`/model`: what the services in reach offer, and switching to it in mid-session."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from mewcode.agent.session import Session
from mewcode.core.errors import MewCodeError
from mewcode.infra.supervisor import TaskScope
from mewcode.providers.registry import Service
from mewcode.repl.commands.registry import Desk, Outcome, Pick, Say
from mewcode.repl.panel import Option

# Seconds for which another service is waited for: the list opens without one that is slow.
_PATIENCE = 5.0


async def model(desk: Desk, argument: str) -> Outcome:
    """Takes ``NAME``, or ``PROVIDER:NAME``; without an argument opens the list."""
    session = desk.session
    # A keyring and servers on this machine are asked: that takes its time.
    services = {service.name: service for service in await asyncio.to_thread(session.around.services)}
    if argument:
        service, colon, name = argument.partition(":")
        if colon and name and service in services:
            return use_model(session, services[service], name)
        return use_model(session, session.service, argument)
    others = [service for name, service in services.items() if name != session.service.name]
    offered, failures = await _offered(session, others)
    current = (session.service.name, session.model.name)
    choices = [(service, name) for service, names in offered for name in names]
    if current[1] and current not in choices:
        choices.insert(0, current)
    if not choices:
        if failures:
            raise failures[0]
        return Say("the service lists no models", "Name one: /model NAME")
    session.known_models = tuple(
        name if service == session.service.name else f"{service}:{name}" for service, name in choices
    )
    several = bool(others)
    options = tuple(
        Option(str(place), name, about(session, name, service if several else ""))
        for place, (service, name) in enumerate(choices)
    )
    title = "choose a model" + "".join(f"\n{error.message}" for error in failures)

    def chosen(place: str) -> tuple[Service, str]:
        service, name = choices[int(place)]
        return services.get(service, session.service), name

    selected = choices.index(current) if current in choices else 0
    return Pick(title, options, lambda place: use_model(session, *chosen(place)), selected)


async def _offered(
    session: Session, others: list[Service]
) -> tuple[list[tuple[str, tuple[str, ...]]], list[MewCodeError]]:
    """The models of the session's own service and of the others, asked at once; and what went wrong."""
    scope = TaskScope("models")
    try:
        tasks = {session.service.name: scope.start("own", _quietly(session.provider.list_models()))}
        for service in others:
            tasks[service.name] = scope.start(service.name, _quietly(_list_other(session, service)))
        offered, failures = [], []
        for name, task in tasks.items():
            answer = await task
            if isinstance(answer, MewCodeError):
                failures.append(MewCodeError(f"{name}: {answer.message}", answer.hint))
            else:
                offered.append((name, answer))
        return offered, failures
    finally:
        await scope.close()


async def _list_other(session: Session, service: Service) -> tuple[str, ...]:
    provider = session.around.make(service)
    try:
        async with asyncio.timeout(_PATIENCE):
            return await provider.list_models()
    except TimeoutError:
        raise MewCodeError("does not answer") from None
    finally:
        await provider.aclose()


async def _quietly(asked: Coroutine[Any, Any, tuple[str, ...]]) -> tuple[str, ...] | MewCodeError:
    """The list, or what kept it from coming: one service that is down does not hide the others."""
    try:
        return await asked
    except MewCodeError as error:
        return error


def about(session: Session, name: str, service: str = "") -> str:
    """Service, window, price and eyes of a model, on one line."""
    info = session.find_model(name)
    price = f"${info.price.input:g} in, ${info.price.output:g} out per million" if info.price else ""
    window = f"{info.context_window // 1000:,}k window"
    return " · ".join(part for part in (service, window, price, "images" if info.vision else "") if part)


def use_model(session: Session, service: Service, name: str) -> Outcome:
    """Switches, to another service where it is one."""
    if service.name == session.service.name:
        session.use_model(name)
        return Say(f"model: {name}", about(session, name))
    session.use_provider(service, name)
    return Say(f"model: {name} ({service.name})", about(session, name))
