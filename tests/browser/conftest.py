"""The Chromium of this machine, driven by Playwright. Nothing is downloaded."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


@pytest.fixture(scope="session")
def chromium():
    """The browser; tests that need it are skipped where there is none."""
    path = os.environ.get("VEROSIM_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("no Chromium on this machine (set VEROSIM_CHROMIUM)")
    from playwright.sync_api import Error, sync_playwright

    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        except Error as error:
            pytest.skip(f"Chromium does not start: {str(error).splitlines()[0]}")
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium, tmp_path):
    """A function that opens a page. In the end, it must have been silent and alone."""
    contexts, problems = [], []

    @contextmanager
    def watched(page, allowed):
        page.on("console", lambda message: problems.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (problems.append("a dialog"), dialog.dismiss()))
        page.on(
            "request",
            lambda request: (
                request.url.split("#")[0] == allowed
                or request.url.startswith("blob:")
                or problems.append(f"request: {request.url[:100]}")
            ),
        )
        yield page

    def open_page(html, *, width=1200, fragment="", dark=False, name="page.html"):
        path = tmp_path / name
        path.write_text(html, encoding="utf-8")
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
        )
        contexts.append(context)
        page = context.new_page()
        with watched(page, path.as_uri()):
            page.goto(path.as_uri() + fragment)
            page.wait_for_selector("html[data-ready]", timeout=60_000, state="attached")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not problems, problems[:10]
