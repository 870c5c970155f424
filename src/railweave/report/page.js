"use strict";
(() => {
  const STEP = 200; // rows drawn at a time, so that a table of half a million stays light

  const make = (tag, className, text) => {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  };

  // ---- Tables ---------------------------------------------------------------------------------------------------
  const reader = (column) => (Array.isArray(column) ? (k) => column[k] : (k) => column.d[column.i[k]]);

  const plainTable = (table) => {
    const read = table.data.map(reader);
    return { columns: table.columns, rows: table.rows, row: (k) => read.map((get) => get(k)) };
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
    let last = -1;
    let facts = [];
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
        if (n !== last) {
          last = n;
          facts = nics.row(n);
        }
        const host = table.hosts[n];
        const place = k - offsets[n];
        if (typeof host === "string") {
          const [color, stem, length] = table.segments[table.segment[n]][place];
          return [color, `${stem}${host}/${length}`, "slaac", ...facts];
        }
        const [color, address, length, origin] = host[place];
        return [color, `${address}/${length}`, origin, ...facts];
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
    } else {
      node.textContent = shown;
    }
    return node;
  };

  const searchable = (value, kind) => {
    if (value === null || value === undefined) return "";
    const shown = String(value);
    return kind === "color" ? shown.slice(shown.indexOf(" ") + 1) : shown;
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
    const scroll = make("div", "scroll");
    const grid = make("table");
    const head = make("tr");
    for (const place of places) {
      const title = make("th", table.columns[place].kind, table.columns[place].title);
      title.scope = "col";
      head.append(title);
    }
    const body = make("tbody");
    const top = make("thead");
    top.append(head);
    grid.append(top, body);
    scroll.append(grid);
    const more = make("button", "more", "");
    more.type = "button";
    host.replaceChildren(bar, scroll, more);

    let found = null; // indexes of matching rows; null: every row
    let shown = 0;
    const total = () => (found === null ? count : found.length);
    const draw = () => {
      const end = Math.min(total(), shown + STEP);
      const rows = document.createDocumentFragment();
      for (; shown < end; shown++) {
        const values = table.row(found === null ? shown : found[shown]);
        const line = make("tr");
        for (const place of places) line.append(cell(values[place], table.columns[place].kind));
        rows.append(line);
      }
      body.append(rows);
      const all = count.toLocaleString("en");
      const part = total().toLocaleString("en");
      const matched = found === null ? `${all} ${count === 1 ? "row" : "rows"}` : `${part} of ${all} rows match`;
      status.textContent = shown < total() ? `${matched}, first ${shown.toLocaleString("en")} shown` : matched;
      more.hidden = shown >= total();
      more.textContent = `Show ${Math.min(STEP, total() - shown)} more`;
    };
    const search = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      found = null;
      if (words.length) {
        found = [];
        for (let k = 0; k < count; k++) {
          const values = table.row(k);
          const text = places.map((p) => searchable(values[p], table.columns[p].kind)).join(" ").toLowerCase();
          if (words.every((word) => text.includes(word))) found.push(k);
        }
      }
      body.replaceChildren();
      shown = 0;
      scroll.scrollTop = 0;
      draw();
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

  const tables = {};
  for (const table of JSON.parse(document.getElementById("tables").textContent)) {
    tables[table.id] = table.nics ? addressTable(table) : plainTable(table);
  }
  for (const host of document.querySelectorAll("[data-table]")) mount(host, tables[host.dataset.table]);

  // ---- Picture --------------------------------------------------------------------------------------------------
  const picture = document.getElementById("picture");
  const svg = picture.querySelector("svg");
  const status = document.getElementById("selection");
  const hint = status.textContent;
  const cables = [...svg.querySelectorAll(".cable")];
  const devices = [...svg.querySelectorAll(".device")];
  const keys = [...svg.querySelectorAll(".legend-entry")];
  const neighbors = new Map();
  for (const cable of cables) {
    for (const name of [cable.dataset.a, cable.dataset.b]) {
      if (!neighbors.has(name)) neighbors.set(name, []);
      neighbors.get(name).push(cable);
    }
  }
  let kept = null;

  const clear = () => {
    svg.classList.remove("focus");
    for (const node of svg.querySelectorAll(".on,.near,.off")) node.classList.remove("on", "near", "off");
    status.textContent = hint;
  };

  const light = (chosen, on) => {
    svg.classList.add("focus");
    const near = new Set(on);
    for (const cable of chosen) {
      cable.classList.add("on");
      near.add(cable.dataset.a).add(cable.dataset.b);
    }
    for (const device of devices) {
      device.classList.toggle("near", near.has(device.dataset.device));
      device.classList.toggle("on", on.includes(device.dataset.device));
    }
  };

  const say = (name, count, word, filter) => {
    const label = make("b", "", name);
    status.replaceChildren(label, `: ${count} ${word}${count === 1 ? "" : "s"} `);
    if (filter) {
      const jump = make("button", "link", "show in cabling");
      jump.type = "button";
      jump.addEventListener("click", () => {
        searches.cables(filter);
        document.getElementById("cables").scrollIntoView();
      });
      status.append(jump);
    }
  };

  const focusDevice = (name) => {
    clear();
    const found = neighbors.get(name) || [];
    light(found, [name]);
    const grouped = found.some((cable) => cable.classList.contains("bundle"));
    say(name, found.length, grouped ? "bundle" : "cable", grouped ? null : name);
  };

  const focusColor = (color) => {
    clear();
    const found = cables.filter((one) => one.dataset.color === color || one.querySelector(`[data-color="${CSS.escape(color)}"]`));
    light(found, []);
    for (const bundle of found.filter((one) => one.classList.contains("bundle"))) {
      for (const line of bundle.querySelectorAll(".line")) line.classList.toggle("off", line.dataset.color !== color);
    }
    let label = color;
    for (const key of keys) {
      const same = key.dataset.color === color;
      key.classList.add(same ? "on" : "off");
      if (same) label = key.querySelector(".name").textContent;
    }
    const bundled = found.some((one) => one.classList.contains("bundle"));
    say(`path color ${label}`, found.length, bundled ? "bundle" : "cable", bundled ? null : label);
  };

  const restore = () => {
    if (kept === null) clear();
    else kept.show();
  };
  const keep = (id, show) => {
    kept = kept !== null && kept.id === id ? null : { id, show };
    restore();
  };
  for (const device of devices) {
    const name = device.dataset.device;
    device.addEventListener("mouseenter", () => focusDevice(name));
    device.addEventListener("mouseleave", restore);
    device.addEventListener("click", () => keep(name, () => focusDevice(name)));
  }
  for (const key of keys) {
    const color = key.dataset.color;
    const choose = () => keep(`color ${color}`, () => focusColor(color));
    key.setAttribute("tabindex", "0");
    key.setAttribute("role", "button");
    key.addEventListener("click", choose);
    key.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        choose();
      }
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      kept = null;
      clear();
    }
  });
  const zoom = document.getElementById("zoom");
  zoom.addEventListener("click", () => {
    const actual = picture.classList.toggle("actual");
    zoom.setAttribute("aria-pressed", String(actual));
    zoom.textContent = actual ? "Fit to page" : "Actual size";
  });

  // ---- Navigation: the section in view is marked ----------------------------------------------------------------
  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
  const watch = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (entry.isIntersecting) for (const [id, link] of links) link.classList.toggle("here", id === entry.target.id);
      }
    },
    { rootMargin: "-60px 0px -75% 0px" },
  );
  for (const id of links.keys()) watch.observe(document.getElementById(id));
})();
