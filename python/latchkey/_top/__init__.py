"""What a running process does, by the socket that it has opened (docs/statistics.md).

``client`` asks it, ``view`` makes lines of two answers, ``terminal`` and ``web`` show them.
"""
