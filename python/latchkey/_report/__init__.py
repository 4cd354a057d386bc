"""A page of recordings and statistics: one HTML file that needs no network.

``read.py`` takes files in, ``check.py`` says what is wrong in one, ``view.py`` makes of each what
the page shows (``requests.py`` and ``graph.py`` a part of it each, ``differences.py`` what two of
them have not in common), ``page.py`` puts that, the scripts and the style of ``assets/`` into one
document. Python computes the numbers; the scripts draw them, with their units. Names of a model
reach the page as data of JSON, and the scripts set them as text.
"""

from .page import make_page
from .read import ReportError

__all__ = ["ReportError", "make_page"]
