"""Pages of the site in a browser: light and dark, wide and narrow, with keyboard and reader."""

from __future__ import annotations

import pytest

from tests.helpers.docs.site import built_site
from tests.helpers.report.browser import browser, violations, why_not

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(why_not() is not None, reason=f"no browser: {why_not()}"),
]
#: The landing page, a how-to, a tutorial, the page of an object, results, and long names.
PAGES = (
    *("index.html", "recipes.html", "tutorials/speech.html"),
    *("api/tunesmith.MERT.html", "results/index.html", "errata.html"),
)


def test_pages_can_be_read() -> None:
    site = built_site()
    with browser() as window:
        for page in PAGES:
            for width in (1280, 400):
                for is_dark in (False, True):
                    window.size(width, 900)
                    window.dark(is_dark)
                    window.open(site / page)
                    assert window.run("return document.documentElement.scrollWidth") <= width
                    if (width == 400) != is_dark:  # colours do not depend on the width
                        continue
                    told = violations(window)
                    serious = [one for one in told if one[0] in {"serious", "critical"}]
                    assert not serious, (page, width, is_dark, serious)
                    if page == "index.html":
                        assert told == []
