"""The documentation site: ``make docs``."""

from __future__ import annotations

import sys
from pathlib import Path

from docutils import nodes
from numpydoc.xref import DEFAULT_LINKS
from sphinx.application import Sphinx

import allegiance
from allegiance._core.parameters import Parameters

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from commands import write_commands  # noqa: E402
from docstrings import LINKS, add_types, hide_constructor  # noqa: E402
from inventories import compile_inventories  # noqa: E402


def parameter_names() -> list[str]:
    """Return the names of the public classes whose objects are parameters."""
    homes = (allegiance, allegiance.influence, allegiance.domains, allegiance.engines)
    public = {name: getattr(home, name) for home in homes for name in dir(home)}
    return [name for name, cls in public.items() if isinstance(cls, type) and issubclass(cls, Parameters)]


project = "allegiance"
author = "The allegiance developers"
project_copyright = author
version = release = allegiance.__version__

extensions = [
    # Reads MyST Markdown, and runs the tutorials that are notebooks.
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "dev", "gallery/*.ipynb", "gallery/*.py", "gallery/*.md5"]
templates_path = ["_templates"]

# Pages are MyST Markdown, and read well as plain files too: links between them are links to files.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 600
# Files that a tutorial writes are removed.
nb_execution_in_temp = True
nb_merge_streams = True

# Signatures without types are easier to read; the types go to the parameters (docstrings.py).
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autosummary_generate = True
# Parameter objects are described by their docstrings; their methods are for engines and influences.
autosummary_context = {"parameters": parameter_names()}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = True
numpydoc_xref_aliases = {**{name: name for name in DEFAULT_LINKS}, **LINKS}
numpydoc_xref_ignore = "all"

nitpicky = True
# The inventories of other projects are in the repository, so that building needs no network.
intersphinx_mapping = compile_inventories(HERE / "_build" / "inventories")

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    # wines.py writes the table of the demo, and review.py waits for a person.
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"(wines|review)\.py$",
    "abort_on_example_error": True,
    # No reprs of displays.
    "capture_repr": (),
    "nested_sections": False,
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
}

# Quotes stay straight, so that code in text can be copied.
smartquotes = False
# Tables of contents list methods without their class.
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_title = "allegiance"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "show_prev_next": True,
    "navigation_with_keys": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "pygments_light_style": "default",
    "pygments_dark_style": "github-dark",
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "secondary_sidebar_items": ["page-toc"],
}
# Pages without neighbors need no sidebar.
html_sidebars = {"index": [], "start": [], "search": []}


write_commands(HERE / "reference" / "generated" / "commands.md")


def show_dark_pictures(app: Sphinx, doctree: nodes.document) -> None:
    """Show ``name_dark.png`` instead of ``name.png`` on dark pages, if there is one."""
    for image in list(doctree.findall(nodes.image)):
        dark = image["uri"].replace(".png", "_dark.png")
        if (HERE / dark).exists() and not dark.startswith("http"):
            twin = image.deepcopy()
            twin["uri"], twin["candidates"] = dark, {"*": dark}
            app.env.images.add_file(app.env.docname, dark)
            image["classes"].append("only-light")
            twin["classes"].append("only-dark")
            image.parent.insert(image.parent.index(image) + 1, twin)


def setup(app: Sphinx) -> None:
    """Add dark pictures, and types before numpydoc reads the docstrings."""
    app.connect("doctree-read", show_dark_pictures)
    app.connect("autodoc-process-docstring", add_types, priority=100)
    app.connect("autodoc-process-signature", hide_constructor)
