// The picture of the graph: nodes coloured by their time, search, and what is known of one node.

const HEAT_STEPS = [0.02, 0.1, 0.3, 0.6]; // parts of the longest time, where the shade changes
const ZOOM_STEP = 1.25;

// time: "ns" of a run or, where nothing was profiled, "bind_ns" of all builds.
function graphView(graph, id) {
  const field = graph.profiled_runs ? "ns" : "bind_ns";
  const whole = graph.nodes.reduce((sum, node) => sum + (node[field] || 0), 0);
  const longest = graph.nodes.reduce((most, node) => Math.max(most, node[field] || 0), 0);
  const about = element("div", { class: "about", "aria-live": "polite" },
    element("p", { class: "lead" }, "Choose a node to see what is known of it."));
  const output = element("output", {});
  const search = element("input", { type: "search", id: `search-${id}`, autocomplete: "off",
    spellcheck: "false", placeholder: "Search operators, names, fusions, layouts, engines",
    "aria-label": "Search nodes" });
  const readsFrom = graph.nodes.map(() => []);
  const readBy = graph.nodes.map(() => []);
  const lines = [];
  let zoom = 1, chosen = null, matches = [], match = -1;

  const drawn = graph.no_picture ? null : drawing("svg", { role: "presentation" });
  const canvas = element("div", { class: "canvas", tabindex: 0, role: "application",
    "aria-label": "Graph of the model. Arrow keys go from node to node, plus and minus zoom." });
  const groups = [];
  graph.edges.forEach(([from, to]) => {
    readsFrom[to].push(from);
    readBy[from].push(to);
  });
  if (drawn) {
    canvas.append(drawn);
    setZoom(1);
  }

  // Thousands of nodes take a moment: the search has the focus before.
  function draw() {
    if (!drawn || groups.length) return;
    lines.push(...graph.lines.map((points) => drawing("path", { class: "edge", d: path(points) })));
    groups.push(...graph.nodes.map(nodeGroup));
    drawn.append(...lines, ...groups);
  }

  function path(points) {
    let text = `M${points[0]} ${points[1]}`;
    for (let i = 2; i < points.length; i += 2) text += `L${points[i]} ${points[i + 1]}`;
    return text;
  }

  function nodeGroup(node) {
    const [x, y] = graph.places[node.number];
    const { node_width: width, node_height: height } = graph;
    const heat = HEAT_STEPS.filter((least) =>
      longest && node[field] >= least * longest).length;
    const second = [node[field] ? timeText(node[field]) : null, node.fused ? `+ ${node.fused}` :
      node.implementation].filter(Boolean).join("  ");
    return drawing("g", { class: `node h${heat}${node.claimed ? "" : " left"}`,
      transform: `translate(${x - width / 2} ${y - height / 2})`,
      click: () => choose(node.number, false) },
    drawing("rect", { width, height }),
    drawing("text", { x: 9, y: 18 },
      shortened(`${node.op}  ${node.name || node.output}`, 24)),
    drawing("text", { x: 9, y: 34, class: "second" }, shortened(second, 28)));
  }

  function setZoom(wanted) {
    const before = zoom;
    zoom = Math.min(3, Math.max(0.08, wanted));
    const margin = 24;
    const [width, height] = [graph.width + 2 * margin, graph.height + 2 * margin];
    drawn.setAttribute("viewBox", `${-margin} ${-margin} ${width} ${height}`);
    drawn.setAttribute("width", width * zoom);
    drawn.setAttribute("height", height * zoom);
    const middle = [canvas.scrollLeft + canvas.clientWidth / 2,
      canvas.scrollTop + canvas.clientHeight / 2];
    canvas.scrollLeft = middle[0] * zoom / before - canvas.clientWidth / 2;
    canvas.scrollTop = middle[1] * zoom / before - canvas.clientHeight / 2;
  }

  const fit = () => setZoom(Math.min(canvas.clientWidth / (graph.width + 48),
    canvas.clientHeight / (graph.height + 48)));

  function choose(number, scrolled = true) {
    draw();
    if (chosen !== null && drawn) {
      groups[chosen].classList.remove("chosen");
      lines.forEach((line) => line.classList.remove("near"));
    }
    chosen = number;
    const node = graph.nodes[number];
    if (drawn) {
      groups[number].classList.add("chosen");
      graph.edges.forEach(([from, to], i) => {
        if (from === number || to === number) lines[i].classList.add("near");
      });
      if (scrolled) {
        const [x, y] = graph.places[number];
        canvas.scrollTo((x + 24) * zoom - canvas.clientWidth / 2,
          (y + 24) * zoom - canvas.clientHeight / 2);
      }
    }
    about.replaceChildren(...describe(node));
  }

  function describe(node) {
    const links = (numbers) => numbers.map((number) => element("div", {}, element("button",
      { class: "link", type: "button", click: () => choose(number) },
      `${graph.nodes[number].op} ${graph.nodes[number].name || graph.nodes[number].output}`)));
    const ofAll = whole && field === "ns" ? `, ${percentText(node.ns / whole)}` : "";
    const facts = [
      ["name", node.name || null], ["output", node.output],
      ["runs on", node.implementation || null],
      ["engine", node.engines.length ? enginesText(node.engines) : null],
      ["by", node.claimed ? "Latchkey" : "left to ONNX Runtime"], ["fused", node.fused || null],
      ["time", node.ns === null ? null : `${timeText(node.ns)} a run${ofAll}`],
      ["layouts", node.layouts.length ?
        node.layouts.map((text) => element("div", {}, text)) : null],
      ["builds", `${countText(node.binds)} times, ${timeText(node.bind_ns)}`],
      ["found bound", `by ${countText(node.hits)} runs`],
      ["made of", node.made_of.length ?
        element("ul", {}, node.made_of.map((one) => element("li", {}, one))) : null],
      ["reads from", readsFrom[node.number].length ? links(readsFrom[node.number]) : null],
      ["read by", readBy[node.number].length ? links(readBy[node.number]) : null]];
    return [element("h3", {}, `${node.op}${node.domain ? ` of ${node.domain}` : ""}`),
      element("dl", {}, facts.filter(([, value]) => value !== null).map(([name, value]) =>
        [element("dt", {}, name), element("dd", {}, value)]))];
  }

  const texts = graph.nodes.map((node) => [node.op, node.domain, node.name, node.output, node.fused,
    node.implementation, node.claimed ? "latchkey claimed" : "onnx runtime left", ...node.layouts,
    ...node.engines.map(([name]) => name), ...node.made_of].join("\n").toLowerCase());

  function find() {
    draw();
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    matches = !words.length ? [] : graph.nodes.map((node) => node.number)
      .filter((number) => words.every((word) => texts[number].includes(word)));
    if (drawn) {
      drawn.classList.toggle("searching", words.length > 0);
      groups.forEach((group) => group.classList.remove("match"));
      matches.forEach((number) => groups[number].classList.add("match"));
    }
    match = -1;
    if (matches.length) next(1);
    else output.value = words.length ? "no node" : "";
  }

  function next(step) {
    if (!matches.length) return;
    match = (match + step + matches.length) % matches.length;
    output.value = `${match + 1} of ${matches.length}`;
    choose(matches[match]);
  }

  search.addEventListener("input", find);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      next(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      search.value = "";
      find();
    }
  });
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !drawn) return;
    const keys = {
      "+": () => setZoom(zoom * ZOOM_STEP), "=": () => setZoom(zoom * ZOOM_STEP),
      "-": () => setZoom(zoom / ZOOM_STEP), "0": fit,
      ArrowDown: () => choose(chosen === null ? 0 : readBy[chosen][0] ?? chosen),
      ArrowUp: () => choose(chosen === null ? 0 : readsFrom[chosen][0] ?? chosen),
      ArrowRight: () => choose(chosen === null ? 0 : Math.min(chosen + 1, graph.nodes.length - 1)),
      ArrowLeft: () => choose(chosen === null ? 0 : Math.max(chosen - 1, 0)) };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey || !drawn) return; // without it the wheel scrolls
    event.preventDefault();
    setZoom(event.deltaY < 0 ? zoom * ZOOM_STEP : zoom / ZOOM_STEP);
  }, { passive: false });

  const button = (text, name, work) =>
    element("button", { type: "button", "aria-label": name, title: name, click: work }, text);
  const zoomButtons = drawn ? [button("+", "Zoom in", () => setZoom(zoom * ZOOM_STEP)),
    button("\u2212", "Zoom out", () => setZoom(zoom / ZOOM_STEP)),
    button("Fit", "Show the whole graph", fit)] : null;
  const shades = ["less", ...HEAT_STEPS.map((least) => `from ${percentText(least)}`)]
    .map((text, i) => element("li", {}, element("i", { class: `swatch${i}` }), text));
  const left = graph.nodes.some((node) => !node.claimed) ?
    element("li", {}, element("i", { class: "left" }), "left to ONNX Runtime") : null;
  const view = element("div", {},
    element("div", { class: "tools" }, search, element("kbd", { "aria-hidden": "true" }, "/"),
      output, zoomButtons),
    element("div", { class: "graph" },
      element("div", {}, drawn ? canvas : element("p", {}, graph.no_picture),
        element("ul", { class: "legend" }, shades,
          element("li", {}, "of the longest ", field === "ns" ? "time in a run" : "time of builds"),
          left)),
      about));
  // Once it is on the page: the first node in the middle.
  let begun = false;
  const begin = () => {
    if (begun || !drawn) return;
    begun = true;
    canvas.scrollLeft = (graph.places[0][0] + 24) * zoom - canvas.clientWidth / 2;
    setTimeout(draw);
  };
  return { view, search, begin };
}
