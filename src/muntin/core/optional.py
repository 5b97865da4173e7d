"""What is no dependency of the package and asked for where it is needed."""

from __future__ import annotations

from muntin.core.errors import ConfigError


def require_matplotlib(option: str) -> None:
    """Raises ConfigError, naming the option that draws, when figures cannot be drawn."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ConfigError(f"{option} needs matplotlib: pip install matplotlib") from None
