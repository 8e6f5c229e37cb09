"""The errors that MewCode raises on purpose.

MewCodeError                what happened, and what to do (``hint``)
├── UsageError              wrong flags or arguments                        exit 2
├── ConfigError             a config file is wrong: file, line, key         exit 2
├── NotConfigured           no model to talk to                             exit 2
├── SessionError            a session cannot be opened or found             exit 1
│   ├── SessionBusy         another process holds it
│   └── SessionForeign      it came with a folder that is not trusted
├── NoteError               a note cannot be found, read or written         exit 1
│   └── NotesBusy           another process holds them
├── ToolError               a tool cannot do it; becomes the tool's result
└── ProviderError           the model's service refused or failed
    ├── AuthError           401, 403: the key
    ├── BadRequest          400, 404, 413, 422: what was asked
    │   └── PromptTooLong   the conversation exceeds the model's window
    ├── RateLimited         429                                             retried
    ├── Overloaded          500, 502, 503, 504, 529                         retried
    ├── ConnectionFailed    refused, reset, name not found, time-out        retried
    └── StreamBroken        the answer broke off or made no sense           retried
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class MewCodeError(Exception):
    """Base of all: ``message`` says what happened and where, ``hint`` what to do next (may be empty)."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message


class UsageError(MewCodeError):
    exit_code = 2


class ConfigError(MewCodeError):
    """``where`` is ``file:line`` of the offending key, or the name of a flag or variable."""

    exit_code = 2

    def __init__(self, message: str, hint: str = "", where: str = "") -> None:
        super().__init__(f"{where}: {message}" if where else message, hint)
        self.where = where


class NotConfigured(MewCodeError):
    exit_code = 2


class SessionError(MewCodeError):
    pass


class SessionBusy(SessionError):
    """``pid`` and ``since`` (Unix time) tell who holds the session; 0 where unknown. ``folder``: its own."""

    def __init__(
        self, message: str, hint: str = "", pid: int = 0, since: float = 0.0, folder: Path | None = None
    ) -> None:
        super().__init__(message, hint)
        self.pid = pid
        self.since = since
        self.folder = folder


class SessionForeign(SessionError):
    """The user's MewCode did not make the session in its folder, which is not trusted. ``root``: that folder,
    where it is known; ``brings``: what else in it needs trust, as phrases."""

    def __init__(
        self, message: str, hint: str = "", root: Path | None = None, brings: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message, hint)
        self.root = root
        self.brings = brings


class NoteError(MewCodeError):
    pass


class NotesBusy(NoteError):
    pass


class ToolError(MewCodeError):
    """The message is written for the model: what was wrong and what would work."""


class ProviderError(MewCodeError):
    """``status`` is the HTTP status (0: none), ``retry_after`` seconds the service asked to wait."""

    retryable = False

    def __init__(
        self, message: str, hint: str = "", *, status: int = 0, retry_after: float | None = None
    ) -> None:
        super().__init__(message, hint)
        self.status = status
        self.retry_after = retry_after


class AuthError(ProviderError):
    pass


class BadRequest(ProviderError):
    pass


class PromptTooLong(BadRequest):
    """``tokens``: of the request, ``limit``: those that the service takes, as it said itself; 0 where it did
    not. Untrusted, within 1 and 100 million."""

    def __init__(
        self, message: str, hint: str = "", *, status: int = 0, tokens: int = 0, limit: int = 0
    ) -> None:
        super().__init__(message, hint, status=status)
        self.tokens = tokens
        self.limit = limit


class RateLimited(ProviderError):
    retryable = True
    exit_code = 75


class Overloaded(ProviderError):
    retryable = True
    exit_code = 75


class ConnectionFailed(ProviderError):
    retryable = True
    exit_code = 75


class StreamBroken(ProviderError):
    retryable = True
    exit_code = 75
