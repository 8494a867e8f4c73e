"""Progress and metrics of a training run, shown by Milepost."""

from .control import Stop
from .run import Run

__version__ = "0.1.0"
__all__ = ["Run", "Stop"]
