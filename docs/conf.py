# ruff: noqa: INP001 - what Sphinx reads is no package
"""The site of the pages, README and benchmarks included: settings of Sphinx, which `make docs` runs."""

from pathlib import Path
from typing import ClassVar, Final, cast

from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

_PROJECT: Final = Path(__file__).parent.parent

project = "seamfs"
extensions = ["myst_parser", "sphinxcontrib.mermaid"]
include_patterns = ["README.md", "CHANGELOG.md", "benchmarks/README.md", "docs/**.md"]
exclude_patterns = ["docs/build"]
root_doc = "docs/index"

myst_fence_as_directive = ["mermaid"]
myst_heading_anchors = 4

html_theme = "furo"
html_title = "seamfs"
html_extra_path = ["site"]
html_show_copyright = False
html_show_sourcelink = False


class FoldersAsText(SphinxPostTransform):
    """Turns links to folders into their text: a forge has a page for a folder, a site has none."""

    default_priority: ClassVar[int] = 8
    """Before MyST resolves links, at 9."""

    def run(self, **_options: object) -> None:
        """Look at all links of one page; others that lead nowhere stay, and fail the build."""
        for link in list(self.document.findall(pending_xref)):
            page = _PROJECT / cast("str", link.get("refdoc", ""))
            if link.get("reftype") == "myst" and (page.parent / cast("str", link["reftarget"])).is_dir():
                link.replace_self(link.children)


def setup(app: Sphinx) -> None:
    """Add what the pages need."""
    app.add_post_transform(FoldersAsText)
