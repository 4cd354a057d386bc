"""A real browser for tests: Debian's chromium without a window, by its DevTools protocol."""

import base64
import contextlib
import json
import shutil
import subprocess
from pathlib import Path

import websocket
from wait import LONG, until

PROGRAM = shutil.which("chromium")


class Tab:
    """A page. What it complains of is in `complaints`; what it asks the network for in `asked`."""

    def __init__(self, address):
        self._socket = websocket.create_connection(address, timeout=LONG, suppress_origin=True)
        self._number = 0
        self.complaints, self.asked = [], []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Performance.enable", timeDomain="threadTicks")

    def call(self, method, **parameters):
        """The result of a command; events that come before it are kept."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method,
                                      "params": parameters}))
        while True:
            message = json.loads(self._socket.recv())
            if message.get("id") == self._number:
                assert "error" not in message, (method, message["error"])
                return message["result"]
            if "method" in message:
                self._keep(message)

    def _keep(self, event):
        name, what = event["method"], event["params"]
        if name == "Runtime.exceptionThrown":
            self.complaints.append(what["exceptionDetails"].get("exception", what))
        elif name == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning", "assert"):
            self.complaints.append([each.get("value", each) for each in what["args"]])
        elif name == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
            self.complaints.append(what["entry"])
        elif name == "Network.requestWillBeSent":
            self.asked.append(what["request"]["url"])

    def look(self, width, height, scheme="light", phone=False):
        """Sets the window's size, and what it says that its user prefers."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=2 if phone else 1, mobile=phone)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, path):
        self.ask("if (document.documentElement) delete document.documentElement.dataset.ready")
        self.call("Page.navigate", url=Path(path).resolve().as_uri())
        self.wait("document.documentElement?.dataset.ready === 'yes'")

    def ask(self, expression):
        """The value of an expression of JavaScript, or of the promise that it is."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                          awaitPromise=True)
        assert "exceptionDetails" not in found, (expression, found)
        return found["result"].get("value")

    def processor_seconds(self):
        """What the main thread of the page has used of a processor since it was opened: unlike the
        time on the wall, other programs do not change it much."""
        found = self.call("Performance.getMetrics")["metrics"]
        return {one["name"]: one["value"] for one in found}["TaskDuration"]

    def wait(self, expression):
        until(lambda: self.ask(expression))

    def press(self, key, text=None, modifiers=0):
        names = {"/": ("/", "Slash", 191), "Tab": ("Tab", "Tab", 9),
                 "Enter": ("Enter", "Enter", 13), "Escape": ("Escape", "Escape", 27),
                 "ArrowDown": ("ArrowDown", "ArrowDown", 40), "+": ("+", "Equal", 187)}
        name, code, number = names[key]
        parameters = {"key": name, "code": code, "windowsVirtualKeyCode": number,
                      "modifiers": modifiers}
        typed = text or (name if len(name) == 1 else "\r" if name == "Enter" else None)
        self.call("Input.dispatchKeyEvent", type="keyDown", **parameters,
                  **({"text": typed} if typed else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **parameters)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def draw_all(self):
        """Scrolls to what is not drawn yet, until each plot and the graph are. No frame is waited
        for: a browser that takes its window for hidden draws none, and then a promise of one never
        comes."""
        self.call("Page.bringToFront")
        self.ask("document.documentElement.style.scrollBehavior = 'auto'")
        self.wait("""(() => {
            const graph = document.getElementById('graph');
            const left = [...document.querySelectorAll('.plot')].find(
                (one) => one.offsetParent && !one.dataset.drawn) ||
                (graph && !graph.querySelector('.graph') ? graph : null);
            if (left) left.scrollIntoView({block: "center"}); else scrollTo(0, 0);
            return !left;
        })()""")

    def screenshot(self, path):
        """Of the whole page."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        picture = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                            clip={"x": 0, "y": 0, "width": size["width"],
                                  "height": min(size["height"], 9000), "scale": 1})
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(picture["data"]))


@contextlib.contextmanager
def tab(folder):
    """A fresh browser with one page. `folder`: for its files."""
    process = subprocess.Popen(
        [PROGRAM, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
         "--disable-background-networking", "--disable-dev-shm-usage", "--hide-scrollbars",
         "--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding",
         "--disable-background-timer-throttling",
         "--remote-debugging-port=0", f"--user-data-dir={folder}", "about:blank"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield Tab(_address(process, Path(folder) / "DevToolsActivePort"))
    finally:
        process.terminate()
        process.wait(LONG)


def _address(process, file):
    """Of the page, once the browser has written where it listens."""
    def has_started():
        assert process.poll() is None, "chromium did not start"
        return file.is_file() and "\n" in file.read_text()
    until(has_started)
    port = file.read_text().splitlines()[0]
    browser = websocket.create_connection(
        f"ws://127.0.0.1:{port}{file.read_text().splitlines()[1]}", timeout=LONG,
        suppress_origin=True)
    browser.send(json.dumps({"id": 1, "method": "Target.getTargets"}))
    answer = json.loads(browser.recv())
    browser.close()
    page = next(one for one in answer["result"]["targetInfos"] if one["type"] == "page")
    return f"ws://127.0.0.1:{port}/devtools/page/{page['targetId']}"
