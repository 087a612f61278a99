"""The links on a directory's index page. Pure, and linear in the page's length.

fsspec finds them with an expression that takes time with the third power of a run of spaces, while nothing else in the
process can run.
"""

import re
from collections.abc import Iterator
from html import unescape
from itertools import islice
from typing import Final
from urllib.parse import urljoin

__all__ = ["INDEX_PAGE_BYTES_MAX", "linked_urls"]

INDEX_PAGE_BYTES_MAX: Final = 4 << 20
_LINKS_MAX: Final = 10_000
_URL_CHARS_MAX: Final = 8_192
_LINK: Final = re.compile(
    rf"""\bhref=(?:"([^"<>]{{1,{_URL_CHARS_MAX}}})"|'([^'<>]{{1,{_URL_CHARS_MAX}}})')""", re.IGNORECASE
)


def linked_urls(page: bytes, directory_url: str) -> Iterator[str]:
    """Yield the absolute URLs that a page links to, in their order and with repetitions.

    Left out are links that go up, and all after the first 10,000.
    """
    for found in islice(_LINK.finditer(page.decode("utf-8", "replace")), _LINKS_MAX):
        link = unescape(found[1] or found[2])
        if ".." in link.split("/"):
            continue
        try:
            yield urljoin(directory_url, link)
        except ValueError:  # no URL, such as one with half of an IPv6 address
            continue
