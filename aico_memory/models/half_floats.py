"""Trained weights as text: little-endian 16-bit floats in base64.

What the rounding loses is far below what one text more or less to learn from changes.
"""

from __future__ import annotations

import base64
from typing import Final

import numpy as np
import numpy.typing as npt

_STORED: Final = "<f2"


def packed(values: npt.NDArray[np.float32]) -> str:
    """The numbers in their order; the shape is not kept."""
    return base64.b64encode(values.astype(_STORED).tobytes()).decode()


def unpacked(text: str) -> npt.NDArray[np.float32]:
    """The same as one row; binascii.Error (a ValueError) for what is no base64, ValueError for half a number."""
    return np.frombuffer(base64.b64decode(text, validate=True), dtype=_STORED).astype(np.float32)
