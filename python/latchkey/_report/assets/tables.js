// The tables behind the plots: for reading aloud, for copying, and for whoever prefers numbers.

const MOST_ROWS = 5000;

// columns: [title, text of a value and its row]; without the latter a column is text. The values
// themselves are in data-value.
function table(caption, columns, rows) {
  if (!rows.length) return element("p", {}, "There is nothing to list.");
  const head = columns.map(([title, show]) =>
    element("th", { scope: "col", class: show ? "number" : null }, title));
  const cell = (value, show, row) => show ?
    element("td", { class: "number", "data-value": JSON.stringify(value) }, show(value, row)) :
    element("td", { class: "text" }, String(value));
  const body = rows.slice(0, MOST_ROWS).map((row) =>
    element("tr", {}, columns.map(([, show], i) => cell(row[i], show, row))));
  const more = rows.length - MOST_ROWS;
  return element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    element("table", {}, element("thead", {}, element("tr", {}, head)), element("tbody", {}, body)),
    more > 0 ? element("p", {}, `and ${countText(more)} more, which the file has`) : null);
}

// A table that is made when it is opened: most never are.
function foldedTable(caption, columns, makeRows, summary = "As a table") {
  const folded = element("details", { "data-table": caption },
    element("summary", {}, summary));
  folded.addEventListener("toggle", () => {
    if (folded.open && folded.childElementCount === 1) {
      folded.append(table(caption, columns, makeRows()));
    }
  });
  return folded;
}
