// The searchable tables: rows are drawn as they are asked for, so that a table of half a million stays light.

const STEP = 200; // rows drawn at a time
const LONG_CELL = 30; // a table with longer texts shows the cells of a row below each other on a telephone
const FEW = 24; // rows that are shown in full, without a scroll bar of their own

const make = (tag, className, text) => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
};

const reader = (column) => (Array.isArray(column) ? (k) => column[k] : (k) => column.d[column.i[k]]);

// How a value reads to a search: a path color without the class of its swatch.
const searchable = (value, kind) => {
  if (value === null || value === undefined) return "";
  const shown = String(value);
  return (kind === "color" ? shown.slice(shown.indexOf(" ") + 1) : shown).toLowerCase();
};

// Whether a text holds a word: the name of a device as a whole (spine1 is not spine10), anything else as a part.
const wanted = (word) => {
  if (!deviceNames().has(word)) return (text) => text.includes(word);
  const whole = new RegExp(`(?<![\\w.-])${word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}(?![\\w.-])`);
  return (text) => text.includes(word) && whole.test(text);
};

const plainTable = (table) => {
  const read = table.data.map(reader);
  const row = (k) => read.map((get) => get(k));
  const text = (k) => row(k).map((value, place) => searchable(value, table.columns[place].kind)).join(" ");
  return {
    columns: table.columns,
    rows: table.rows,
    row,
    text,
    find: (words) => {
      const found = [];
      for (let k = 0; k < table.rows; k++) {
        const line = text(k);
        if (words.every((has) => has(line))) found.push(k);
      }
      return found;
    },
  };
};

// A row per address: NIC facts once per NIC, prefixes once per segment, put together here.
const addressTable = (table) => {
  const nics = plainTable(table.nics);
  const offsets = [];
  let total = 0;
  for (let n = 0; n < nics.rows; n++) {
    offsets.push(total);
    const host = table.hosts[n];
    total += typeof host === "string" ? table.segments[table.segment[n]].length : host.length;
  }
  const nicOf = (k) => {
    let low = 0;
    let high = nics.rows - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (offsets[middle] <= k) low = middle;
      else high = middle - 1;
    }
    return low;
  };
  const own = (n) => {
    const host = table.hosts[n];
    if (typeof host !== "string") return host.map(([color, address, length, origin]) => [color, `${address}/${length}`, origin]);
    return table.segments[table.segment[n]].map(([color, stem, length]) => [color, `${stem}${host}/${length}`, "slaac"]);
  };
  let last = -1;
  let facts = [];
  let addresses = [];
  return {
    columns: [
      { title: "Path color", kind: "color" },
      { title: "Address", kind: "mono" },
      { title: "Origin", kind: "text" },
      ...nics.columns,
    ],
    order: [3, 4, 0, 1, 2],
    rows: total,
    row: (k) => {
      const n = nicOf(k);
      if (n !== last) [last, facts, addresses] = [n, nics.row(n), own(n)];
      return [...addresses[k - offsets[n]], ...facts];
    },
    // Words that a NIC's facts hold are looked for once per NIC, the others in each of its addresses.
    find: (words) => {
      const found = [];
      for (let n = 0; n < nics.rows; n++) {
        const line = nics.text(n);
        const rest = words.filter((has) => !has(line));
        own(n).forEach(([color, address, origin], place) => {
          const text = rest.length ? `${searchable(color, "color")} ${address} ${origin}` : "";
          if (rest.every((has) => has(text))) found.push(offsets[n] + place);
        });
      }
      return found;
    },
  };
};

const cell = (value, kind) => {
  const node = make("td", kind);
  const shown = value === null || value === undefined ? "" : String(value);
  if (kind === "severity") {
    node.append(make("span", shown, shown === "info" ? "note" : shown));
  } else if (kind === "color" && shown) {
    const cut = shown.indexOf(" ");
    node.append(make("span", `swatch ${shown.slice(0, cut)}`), shown.slice(cut + 1));
  } else if (kind === "link" && shown) {
    const link = make("a", "", "open");
    link.title = shown;
    link.href = encodeURI(shown);
    node.append(link);
  } else if (kind === "text" && shown.split("`").length % 2 && shown.includes("`")) {
    node.append(...shown.split("`").map((part, place) => (place % 2 ? make("code", "", part) : part)));
  } else {
    node.textContent = shown;
  }
  return node;
};

// What rows are sorted by: numbers by their value, severities by weight, all else as text in which numbers count.
const collator = new Intl.Collator("en", { numeric: true });
const MANY = 20000; // distinct values from which on plain comparison is taken: it is many times faster
const SEVERITIES = ["error", "warning", "info"];

const sortKey = (value, kind) => {
  if (kind === "severity") return SEVERITIES.indexOf(value);
  if (kind !== "number") return searchable(value, kind);
  const number = parseFloat(String(value ?? "").replace(/[^\d.-]/g, ""));
  return Number.isNaN(number) ? -1 : number;
};

const sortedRows = (table, rows, place, descending) => {
  const { kind } = table.columns[place];
  const keys = new Map(rows.map((k) => [k, sortKey(table.row(k)[place], kind)]));
  const distinct = [...new Set(keys.values())];
  const byText = typeof distinct[0] === "string" && distinct.length < MANY;
  distinct.sort(byText ? collator.compare : (a, b) => (a < b ? -1 : Number(a > b)));
  const ranks = new Map(distinct.map((key, rank) => [key, rank]));
  const sign = descending ? -1 : 1;
  return [...rows].sort((a, b) => sign * (ranks.get(keys.get(a)) - ranks.get(keys.get(b))) || a - b);
};

const searches = {};

const mount = (host, table) => {
  const count = table.rows;
  const order = table.order || [];
  const places = [...order, ...table.columns.keys()].filter((place, at, all) => all.indexOf(place) === at);
  const bar = make("div", "search");
  const input = make("input");
  input.type = "search";
  input.placeholder = "Filter: words that a row must contain";
  input.setAttribute("aria-label", "Filter rows");
  const status = make("span");
  status.setAttribute("role", "status");
  if (count > 8) bar.append(input);
  bar.append(status);
  const scroll = make("div", count > FEW ? "scroll long" : "scroll");
  const folds = Array.from({ length: Math.min(count, STEP) }, (_, k) => table.row(k)).some((values) =>
    values.some((value, place) => table.columns[place].kind === "text" && String(value ?? "").length > LONG_CELL),
  );
  scroll.tabIndex = 0; // so that the keyboard can scroll it
  const grid = make("table", folds ? "folds" : "");
  const head = make("tr");
  const titles = new Map();
  for (const place of places) {
    const title = make("th", table.columns[place].kind);
    const button = make("button", "sort", table.columns[place].title);
    button.type = "button";
    button.title = "Sort";
    button.addEventListener("click", () => sortBy(place));
    title.scope = "col";
    title.append(button);
    head.append(title);
    titles.set(place, title);
  }
  const body = make("tbody");
  const top = make("thead");
  top.append(head);
  grid.append(top, body);
  scroll.append(grid);
  const more = make("button", "more", "");
  more.type = "button";
  host.replaceChildren(bar, scroll, more);

  let found = null; // indexes of matching rows, in order; null: every row as it comes
  let by = null; // the column that rows are sorted by; null: as they come
  let down = false;
  let shown = 0;
  const total = () => (found === null ? count : found.length);
  const draw = () => {
    const end = Math.min(total(), shown + STEP);
    const rows = document.createDocumentFragment();
    for (; shown < end; shown++) {
      const values = table.row(found === null ? shown : found[shown]);
      const line = make("tr");
      for (const place of places) {
        const one = cell(values[place], table.columns[place].kind);
        if (folds || host.dataset.table === "findings") one.dataset.title = table.columns[place].title;
        line.append(one);
      }
      rows.append(line);
    }
    body.append(rows);
    const all = count.toLocaleString("en");
    const part = total().toLocaleString("en");
    const matched = found === null || found.length === count ? `${all} ${count === 1 ? "row" : "rows"}` : `${part} of ${all} rows match`;
    status.textContent = shown < total() ? `${matched}, first ${shown.toLocaleString("en")} shown` : matched;
    more.hidden = shown >= total();
    more.textContent = `Show ${Math.min(STEP, total() - shown)} more`;
  };
  const search = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    found = words.length ? table.find(words.map(wanted)) : null;
    if (by !== null) found = sortedRows(table, found ?? Array.from({ length: count }, (_, k) => k), by, down);
    body.replaceChildren();
    shown = 0;
    scroll.scrollTop = 0;
    draw();
  };
  // First click: ascending; second: descending; third: as rows came.
  const sortBy = (place) => {
    [by, down] = by !== place ? [place, false] : down ? [null, false] : [place, true];
    for (const [one, title] of titles) {
      if (one === by) title.setAttribute("aria-sort", down ? "descending" : "ascending");
      else title.removeAttribute("aria-sort");
    }
    search();
  };
  let timer = 0;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(search, 120);
  });
  more.addEventListener("click", draw);
  searches[host.dataset.table] = (words) => {
    input.value = words;
    search();
  };
  draw();
};
