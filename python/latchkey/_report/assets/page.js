// The page: its parts in their order, the keys, and light or dark.

const { runs, differences } = JSON.parse(document.getElementById("data").textContent);
for (const { graph } of runs) {
  const { fields, rows } = graph.nodes;
  graph.nodes = rows.map((row) => Object.fromEntries(fields.map((field, i) => [field, row[i]])));
}
const two = runs.length === 2;
const titles = two ? ["first", "second"].map((which, i) => `${which}: ${runs[i].file}`) : [""];
const main = document.getElementById("content");
const parts = []; // [id, title]: the menu

function section(id, title, lead, ...children) {
  parts.push([id, title]);
  main.append(element("section", { id, "aria-labelledby": `${id}-title` },
    element("h2", { id: `${id}-title` }, title), element("p", { class: "lead" }, lead), children));
}

// A card for each run that has what the section is about.
function pair(make) {
  return element("div", { class: two ? "pair two" : "pair" }, runs.map((run, i) =>
    element("div", { class: "card" }, two ? element("h3", {}, titles[i]) : null, make(run, i))));
}

function figure(title, text, options, { shades, folded, tall } = {}) {
  return element("figure", {}, element("figcaption", {}, text), shades ? legend(shades) : null,
    plot(title, text, options, tall), folded);
}

// Buttons of which one is on, at first the first; change(i) is called when another one is.
function choice(legend, name, texts, change) {
  return element("fieldset", { class: "switch" }, element("legend", {}, legend),
    texts.map((text, i) => element("label", {},
      element("input", { type: "radio", name, value: text, checked: i === 0,
        change: () => change(i) }), element("span", {}, text))));
}

// ---- the head ----

function themeSwitch() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const names = ["auto", "light", "dark"];
  let wanted = "auto";
  const apply = () => {
    const system = dark.matches ? "dark" : "light";
    document.documentElement.dataset.theme = wanted === "auto" ? system : wanted;
    redrawPlots();
  };
  dark.addEventListener("change", apply);
  apply();
  return choice("Colours", "theme", names.map((name) => name[0].toUpperCase() + name.slice(1)),
    (i) => { wanted = names[i]; apply(); });
}

const limitText = (memory) =>
  memory.limit_bytes === null ? "no limit" : `limit ${bytesText(memory.limit_bytes)}`;

function tiles(run) {
  const asked = run.requests, built = run.built, memory = run.memory;
  const found = [];
  if (asked) {
    found.push(["requests", countText(asked.count), asked.count,
      asked.failed ? `${countText(asked.failed)} more failed` : null],
    ["median latency", timeText(asked.p50_ns), asked.p50_ns,
      `90 % within ${timeText(asked.p90_ns)}`],
    ["slowest", timeText(asked.longest_ns), asked.longest_ns,
      `99 % within ${timeText(asked.p99_ns)}`]);
  } else found.push(["runs", countText(built.runs), built.runs, null]);
  found.push(["known size", built.runs ? percentText(built.known / built.runs) : "\u2013",
    built.known, `${countText(built.builds)} run plans built`],
  ["time of builds", timeText(built.build_ns), built.build_ns,
    `${countText(built.evictions)} evictions`],
  ["most memory", bytesText(memory.peak_bytes), memory.peak_bytes,
    limitText(memory)]);
  const primitives = run.engines.primitives;
  if (primitives && primitives.is_asked) {
    found.push(["primitives built", countText(primitives.builds), primitives.builds,
      `${countText(primitives.evictions)} evictions, ${bytesText(primitives.bytes)} kept`]);
  }
  return element("dl", { class: "tiles" }, found.map(([name, text, value, more]) =>
    element("div", { class: "tile" }, element("dt", {}, name),
      element("dd", { "data-tile": name, "data-value": JSON.stringify(value) }, text,
        more ? element("small", {}, more) : null))));
}

// ---- the parts ----

const SHOWN = { count: countText, time: timeText, bytes: bytesText, part: percentText };

function addDifferences() {
  if (!differences) return;
  const shown = (value, row) => SHOWN[row[4]](value);
  const parts = [table("Differences of numbers",
    [["", null], ["first", shown], ["second", shown], ["change", null]],
    differences.rows.map((row) => [row.name, row.first, row.second, row.change, row.kind]))];
  if (differences.facts.length) {
    parts.push(element("h3", {}, "Set differently"), table("Differences of options",
      [["", null], ["first", null], ["second", null]], differences.facts));
  }
  if (differences.nodes.length) {
    parts.push(element("h3", {}, "Nodes that differ most"), table("Differences of nodes",
      [["node", null], ["first", timeText], ["second", timeText], ["what else", null]],
      differences.nodes.map((node) => [node.name, node.first_ns, node.second_ns, node.notes])));
  }
  section("differences", "Differences", "The second run, against the first.",
    element("div", { class: "card" }, parts));
}

function addCauses() {
  section("causes", "What cost time", "Causes that the statistics show, the most expensive first.",
    pair((run) => run.explanation.length ? element("ol", { class: "causes" },
      run.explanation.map((one) => element("li", {}, element("div", {}, one.text, " ",
        one.lost ? element("span", { class: "lost" }, one.lost) : null),
      one.details.length ? element("ul", {}, one.details.slice(0, 8).map((detail) =>
        element("li", {}, detail)), one.details.length > 8 ?
        element("li", {}, `and ${one.details.length - 8} more`) : null) : null,
      one.advice ? element("div", { class: "advice" }, one.advice) : null))) :
      element("p", {}, "Nothing was found: sizes were known, and nothing was built twice.")));
}

function addMemory() {
  const most = Math.max(1, ...runs.map((run) => run.memory.peak_bytes));
  const longest = Math.max(...runs.map((run) => run.memory.at_ns.at(-1)));
  section("memory", "Memory", "Who had it, beside the limit of the context.", pair((run) => {
    const memory = run.memory, over = memory.at_ns.length > 1;
    const folded = foldedTable("Memory over time", [["at", timeText], ["all", bytesText],
      ...OWNERS.map(([, name]) => [name, bytesText])], () => memory.at_ns.map((at, i) =>
      [at, memory.bytes[i], ...OWNERS.map(([owner]) => memory.owners[owner][i])]));
    return figure(over ? "Memory over time" : "Memory by owner",
      `At most ${bytesText(memory.peak_bytes)}, ${limitText(memory)}` +
        `${!over || limitInSight(memory, most) ? "" : ", above the plot"}.`,
      over ? memoryPlot(memory, most, longest) : ownersPlot(memory),
      { shades: over ? OWNERS.map(([, name], i) => [`c${i}`, name]) : null, folded });
  }));
}

function addLatency() {
  if (!runs.some((run) => run.requests)) return;
  const asked = runs.map((run) => run.requests).filter((one) => one && one.points.length);
  const together = latencyRange(asked.flatMap((one) => one.points));
  const sameAxis = new Set(asked.map((one) => one.axis)).size === 1;
  section("latency", "Latency by size", "What a request took, by the dimension that varies most.",
    pair(({ requests }) => {
      if (!requests || !requests.points.length) return element("p", {}, NO_REQUESTS);
      return figure("Latency by size", `${countText(requests.points.length)} of ` +
        `${countText(requests.count)} requests are shown.`,
      latencyPlot(requests, sameAxis ? together : latencyRange(requests.points)),
      { shades: LATENCY_GROUPS.map(([name, , shade]) => [shade, name]),
        folded: sizesTable(requests) });
    }));
}

const NO_REQUESTS = "It has no single requests.";

const sizesTable = (requests) => foldedTable("Latency by size", [["size", null],
  ["requests", countText], ["median", timeText], ["90 % within", timeText], ["slowest", timeText],
  ["builds", countText], ["time of builds", timeText]], () => requests.sizes.map((size) =>
  [size.label, size.count, size.p50_ns, size.p90_ns, size.longest_ns, size.builds, size.build_ns]));

function addSizes() {
  section("sizes", "Sizes seen", "How often each size came.", pair(({ requests, sizes }) => {
    if (sizes) {
      return table("Sizes seen", [["size", null], ["runs", countText], ["builds", countText],
        ["time of builds", timeText], ["run plans", bytesText]], sizes.map((size) =>
        [size.label, size.runs, size.builds, size.build_ns, size.bytes]));
    }
    const heat = requests.heat;
    if (!heat) return element("p", {}, "It has no requests whose inputs have dimensions.");
    return figure("Sizes seen",
      `${countText(requests.sizes.length)} sizes; by ${heat.x} and ${heat.y}.`,
      heatPlot(heat), { folded: foldedTable("Sizes seen",
        [[heat.x, null], [heat.y, null], ["requests", countText]], () =>
          heat.cells.map(([x, y, count]) => [heat.x_labels[x], heat.y_labels[y], count])) });
  }));
}

function addNodes() {
  section("nodes", "Nodes", "Areas are times. The fainter a node, the more often a run found it " +
    "bound to its size.", pair((run, i) => [treeFigures(run.graph, i), nodesTable(run.graph)]));
}

// A figure for each time that was taken, of which a switch shows one.
function treeFigures(graph, id) {
  const runsOfMean = `${countText(graph.profiled_runs)} runs that were profiled`;
  const figures = [["ns", "Time of a run", `In the mean of ${runsOfMean}.`],
    ["bind_ns", "Time of builds", "All builds together."]]
    .filter(([field]) => graph.nodes.some((node) => node[field]))
    .map(([field, name, text]) => [name, figure(name, text, treePlot(graph, field),
      { tall: true, shades: FOUND_BOUND })]);
  if (!figures.length) return element("p", {}, "No times of nodes were counted.");
  const show = (shown) => figures.forEach(([, one], i) => { one.hidden = i !== shown; });
  show(0);
  return [figures.length > 1 ? choice("Area", `area-${id}`, figures.map(([name]) => name), show) :
    null, figures.map(([, one]) => one)];
}

// Where an engine besides native has computed or built something.
function addEngines() {
  const isTold = ({ engines: { rows, primitives } }) =>
    rows.some(([name]) => name !== "native") || (primitives && primitives.is_asked);
  if (!runs.some(isTold)) return;
  section("engines", "Engines", "Who computed the nodes, and what engines have built for them.",
    pair(({ engines: { rows, primitives } }) => {
      if (!rows.length) return element("p", {}, "The file does not say who computed the nodes.");
      const isTimed = rows.some((row) => row[2] !== null);
      return [table("Engines", [["engine", null], ["nodes, most of", countText],
        ["time of a run", timeText], [isTimed ? "of the time" : "of the nodes", percentText]],
      rows), primitives ? primitivesTable(primitives) : null];
    }));
}

function primitivesTable(primitives) {
  const shown = (value, row) => SHOWN[row[2]](value);
  const rows = [["built", primitives.builds, "count"],
    ["time of builds", primitives.build_ns, "time"],
    ["builds that failed", primitives.failed_builds, "count"],
    ["found by key", primitives.hits, "count"], ["missing", primitives.misses, "count"],
    ["waits for another thread's build", primitives.waits, "count"],
    ["evicted for others", primitives.evictions, "count"],
    ["kept", primitives.entries, "count"], ["bytes of these", primitives.bytes, "bytes"]];
  if (primitives.filled !== null) rows.push(["of cache_bytes", primitives.filled, "part"]);
  return [element("h3", {}, "Primitives"), table("Primitives", [["", null], ["", shown]], rows)];
}

const nodesTable = (graph) => foldedTable("Nodes", [["operator", null], ["name", null],
  ["output", null], ["fused", null], ["runs on", null], ["engine", null],
  ["time of a run", timeText], ["builds", countText], ["time of builds", timeText],
  ["found bound", countText]], () =>
  graph.nodes.map((node) => [node.op, node.name, node.output, node.fused, node.implementation,
    enginesText(node.engines), node.ns, node.binds, node.bind_ns, node.hits]));

function addLeft() {
  if (!runs.some((run) => run.left.length)) return;
  section("left", "Left to ONNX Runtime", "What Latchkey does not run, and why.", pair((run) =>
    table("Left to ONNX Runtime", [["operator", null], ["domain", null], ["nodes", countText],
      ["why", null]], run.left)));
}

function addSlowest() {
  if (!runs.some((run) => run.requests && run.requests.slowest.length)) return;
  const entry = (one) => element("li", {},
    element("div", { class: "ns", "data-value": one.ns }, timeText(one.ns)),
    element("div", {}, element("div", { class: "what" },
      `${one.size}, ${timeText(one.begin_ns)} after the beginning`),
    one.why.map((why) => element("p", {}, why)),
    one.steps.length ? foldedTable("Steps of a slow request", [["node", null], ["operator", null],
      ["step", null], ["time", timeText]], () => one.steps.map((step) =>
      [step.node, step.operator, step.kind, step.ns]), "Its longest steps") : null));
  section("slowest", "Slowest requests", "Each with what is known of why it took so long.",
    pair((run) => {
      if (!run.requests) return element("p", {}, NO_REQUESTS);
      const list = element("ol", { class: "slow" }, run.requests.slowest.slice(0, 8).map(entry));
      const others = run.requests.slowest.slice(8);
      const more = element("button", { type: "button", click: () => {
        list.append(...others.map(entry));
        more.remove();
      } }, `Show ${others.length} more`);
      return [list, others.length ? more : null];
    }));
}

// The graph of one run at a time, which is made when it comes near the window.
function addGraph() {
  const place = element("div", { class: "graph-place" });
  const views = runs.map(() => null);
  let shown = 0;
  const show = (i) => {
    shown = i;
    if (!views[i]) views[i] = graphView(runs[i].graph, i);
    place.replaceChildren(views[i].view);
    views[i].begin();
    return views[i];
  };
  section("graph", "Graph", "Nodes as they run, in a stronger colour the more time they take. " +
    "/ goes to the search.", element("div", { class: "card" },
    two ? choice("Run", "graph", titles, show) : null, place));
  const close = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) {
      close.disconnect();
      if (!views[shown]) show(shown);
    }
  }, { rootMargin: "300px" });
  close.observe(place);
  return () => (views[shown] || show(shown)).search.focus();
}

function addFacts() {
  section("facts", "How it was made", "Options as they were in force.", pair((run) =>
    table("How it was made", [["what", null], ["value", null]],
      [["file", run.file], ...run.facts])));
}

function addAll() {
  const head = document.getElementById("top");
  const name = [...new Set(runs.map((run) => run.name))].join(" and ");
  head.append(element("div", { class: "bar" }, element("div", {}, element("h1", {}, name),
    element("p", { class: "lead" }, two ? titles.join(", ") : runs[0].facts[0].join(" "))),
  themeSwitch()));
  main.append(element("div", { class: two ? "pair two" : "pair" }, runs.map((run, i) =>
    element("div", {}, two ? element("h3", {}, titles[i]) : null, tiles(run)))));
  addDifferences();
  addCauses();
  addMemory();
  addLatency();
  addSizes();
  addNodes();
  addEngines();
  addLeft();
  addSlowest();
  const focusSearch = addGraph();
  addFacts();
  main.append(element("footer", {}, "Made by latchkey report."));
  head.append(element("nav", { "aria-label": "Parts of the page" }, element("ul", {},
    parts.map(([id, title]) => element("li", {}, element("a", { href: `#${id}` }, title))))));
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) &&
      event.target.type !== "radio";
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    focusSearch();
  });
  document.documentElement.dataset.ready = "yes";
}

addAll();
