"""Pictures of what was measured. matplotlib comes with `pip install 'aico-memory[bench]'` only."""

from __future__ import annotations

from typing import Any

from aico_memory.errors import ConfigurationInvalid


def new_figure(width: float, height: float) -> Any:
    """An empty figure of so many inches that needs no screen. Raises ConfigurationInvalid without matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ConfigurationInvalid("matplotlib is not installed", "pip install 'aico-memory[bench]'") from error
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def require_drawing() -> None:
    """Raise ConfigurationInvalid where nothing can be drawn: before something is measured for an hour, not after."""
    new_figure(1, 1)
