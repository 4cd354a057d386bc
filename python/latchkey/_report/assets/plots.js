// The plots, by ECharts. Each is made when it comes near the window, and again when colours change.

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`)
  .trim();
const plots = [];
const near = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (isIntersecting) plots.find((plot) => plot.node === target).draw();
  }
}, { rootMargin: "200px" });

// A place for a plot; options() gives what ECharts takes, in the colours of now.
function plot(title, text, options, tall) {
  const node = element("div", { class: tall ? "plot tall" : "plot", role: "img",
    "aria-label": `${title}: ${text}` });
  let chart = null;
  const draw = () => {
    if (!chart) {
      near.unobserve(node);
      chart = echarts.init(node, null, { renderer: "canvas" });
      new ResizeObserver(() => chart.resize()).observe(node);
    }
    chart.setOption(withStyle(options()), { notMerge: true });
    node.dataset.drawn = "yes";
  };
  plots.push({ node, draw, redraw: () => { if (chart) draw(); } });
  near.observe(node);
  return node;
}
const redrawPlots = () => plots.forEach((one) => one.redraw());

function axis(more) {
  return { nameLocation: "middle", nameTextStyle: { color: colour("soft") },
    axisLine: { lineStyle: { color: colour("line") } }, axisTick: { show: false },
    axisLabel: { color: colour("soft"), hideOverlap: true, ...(more.axisLabel || {}) },
    splitLine: { lineStyle: { color: colour("line") } }, ...withoutLabel(more) };
}
const withoutLabel = ({ axisLabel, ...others }) => others;

function withStyle(options) {
  return { animation: false, textStyle: { fontFamily: getComputedStyle(document.body).fontFamily },
    grid: { left: 12, right: 18, top: 14, bottom: 14, containLabel: true },
    ...options,
    // Drawn on the canvas: a tooltip of elements would be made of markup.
    tooltip: { renderMode: "richText", confine: true, backgroundColor: colour("card"),
      borderColor: colour("line"), textStyle: { color: colour("text"), fontSize: 12 },
      ...options.tooltip } };
}

const OWNERS = [["weights", "packed weights"], ["cache", "cache"], ["arenas", "arenas"],
  ["spare", "spare blocks"], ["other", "models, keys, outputs"]];

// The end of an axis that holds `most`, and its step, which is a round number of bytes.
function roundBytes(most) {
  const step = 2 ** Math.ceil(Math.log2(Math.max(1, most) / 6));
  return [Math.ceil(most * 1.02 / step) * step, step];
}

// What the colours of a plot mean.
const legend = (entries) => element("ul", { class: "legend" }, entries.map(([shade, name]) =>
  element("li", {}, element("i", { class: `shade-${shade}` }), name)));

// A limit far above what was used would press all else to the ground.
const limitInSight = (memory, most) =>
  memory.limit_bytes === null || memory.limit_bytes <= 2.5 * most;

// Memory over time by owner, beside the limit where that is in sight.
function memoryPlot(memory, most, longest) {
  const limit = memory.limit_bytes;
  const inSight = limit !== null && limitInSight(memory, most);
  const [top, step] = roundBytes(inSight ? Math.max(most, limit) : most);
  return () => ({
    tooltip: { trigger: "axis", formatter: (points) => [
      timeText(points[0].value[0]), ...points.map((point) =>
        `${point.seriesName}: ${bytesText(point.value[1])}`)].join("\n") },
    xAxis: axis({ type: "value", min: 0, max: longest, splitLine: { show: false },
      axisLabel: { formatter: timeText, showMaxLabel: false } }),
    yAxis: axis({ type: "value", min: 0, max: top, interval: step,
      axisLabel: { formatter: bytesText } }),
    series: OWNERS.map(([owner, name], i) => ({
      name, type: "line", stack: "memory", symbol: "none", sampling: "lttb",
      lineStyle: { width: 1, color: colour(`c${i}`) }, itemStyle: { color: colour(`c${i}`) },
      areaStyle: { color: colour(`c${i}`), opacity: 0.75 },
      data: memory.owners[owner].map((bytes, at) => [memory.at_ns[at], bytes]),
      markLine: inSight && i === 0 ? { silent: true, symbol: "none",
        lineStyle: { color: colour("warn"), type: "dashed", width: 2 },
        label: { formatter: "limit", color: colour("warn"), position: "insideEndTop" },
        data: [{ yAxis: limit }] } : undefined })) });
}

function ownersPlot(memory) {
  return () => ({
    tooltip: { formatter: ({ name, value }) => `${name}: ${bytesText(value)}` },
    xAxis: axis({ type: "value", min: 0, axisLabel: { formatter: bytesText } }),
    yAxis: axis({ type: "category", inverse: true, data: OWNERS.map(([, name]) => name) }),
    series: [{ type: "bar", barMaxWidth: 22, data: OWNERS.map(([owner], i) =>
      ({ value: memory.owners[owner][0], itemStyle: { color: colour(`c${i}`) } })) }] });
}

const LATENCY_GROUPS = [["known size", 0, "c0", 5], ["first of its size", 1, "c1", 7]];

// The ends of both axes for points of latency: whole powers of ten for times.
function latencyRange(points) {
  const ends = (place) => points.reduce(([least, most], point) =>
    [Math.min(least, point[place]), Math.max(most, point[place])], [Infinity, -Infinity]);
  const [least, most] = ends(0), [fastest, slowest] = ends(1);
  const room = least === most ? 1 : 0; // one size is in the middle
  return { least: least - room, most: most + room,
    fastest: 10 ** Math.floor(Math.log10(Math.max(1, fastest))),
    slowest: 10 ** Math.ceil(Math.log10(Math.max(10, slowest))) };
}

// Latency by the dimension that varies most; the first of a size apart from those that found it.
function latencyPlot(requests, range) {
  return () => ({
    tooltip: { formatter: ({ value }) =>
      `${value[2] === null ? "a size that was not kept" : requests.sizes[value[2]].label}\n` +
      timeText(value[1]) },
    grid: { left: 12, right: 18, top: 14, bottom: 30, containLabel: true },
    xAxis: axis({ type: "value", name: requests.axis, nameGap: 28, min: range.least,
      max: range.most, splitLine: { show: false } }),
    yAxis: axis({ type: "log", min: range.fastest, max: range.slowest,
      axisLabel: { formatter: timeText } }),
    series: LATENCY_GROUPS.map(([name, first, shade, size]) => ({
      name, type: "scatter", large: true, largeThreshold: 3000, symbolSize: size,
      itemStyle: { color: colour(shade), opacity: first ? 0.85 : 0.5 },
      data: requests.points.filter((point) => (point[3] === 1) === (first === 1)) })) });
}

function heatPlot(heat) {
  const most = Math.max(...heat.cells.map((cell) => cell[2]));
  return () => ({
    grid: { left: 12, right: 18, top: 34, bottom: 30, containLabel: true },
    tooltip: { formatter: ({ value }) => `${heat.x} ${heat.x_labels[value[0]]}\n` +
      `${heat.y} ${heat.y_labels[value[1]]}\n${countText(value[2])} requests` },
    xAxis: axis({ type: "category", name: heat.x, nameGap: 28, data: heat.x_labels }),
    yAxis: axis({ type: "category", data: heat.y_labels }),
    visualMap: { min: 0, max: most, calculable: false, orient: "horizontal", right: 0,
      top: 0, itemHeight: 90, itemWidth: 10, text: [`${countText(most)} requests`, "0"],
      textStyle: { color: colour("soft") },
      inRange: { color: [0, 1, 2, 3, 4].map((i) => colour(`heat${i}`)) } },
    series: [{ type: "heatmap", data: heat.cells,
      itemStyle: { borderColor: colour("card"), borderWidth: 1 } }] });
}

const FOUND_BOUND = [["heat4", "under 25 % of runs found it bound"], ["heat3", "25 %"],
  ["heat2", "50 %"], ["heat1", "75 % and more"]];

// Nodes by kind of operator: the area is a time, the shade how often a run found the node bound.
function treePlot(graph, field) {
  const kinds = new Map();
  for (const node of graph.nodes) {
    if (!node[field]) continue;
    if (!kinds.has(node.op)) kinds.set(node.op, []);
    kinds.get(node.op).push(node);
  }
  const share = (node) => node.hits / Math.max(1, node.hits + node.binds);
  return () => {
    const shades = FOUND_BOUND.map(([name]) => colour(name));
    const shade = (node) => shades[Math.min(3, Math.floor(share(node) * 4))];
    return {
      tooltip: { formatter: ({ data }) => !data.node ? `${data.name}: ${timeText(data.value)}` :
        `${data.node.op} ${data.node.name || data.node.output}\n${timeText(data.value)}\n` +
        `bound ${countText(data.node.binds)} times, found bound by ` +
        `${countText(data.node.hits)} runs` },
      series: [{ type: "treemap", roam: false, nodeClick: false, left: 0, right: 0, top: 4,
        bottom: 4, breadcrumb: { show: false }, upperLabel: { show: true, height: 22,
          color: colour("text"), overflow: "truncate" },
        itemStyle: { borderColor: colour("card"), gapWidth: 1, borderWidth: 1 },
        levels: [{ itemStyle: { gapWidth: 4, borderWidth: 0 }, upperLabel: { show: false } },
          { itemStyle: { borderColor: colour("line"), borderWidth: 1, gapWidth: 1 } }],
        label: { fontSize: 11, overflow: "truncate" },
        data: [...kinds].map(([op, nodes]) => ({
          name: `${op} (${nodes.length})`, itemStyle: { color: colour("line") },
          value: nodes.reduce((sum, node) => sum + node[field], 0),
          children: nodes.map((node) => ({
            name: node.name || node.output, value: node[field], node,
            label: { color: colour(share(node) < 0.5 ? "heat-text-strong" : "heat-text") },
            itemStyle: { color: shade(node) } })) })) }] };
  };
}
