"use strict";
// Long tables can be filtered and sorted; without this script they can be read all the same.
for (const table of document.querySelectorAll("table[data-filter]")) {
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const box = document.createElement("label");
  const input = document.createElement("input");
  const told = document.createElement("output");
  input.type = "search";
  input.placeholder = "Filter";
  input.setAttribute("aria-label", "Filter: " + table.caption.textContent);
  box.className = "filter";
  box.append(input, told);
  table.parentElement.before(box);
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, place) => {
      row.hidden = !words.every((word) => texts[place].includes(word));
      shown += !row.hidden;
    });
    told.textContent = words.length ? shown.toLocaleString("en") + " of " + rows.length.toLocaleString("en") : "";
  });
  Array.from(table.tHead.rows[0].cells).forEach((head, place) => {
    const button = document.createElement("button");
    const number = head.classList.contains("n");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const falls = head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") === "ascending" : number;
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", falls ? "descending" : "ascending");
      const key = (row) => row.cells[place].textContent;
      const value = (row) => parseFloat(key(row).replace(/,/g, "")) || 0;
      const keyed = rows.map((row) => [number ? value(row) : key(row), row]);
      keyed.sort(([one], [other]) => (number ? one - other : one < other ? -1 : one > other ? 1 : 0));
      body.append(...(falls ? keyed.reverse() : keyed).map(([, row]) => row));
    });
  });
}
