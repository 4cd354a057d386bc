"""The configuration of Sphinx, for `tools/build_docs`, which stages the pages (tools/docs/pages.py)
and runs it with this folder as its configuration."""

import os
import sys
from pathlib import Path

import latchkey

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

project = "Latchkey"
author = "the authors of Latchkey"
project_copyright = "the authors of Latchkey, Apache-2.0"
release = latchkey.version().split()[0]
version = release

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton", "name_links"]
root_doc = "index"
exclude_patterns: list[str] = []
default_role = "code"  # `word` in docstrings
primary_domain = "py"
highlight_language = "text"
pygments_style = "tango"

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
# Headings below a title of their own: a page may begin with a picture or a table.
suppress_warnings: list[str] = []

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "mixed"
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = f"Latchkey {release}"
html_static_path = ["static"]
html_css_files = ["latchkey.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = True
html_domain_indices = False
html_theme_options = {
    "navigation_with_keys": True,
    "light_css_variables": {"color-brand-primary": "#0b5c8a", "color-brand-content": "#0b5c8a"},
    "dark_css_variables": {"color-brand-primary": "#6fb7e0", "color-brand-content": "#6fb7e0"},
}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# The same sources give the same bytes.
html_last_updated_fmt = None
os.environ.setdefault("SOURCE_DATE_EPOCH", "0")
