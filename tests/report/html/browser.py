"""A real browser, and what it says of a page."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

_NAMES = "chromium", "chromium-browser", "google-chrome"
#: It runs as root on build machines, and shall ask nobody for anything.
_OPTIONS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--hide-scrollbars"),
)

#: The contrast of every text that is seen with what is behind it, where it is less than it should
#: be: 4.5, and 3 where letters are large (https://www.w3.org/TR/WCAG22/#contrast-minimum).
_FAINT = """
const parts = (colour) => {
  const found = colour.match(/^rgba?\\(([^)]+)\\)$/);
  if (found) return found[1].split(/[ ,/]+/).map(Number);
  const other = colour.match(/^color\\(srgb ([^)]+)\\)$/)[1].split(/[ /]+/).map(Number);
  return [...other.slice(0, 3).map((part) => part * 255), ...other.slice(3)];
};
const light = (colour) => {
  const [r, g, b] = parts(colour).slice(0, 3).map((part) => {
    const one = part / 255;
    return one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (node) => {
  for (let at = node; at; at = at.parentElement) {
    const colour = getComputedStyle(at).backgroundColor;
    const [, , , opacity = 1] = parts(colour);
    if (opacity === 1) return colour;
    if (opacity !== 0) throw new Error(`half transparent: ${colour}`);
  }
  return "rgb(255, 255, 255)";
};
const faint = new Map();
let seen = 0;
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const node = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !node.checkVisibility()) continue;
  const style = getComputedStyle(node);
  const colour = node instanceof SVGElement ? style.fill : style.color;
  const pair = [light(colour), light(behind(node))].sort((a, b) => b - a);
  const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
  const size = parseFloat(style.fontSize);
  const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  seen += 1;
  if (ratio < (large ? 3 : 4.5)) {
    faint.set(`${colour} on ${behind(node)}`, [ratio, walker.currentNode.data.trim().slice(0, 40)]);
  }
}
return [seen, [...faint]];
"""


class Browser:
    """Chromium, of which each page is looked at in turn."""

    def __init__(self, driver: Chrome) -> None:
        self.driver = driver

    def open(self, path: Path, fragment: str = "") -> None:
        """Load a file anew."""
        self.said()
        self.driver.get("about:blank")
        self.driver.get(f"{path.as_uri()}{fragment}")

    def run(self, script: str, *values: Any) -> Any:
        """What a script returns."""
        return self.driver.execute_script(script, *values)

    def tell(self, command: str, **values: Any) -> Any:
        """Say something to the browser itself."""
        return self.driver.execute_cdp_cmd(command, values)

    def emulate(self, *, width: int = 1400, scheme: str = "light", media: str = "") -> None:
        """Be so wide, for somebody who prefers this colour scheme."""
        about = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.tell("Emulation.setDeviceMetricsOverride", **about)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.tell("Emulation.setEmulatedMedia", media=media, features=features)

    def texts(self, selector: str) -> list[str]:
        """The texts of elements that are seen."""
        return self.run(
            "return [...document.querySelectorAll(arguments[0])]"
            ".filter(node => node.checkVisibility()).map(node => node.innerText.trim())",
            selector,
        )

    def faint(self) -> tuple[int, list[Any]]:
        """How many texts are seen, and colours that are too near to what is behind them."""
        seen, found = self.run(_FAINT)
        return seen, found

    def said(self) -> list[str]:
        """What was written to the console since this was asked last."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def asked_for(self) -> set[str]:
        """The addresses that pages asked for since this was asked last.

        What the browser's own first page and its frames ask for may come late, and is left out.
        """
        messages = (
            json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")
        )
        sent = (m["params"] for m in messages if m["method"] == "Network.requestWillBeSent")
        own = "chrome://", "chrome-untrusted://"
        return {one["request"]["url"] for one in sent if not one["documentURL"].startswith(own)}


def started(folder: Path) -> Iterator[Browser]:
    """A browser with an empty profile in a folder; skips the test where there is none."""
    binary = next(filter(None, map(shutil.which, _NAMES)), None)
    driver = shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip("no browser: install chromium and chromium-driver")
    options = ChromeOptions()
    options.binary_location = binary
    for option in (*_OPTIONS, f"--user-data-dir={folder}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    running = Chrome(options=options, service=Service(driver))
    try:
        yield Browser(running)
    finally:
        running.quit()
