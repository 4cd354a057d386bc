// Numbers as text, and elements. Text of a model is only ever set as text, never as markup.
"use strict";

const UNITS = { time: [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]],
  bytes: [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]] };

function inUnits(value, units) {
  if (value === null || value === undefined) return "\u2013";
  const [factor, unit] = units.find(([least]) => value >= least) || units[units.length - 1];
  const number = value / factor;
  return (Number.isInteger(number) || number >= 1000 ? String(Math.round(number)) :
    String(Number(number.toPrecision(3)))) + " " + unit;
}
const timeText = (ns) => inUnits(ns, UNITS.time);
const bytesText = (bytes) => inUnits(bytes, UNITS.bytes);
const countText = (count) =>
  count === null || count === undefined ? "\u2013" : count.toLocaleString("en-US");
const percentText = (part) =>
  `${Number((100 * part).toFixed(part < 0.1 || part > 0.99 ? 1 : 0))} %`;
// [[name, part]...]: the parts are told where there are several.
const enginesText = (engines) => engines.map(([name, part]) =>
  engines.length > 1 ? `${name} ${percentText(part)}` : name).join(", ");
const shortened = (text, most) => text.length <= most ? text : text.slice(0, most - 1) + "\u2026";

function attach(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false) {
      node.setAttribute(name, value === true ? "" : value);
    }
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}
const element = (tag, attributes, ...children) =>
  attach(document.createElement(tag), attributes, children);
const drawing = (tag, attributes, ...children) =>
  attach(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
