"""Times in words, and back: how long, how long ago, how much is left."""

from __future__ import annotations

import re
import time
from typing import Final

from ..errors import InputError
from ..render.text import duration

_UNITS: Final = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def age(text: str) -> float:
    """Seconds of "30d", "12h", "45min", "90s". Raises InputError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|d|w)", text.strip())
    if found is None:
        raise InputError(f"'{text}' is no age: write 30d, 12h, 45min, 90s or 2w")
    return float(found[1]) * _UNITS[found[2]]


def clock(seconds: float) -> str:
    """A time of day, in local time."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def left(due: float, now: float) -> str:
    """How much time is left until `due`."""
    return f"{duration(due - now)} left" if due > now else "its time is up"


def until(due: float, now: float) -> str:
    """The same, from now on: "in 3 h 05 min", "2 min 00 s ago"."""
    return f"in {duration(due - now)}" if due > now else f"{duration(now - due)} ago"


def counted(number: int, noun: str) -> str:
    """A number and its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
