"""What ``latchkey bench --latencies FILE.json`` has measured: read, compared and shown."""

from .result import BadFile, Measured, Result, read

__all__ = ["BadFile", "Measured", "Result", "read"]
