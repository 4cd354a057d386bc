"""The page of latchkey report, in a real browser."""

import json
import tempfile

import browser
import numpy
import pytest
from conftest import BUILD, make_model, needs_onednn, random
from onnx import TensorProto, helper
from recordings import record, record_many_nodes, record_two, write_page

import latchkey

HOSTILE = ["</script><script>window.hit = 1</script>", "<img src=x onerror='window.hit=1'>",
           "\"'`${window.hit = 1}", "a\x00\x1b[31m\nb", "left\u202egnp.exe\u2069",
           "<!--<script>", "&amp;&lt;", "\u2028\u2029", "名前", "x" * 3000]
MOST_BYTES = 3_000_000
PAIRS = [*((text, back) for text in ("text", "soft", "accent", "warn")
           for back in ("card", "page")),
         ("accent", "accent-soft"), ("text", "line"),
         *(("heat-text", f"heat{i}") for i in (0, 1, 2)),
         *(("heat-text-strong", f"heat{i}") for i in (3, 4))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("report")


@pytest.fixture(scope="module")
def runs(folder, convnet):
    return record_two(folder, convnet, (10_000, 1000))


@pytest.fixture(scope="module")
def page(folder, runs):
    return write_page(folder / "page.html", runs[:1])


@pytest.fixture(scope="module")
def page_of_two(folder, runs):
    return write_page(folder / "two.html", runs)


@pytest.fixture(scope="module")
def tab():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as files, browser.tab(
            files) as opened:
        yield opened


@pytest.fixture(autouse=True)
def nothing_to_complain_of(request):
    """No message on the console, and nothing from any network, in all that the browser did."""
    yield
    if "tab" in request.fixturenames:
        opened = request.getfixturevalue("tab")
        assert opened.complaints == []
        assert all(url.startswith(("file:", "data:", "blob:")) for url in opened.asked)


def assert_no_holes(opened):
    """Each part says something, and no number is missing in what it says."""
    text = opened.ask("document.querySelector('main').innerText")
    for hole in ("NaN", "undefined", "Infinity", "[object"):
        assert hole not in text
    assert opened.ask("""[...document.querySelectorAll("section, .card")].every((part) =>
        part.innerText.trim().length > 10)""")


def shown(opened, table):
    """The rows of a table of the page, which opens it."""
    opened.ask(f"""(() => {{
        const folded = document.querySelector('details[data-table="{table}"]');
        folded.open = true;
        return new Promise((done) => setTimeout(done));
    }})()""")
    return rows_of(opened, f'details[data-table="{table}"]')


def rows_of(opened, where):
    """Of a table: the values of numbers, and texts."""
    return opened.ask(f"""[...document.querySelectorAll('{where} tbody tr')].map((row) =>
        [...row.cells].map((cell) => cell.dataset.value ? JSON.parse(cell.dataset.value) :
            cell.textContent))""")


# ---- in the browser ----


@pytest.mark.parametrize("name, width, height, scheme, phone", [
    ("light", 1280, 900, "light", False), ("dark", 1280, 900, "dark", False),
    ("phone", 390, 844, "light", True)])
def test_is_drawn(tab, page, page_of_two, name, width, height, scheme, phone):
    for file, kind in ((page, ""), (page_of_two, "_two")):
        tab.look(width, height, scheme, phone)
        tab.open(file)
        tab.draw_all()
        assert tab.ask("document.documentElement.dataset.theme") == scheme
        assert tab.ask("document.documentElement.scrollWidth") == width, "nothing sticks out"
        tab.wait("document.querySelectorAll('.node').length > 3")
        blank = tab.ask("""[...document.querySelectorAll(".plot canvas")].filter((canvas) => {
            const { width, height } = canvas;
            const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
            return !data.some((value, i) => i % 4 === 3 && value);
        }).length""")
        assert blank == 0
        assert_no_holes(tab)
        tab.screenshot(BUILD / f"screenshots/{name}{kind}.png")


def check_answers_keys(opened, page):
    """How soon is measured by benchmarks/report_page.py."""
    opened.look(1280, 900)
    opened.open(page)
    opened.press("/")
    assert opened.ask("document.activeElement.type") == "search"


def test_a_page_of_10_000_requests_answers_keys(tab, page):
    check_answers_keys(tab, page)
    assert page.stat().st_size < MOST_BYTES


def test_numbers_are_those_of_the_file(tab, page, runs):
    found = json.loads(runs[0].read_text())
    tab.look(1280, 900)
    tab.open(page)
    tiles = tab.ask("Object.fromEntries([...document.querySelectorAll('[data-tile]')].map((one) =>"
                    "[one.dataset.tile, JSON.parse(one.dataset.value)]))")
    times = sorted(row[1] for row in found["requests"]["rows"])
    memory = found["samples"]
    session = found["statistics"]["session"]
    assert tiles == {
        "requests": 10_000, "median latency": times[4999], "slowest": found["slowest"][0]["ns"],
        "known size": session["runs"] - session["run_plan_builds"],
        "time of builds": found["statistics"]["context"]["cache"]["kinds"]["run"]["build_ns"],
        "most memory": memory["peak_bytes"][-1]}
    owners = ("weights", "cache", "arenas", "spare", "other")
    assert shown(tab, "Memory over time") == [list(row) for row in zip(
        memory["at_ns"], memory["bytes"], *(memory[f"{owner}_bytes"] for owner in owners))]
    by_size = {}
    for row in found["requests"]["rows"]:
        by_size.setdefault(row[2], []).append(row[1])
    latency = shown(tab, "Latency by size")
    assert [row[0] for row in latency] == [
        "x " + "x".join(map(str, size[0]["shape"])) for size in found["sizes"]["rows"]]
    assert [(row[1], row[4]) for row in latency] == [
        (len(by_size[i]), max(by_size[i])) for i in range(len(latency))]
    assert sum(row[2] for row in shown(tab, "Sizes seen")) == 10_000
    nodes = shown(tab, "Nodes")
    assert [row[:6] + row[7:9] for row in nodes] == [
        [node["op_type"], node["name"], node["output_name"], node["fused"], node["implementation"],
         "native", node["binds"], node["bind_ns"]] for node in session["nodes"]]
    profile = found["profile"]
    assert sum(row[6] for row in nodes) == pytest.approx(
        sum(step["total_ms"] for step in profile["steps"]) * 1e6 / profile["runs"])
    slow = tab.ask("[...document.querySelectorAll('.slow .ns')].map((one) => +one.dataset.value)")
    assert slow == [one["ns"] for one in found["slowest"][:8]]
    assert not tab.ask("document.getElementById('engines')"), "native alone has nothing to tell"


def test_two_runs_have_the_same_axes_and_named_differences(tab, page_of_two, runs):
    tab.look(1280, 900)
    tab.open(page_of_two)
    tab.draw_all()
    axes = tab.ask("""[...document.querySelectorAll("#memory .plot, #latency .plot")].map((node) =>
    {
        const { xAxis, yAxis } = echarts.getInstanceByDom(node).getOption();
        return [xAxis[0].min, xAxis[0].max, yAxis[0].min, yAxis[0].max];
    })""")
    assert len(axes) == 4 and axes[0] == axes[1] and axes[2] == axes[3]
    found = [json.loads(path.read_text()) for path in runs]
    rows = {row[0]: row[1:] for row in rows_of(tab, "#differences table")}
    session = [one["statistics"]["session"] for one in found]
    assert rows["requests"] == [10_000, 1000, "-90.0 %"]
    assert rows["slowest"][:2] == [one["slowest"][0]["ns"] for one in found]
    assert rows["run plans built"][:2] == [one["run_plan_builds"] for one in session]
    assert rows["most memory"][:2] == [one["samples"]["peak_bytes"][-1] for one in found]
    assert rows["nodes"] == [*(len(one["nodes"]) for one in session), "the same"]
    assert rows["cache entries"] == ["65536", "4"]
    tab.ask("document.querySelectorAll('#graph input[type=radio]')[1].click()")
    tab.wait("document.querySelectorAll('.node').length > 3")


def test_search_and_keys(tab, page):
    tab.look(1280, 900)
    tab.open(page)
    tab.press("Tab")
    assert tab.ask("document.activeElement.className") == "skip"
    assert tab.ask("document.activeElement.getBoundingClientRect().left") > 0, "it is in sight"
    tab.press("/")
    tab.type("conv relu")
    assert tab.ask("document.querySelector('output').value") == "1 of 1"
    assert "Conv" in tab.ask("document.querySelector('.about h3').innerText")
    assert "Relu" in tab.ask("document.querySelector('.about dl').innerText"), "made of"
    tab.press("Escape")
    tab.type("conv")
    assert tab.ask("document.querySelectorAll('.node.match').length") == 2
    tab.press("Enter")
    assert tab.ask("document.querySelector('output').value") == "2 of 2"
    tab.press("Escape")
    tab.type("no such thing")
    assert tab.ask("document.querySelector('output').value") == "no node"
    tab.ask("document.querySelector('.canvas').focus()")
    before = tab.ask("document.querySelector('.about').innerText")
    tab.press("ArrowDown")
    assert tab.ask("document.querySelector('.about').innerText") != before
    wide = tab.ask("+document.querySelector('.canvas svg').getAttribute('width')")
    tab.press("+")
    assert tab.ask("+document.querySelector('.canvas svg').getAttribute('width')") > wide


def test_every_stop_of_the_tab_key_is_seen_and_named(tab, page):
    tab.look(1280, 900)
    tab.open(page)
    seen = []
    for _ in range(200):
        tab.press("Tab")
        stop = tab.ask("""(() => {
            const now = document.activeElement;
            if (now === document.body) return null;
            const shown = now.type === "radio" ? now.nextElementSibling : now;
            const style = getComputedStyle(shown);
            return [now.tagName, (now.getAttribute("aria-label") || now.innerText ||
                now.parentElement.innerText).trim(), style.outlineStyle, style.outlineWidth];
        })()""")
        if stop is None:
            break
        seen.append(stop)
    assert len(seen) > 15 and {"A", "INPUT", "SUMMARY", "BUTTON"} <= {stop[0] for stop in seen}
    for tag, name, outline, width in seen:
        assert name and outline == "solid" and width != "0px", (tag, name)


def test_every_plot_has_a_name_and_a_table(tab, page):
    tab.look(1280, 900)
    tab.open(page)
    assert tab.ask("""[...document.querySelectorAll(".plot")].every((node) =>
        node.getAttribute("role") === "img" && node.getAttribute("aria-label").length > 10 &&
        node.closest(".card").querySelector("details[data-table]"))""")


def test_the_switch_goes_before_what_the_system_prefers(tab, page):
    tab.look(1280, 900, "dark")
    tab.open(page)
    back = "getComputedStyle(document.body).backgroundColor"
    dark = tab.ask(back)
    tab.ask("document.querySelector('input[value=Light]').click()")
    assert tab.ask(back) != dark
    tab.ask("document.querySelector('input[value=Auto]').click()")
    assert tab.ask(back) == dark
    tab.look(1280, 900, "light")
    tab.wait(f"{back} !== '{dark}'")


def test_names_of_a_model_stay_text(tab, folder, convnet):
    """Each name of a recording is one that would like to be markup."""
    path = folder / "hostile.json"
    with latchkey.Session(convnet, context=latchkey.Context(threads=1)) as session:
        found = record(session, path, convnet, [(1, 3, 8, width) for width in (8, 9, 9)],
                       profile_every=1)

    def spoiled(value, names):
        if isinstance(value, dict):
            return {key: spoiled(one, names) for key, one in value.items()}
        if isinstance(value, list):
            return [spoiled(one, names) for one in value]
        return names.get(value, value) if isinstance(value, str) else value

    texts = {name for node in found["nodes"] for name in (
        node["name"], node["output_name"], node["fused"], node["op_type"], node["implementation"],
        *node["inputs"], *node["outputs"])} | {"net.onnx", "x", found["machine"]["processor"]}
    names = {name: HOSTILE[i % len(HOSTILE)] + str(i) for i, name in enumerate(sorted(texts))}
    path.write_text(json.dumps(spoiled(found, names)))
    page = write_page(folder / "hostile.html", [path])
    assert "\u202e" not in page.read_text() and page.read_text().count("</script>") == 3
    tab.look(390, 844, phone=True)
    tab.open(page)
    tab.draw_all()
    for table in ("Nodes", "Latency by size"):
        assert shown(tab, table)
    tab.press("/")
    tab.type("script")
    assert tab.ask("window.hit") is None
    assert tab.ask("document.querySelectorAll('img, main script, iframe').length") == 0
    assert tab.ask("document.documentElement.scrollWidth") == 390
    text = tab.ask("document.body.innerText")
    assert HOSTILE[0] in text and "\\xe2\\x80\\xae" in text


def test_the_policy_forbids_the_network_and_other_scripts(page):
    text = page.read_text()
    policy = text.split('Content-Security-Policy" content="')[1].split('"')[0]
    assert policy.startswith("default-src 'none';") and "unsafe" not in policy
    assert "http" not in policy


@pytest.fixture(scope="module")
def many(folder):
    """The recording of a chain of 5,100 nodes with a shortcut around every third one."""
    return record_many_nodes(folder / "many.json")


def test_a_graph_of_5_000_nodes(tab, folder, many):
    page = write_page(folder / "many.html", [many])
    check_answers_keys(tab, page)
    assert page.stat().st_size < MOST_BYTES
    tab.wait("document.querySelectorAll('.node').length >= 5000")
    tab.type("c1699")
    assert tab.ask("document.querySelector('.about h3').innerText") == "CumSum"
    tab.screenshot(BUILD / "screenshots/many.png")
    assert len(shown(tab, "Nodes")) >= 5000


def test_a_graph_that_is_too_large_to_draw(tab, folder, runs, monkeypatch):
    monkeypatch.setattr("latchkey._report.graph._MOST_DRAWN", 5)
    tab.look(1280, 900)
    tab.open(write_page(folder / "large.html", runs[:1]))
    tab.press("/")
    tab.type("gemm")
    assert tab.ask("document.querySelector('.about h3').innerText") == "Gemm"
    assert "up to 5 are drawn" in tab.ask("document.getElementById('graph').innerText")
    assert tab.ask("document.querySelectorAll('.node').length") == 0


def test_nodes_that_are_left_are_marked_and_found(tab, folder, runs):
    found = json.loads(runs[1].read_text())
    found["nodes"][0]["claimed"] = False
    path = folder / "left.json"
    path.write_text(json.dumps(found))
    tab.look(1280, 900)
    tab.open(write_page(folder / "left.html", [path]))
    tab.press("/")
    tab.type("left")
    assert tab.ask("document.querySelector('output').value") == "1 of 1"
    assert "left to ONNX Runtime" in tab.ask("document.querySelector('.about').innerText")
    assert tab.ask("document.querySelectorAll('.node.left').length") == 1
    assert "left to ONNX Runtime" in tab.ask("document.querySelector('.graph .legend').innerText")


def test_text_stands_out_from_what_is_behind(tab, page):
    """By 4.5, as WCAG 2.2 asks of small text, in both themes."""
    def light(colour):
        parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
                            for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05

    for scheme in ("light", "dark"):
        tab.look(1280, 900, scheme)
        tab.open(page)
        for text, back in PAIRS:
            lights = sorted(light(tab.ask(f"colour('{name}')")) for name in (text, back))
            assert lights[1] / lights[0] >= 4.5, (scheme, text, back)


# ---- runs that have little, and runs that are not alike ----


def test_a_recording_of_nothing(tab, folder, relu):
    path = folder / "nothing.json"
    with latchkey.Session(relu) as session:
        found = record(session, path, relu, [])
    assert found["requests"]["rows"] == []
    tab.look(390, 844, phone=True)
    tab.open(write_page(folder / "nothing.html", [path]))
    tab.draw_all()
    assert_no_holes(tab)
    text = tab.ask("document.querySelector('main').innerText")
    for sentence in ("It has no single requests.", "Nothing was found", "No times of nodes",
                     "It has no requests whose inputs have dimensions."):
        assert sentence in text
    tab.screenshot(BUILD / "screenshots/nothing.png")


def test_inputs_without_dimensions(tab, folder):
    """Latency is shown over time, where no dimension tells requests apart."""
    model = make_model([helper.make_node("Relu", ["x"], ["y"])], [("x", TensorProto.FLOAT, [])],
                       [("y", TensorProto.FLOAT, [])])
    path = folder / "scalar.json"
    with latchkey.Session(model) as session:
        record(session, path, model, [(), (), ()])
    tab.look(1280, 900)
    tab.open(write_page(folder / "scalar.html", [path]))
    tab.draw_all()
    assert_no_holes(tab)
    assert "3 of 3 requests are shown." in tab.ask("document.getElementById('latency').innerText")
    assert [row[:2] for row in shown(tab, "Latency by size")] == [["x scalar", 3]]
    name = tab.ask("""echarts.getInstanceByDom(document.querySelector("#latency .plot"))
        .getOption().xAxis[0].name""")
    assert name == "seconds since the beginning"


def test_two_runs_of_different_models(tab, folder, runs, relu):
    path = folder / "relu.json"
    with latchkey.Session(relu) as session:
        record(session, path, relu, [(rows, 3) for rows in (1, 2, 900)])
    tab.look(1280, 900)
    tab.open(write_page(folder / "different.html", [runs[1], path]))
    tab.draw_all()
    assert_no_holes(tab)
    ends = tab.ask("""[...document.querySelectorAll("#latency .plot")].map((node) =>
        echarts.getInstanceByDom(node).getOption().xAxis[0].max)""")
    assert ends == [12, 900], "dimensions of different inputs have axes of their own"
    rows = {row[0]: row[1:] for row in rows_of(tab, "#differences table")}
    assert rows["nodes"][:2] == [6, 1]
    assert rows["Relu y"][0] is None and rows["Relu y"][2] == "only in the second"
    assert rows["Conv r1"][1] is None and rows["Conv r1"][2] == "only in the first"


def test_a_recording_beside_statistics(tab, folder, runs, relu):
    path = folder / "beside.json"
    with latchkey.Session(relu) as session:
        path.write_text(json.dumps(session.statistics()))
    tab.look(1280, 900)
    tab.open(write_page(folder / "beside.html", [runs[1], path]))
    tab.draw_all()
    assert_no_holes(tab)
    rows = {row[0]: row[1:] for row in rows_of(tab, "#differences table")}
    assert "median latency" not in rows and rows["runs"] == [1000, 0, "-100.0 %"]


def test_a_name_of_a_file_stays_text(tab, folder, runs):
    path = folder / f"<img src=x onerror='window.hit=1'>{'y' * 200}.json"
    path.write_bytes(runs[1].read_bytes())
    tab.look(390, 844, phone=True)
    tab.open(write_page(folder / "named.html", [path, runs[1]]))
    tab.draw_all()
    assert tab.ask("document.documentElement.scrollWidth") == 390
    assert tab.ask("window.hit") is None and tab.ask("document.querySelector('img')") is None
    assert "first: <img src=x" in tab.ask("document.querySelector('header').innerText")


@needs_onednn
def test_engines_and_what_they_have_built(tab, folder, convnet):
    paths = []
    for engine in ("native", "onednn"):
        paths.append(folder / f"{engine}.json")
        with latchkey.Session(convnet, engine=engine, cache="shared", cache_bytes="1m",
                              threads=1) as session:
            record(session, paths[-1], convnet, [(1, 3, 8, width) for width in (8, 9, 10) * 3],
                   profile_every=1)
    tab.look(1280, 900)
    tab.open(write_page(folder / "engines.html", paths[1:]))
    tab.draw_all()
    assert_no_holes(tab)
    found = json.loads(paths[1].read_text())
    counts = found["statistics"]["context"]["cache"]["kinds"]["value"]
    assert counts["evictions"] > 0
    tile = "JSON.parse(document.querySelector('[data-tile=\"primitives built\"]').dataset.value)"
    assert tab.ask(tile) == counts["builds"]
    tables = rows_of(tab, "#engines")
    profile = found["profile"]
    assert tables[0][0] == "onednn" and tables[0][2] == pytest.approx(sum(
        step["total_ms"] for step in profile["steps"] if step["engine"] == "onednn"
    ) * 1e6 / profile["runs"])
    numbers = {row[0]: row[1] for row in tables if len(row) == 2}
    assert numbers == {
        "built": counts["builds"], "time of builds": counts["build_ns"], "builds that failed": 0,
        "found by key": counts["hits"], "missing": counts["misses"],
        "waits for another thread's build": 0, "evicted for others": counts["evictions"],
        "kept": counts["entries"], "bytes of these": counts["bytes"],
        "of cache_bytes": counts["bytes"] / 2**20}
    assert {row[0]: row[5] for row in shown(tab, "Nodes")}["Softmax"] == "onednn"
    tab.press("/")
    tab.type("onednn softmax")
    assert tab.ask("document.querySelector('output').value") == "1 of 1"
    assert "onednn" in tab.ask("document.querySelector('.about dl').innerText")
    assert "primitives of engine 'onednn' had been evicted" in tab.ask(
        "document.getElementById('causes').innerText")
    tab.screenshot(BUILD / "screenshots/engines.png")
    tab.open(write_page(folder / "engines_two.html", paths))
    rows = {row[0]: row[1:] for row in rows_of(tab, "#differences table")}
    assert rows["engine"] == ["native", "onednn"]
    assert rows["primitives built"][:2] == [0, counts["builds"]]


def test_a_file_that_does_not_know_of_engines(tab, folder, runs):
    found = json.loads(runs[1].read_text())
    context = found["statistics"]["context"]
    del context["engine"], context["cache"]["kinds"]["value"]
    path = folder / "without_engines.json"
    path.write_text(json.dumps(found))
    tab.look(1280, 900)
    tab.open(write_page(folder / "without_engines.html", [path]))
    tab.draw_all()
    assert_no_holes(tab)
    assert not tab.ask("document.getElementById('engines')")
    tab.press("/")
    tab.type("softmax")
    assert tab.ask("document.querySelector('output').value") == "1 of 1"


def test_statistics_of_a_session(tab, folder, convnet):
    path = folder / "statistics.json"
    with latchkey.Session(convnet) as session:
        for width in (8, 9, 8):
            session.run({"x": random(1, 3, 8, width)})
        found = session.statistics()
    path.write_text(json.dumps(found))
    tab.look(1280, 900)
    tab.open(write_page(folder / "statistics.html", [path]))
    tab.draw_all()
    text = tab.ask("document.body.innerText")
    assert "Slowest requests" not in text and "x 1x3x8x9" in text
    tab.wait(f"document.querySelectorAll('.node').length === {len(found['session']['nodes'])}")


def test_statistics_of_onnxruntime(tab, folder):
    import onnxruntime

    import latchkey.ort
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"]), helper.make_node("Unique", ["a"], ["b"]),
             helper.make_node("Reshape", ["b", "shape"], ["c"]),
             helper.make_node("Conv", ["c", "v"], ["y"])]
    model = make_model(
        nodes, [("x", TensorProto.FLOAT, [1, 3, "h", "w"])], [("y", TensorProto.FLOAT, None)],
        [("w", random(4, 3, 1, 1)), ("shape", numpy.array([1, 1, 1, -1])),
         ("v", random(4, 1, 1, 1))])
    latchkey.ort.register()
    options = onnxruntime.SessionOptions()
    latchkey.ort.append(options, run_statistics="on", threads=1)
    session = onnxruntime.InferenceSession(model, options)
    session.run(None, {"x": random(1, 3, 4, 4)})
    path = folder / "ort.json"
    path.write_text(json.dumps(latchkey.ort.stats(session)))
    tab.look(1280, 900)
    tab.open(write_page(folder / "ort.html", [path]))
    tab.draw_all()
    text = tab.ask("document.getElementById('left').innerText")
    assert "Unique" in text and "the shapes of its outputs follow from data" in text
    tab.wait("document.querySelectorAll('.node').length >= 2")
