"""Fixtures of the MCP tests."""

from __future__ import annotations

import pytest

from .servers import InProcess


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> InProcess:
    """Makes servers of the SDK that run in this process."""
    return InProcess(monkeypatch)
