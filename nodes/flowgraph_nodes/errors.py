"""All errors of `flowgraph_nodes`, in one tree.

::

    flowgraph.errors.FlowgraphError
    ├── FlowError                         every error of a loop or route: in `flows.errors`
    └── AgentError                        every other error of this package
        ├── AgentConfigError              an agent cannot be built: in `agents.errors`     (permanent)
        ├── AgentFailed                   an agent stopped without success: in `agents.errors`
        ├── TranscriptError               a transcript would hold an unanswered call       (ValueError)
        ├── ToolError
        │   ├── ToolDefinitionError       a tool cannot be offered to a model              (permanent)
        │   ├── DuplicateToolError        the name is taken in this toolbox                (permanent)
        │   ├── ArgumentsError            a model's arguments do not fit the tool
        │   └── Mcp…Error                 about MCP servers: in `tools.mcp.errors`
        └── ModelError
            ├── TransientModelError       the same request may succeed later; `retry_after` in seconds
            │   ├── RateLimitError        429
            │   ├── ModelTimeoutError     no answer in time
            │   ├── ModelConnectionError  no connection, or one that was cut
            │   └── ModelServerError      5xx
            ├── PermanentModelError       the same request will fail again                 (permanent)
            │   ├── BadRequestError       400, 422 and other refusals of the request
            │   ├── ContextTooLongError   the request does not fit the model's context
            │   ├── AuthenticationError   401, 403: the key is wrong or lacks the right
            │   ├── ModelNotFoundError    404
            │   ├── InvalidReplyError     the reply came, but is no valid chat completion
            │   └── ModelConfigError      no key, unknown provider: found before any call
            │       └── LocalModelMissing the embedded model is not there: in `models.local`
            ├── RealModelError            a real model was called under no_real_models()   (permanent)
            └── ScriptError               a scripted model has no reply for this request   (permanent)

"permanent" marks classes that also derive from `flowgraph.errors.Permanent`: never retried.
"""

from __future__ import annotations

from flowgraph.errors import FlowgraphError, Permanent


class AgentError(FlowgraphError):
    """Base of every error this package raises on purpose."""


class TranscriptError(AgentError, ValueError):
    """Messages that do not form a transcript: an unanswered call, a result without a call."""


class ToolError(AgentError):
    """Base of the errors about tools. (A tool that *fails* gives an error result, never an exception.)"""


class ToolDefinitionError(ToolError, Permanent):
    """A callable, model or schema cannot be made a tool; the message says what to change."""


class DuplicateToolError(ToolError, Permanent):
    """The toolbox has a tool of that name already."""


class ArgumentsError(ToolError):
    """A model's arguments do not fit the tool; the message lists the fields, for the model to read."""


class ModelError(AgentError):
    """Base of the errors about models.

    `model` is the name of the model called, `status` the HTTP status where there was one.
    """

    def __init__(self, message: str, *, model: str = "", status: int | None = None) -> None:
        super().__init__(message)
        self.model = model
        self.status = status


class TransientModelError(ModelError):
    """The call failed for a reason that passes; `retry_after` is the provider's wish in seconds, if any."""

    def __init__(
        self,
        message: str,
        *,
        model: str = "",
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, model=model, status=status)
        self.retry_after = retry_after


class RateLimitError(TransientModelError):
    """Too many requests or tokens for now."""


class ModelTimeoutError(TransientModelError):
    """The model did not answer in time."""


class ModelConnectionError(TransientModelError):
    """The server could not be reached, or the connection was cut."""


class ModelServerError(TransientModelError):
    """The server failed (5xx, overloaded)."""


class PermanentModelError(ModelError, Permanent):
    """The same request will fail again; it is never retried (a fallback model may still take it)."""


class BadRequestError(PermanentModelError):
    """The provider refused the request as it is."""


class ContextTooLongError(PermanentModelError):
    """The request is longer than the model's context."""


class AuthenticationError(PermanentModelError):
    """The key is missing, wrong, or may not use this model."""


class ModelNotFoundError(PermanentModelError):
    """The provider does not know the model."""


class InvalidReplyError(PermanentModelError):
    """The provider's reply is no valid chat completion. It was paid for, and the next would look the same."""


class ModelConfigError(PermanentModelError):
    """A model cannot be called as it is configured: no key, an unknown provider, a bad setting."""


class RealModelError(ModelError, Permanent):
    """A real model was called where `no_real_models` forbids it."""


class ScriptError(ModelError, Permanent):
    """A scripted model has no (more) reply for a request: the test's script and the run differ."""
