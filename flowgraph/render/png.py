"""PNG: an SVG, rasterised. Needs the extra `png` (resvg-py), which is imported only here."""

from __future__ import annotations

from typing import Final

from ..errors import DrawError

SCALE: Final = 2
"""Pixels for one unit of the SVG, so that text stays sharp."""


def png_of(svg: str) -> bytes:
    """The picture in pixels, in its light colours. Raises DrawError when it cannot be made."""
    try:
        from resvg_py import svg_to_bytes
    except ModuleNotFoundError:
        raise DrawError("a PNG needs resvg-py: pip install 'flowgraph-agents[png]' (an SVG needs nothing)") from None
    try:
        return bytes(svg_to_bytes(svg_string=svg, zoom=SCALE))
    except Exception as error:
        raise DrawError(f"the PNG could not be made: {error}") from error
