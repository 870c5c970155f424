// The ways of queue pairs between two NICs: followed through the forwarding tables that the control plane left, as
// `railweave paths` does, and drawn.

const MOST_HOPS = 32;
const MOST_PAIRS = 64;
const CROWD = 16; // most devices beside each other that are drawn one by one; more are one box with their number

// The entries of a list of [index, number of equal ones].
const unfolded = (joined) => joined.flatMap(([index, count]) => Array.from({ length: count }, () => index));

// Reads tables by name, which hold the index of a row for each segment: what the row has at a place.
const segmentReader = (rows, tables) => {
  const known = new Map();
  return (name, segment, place) => {
    if (!known.has(name)) known.set(name, unfolded(tables[name]));
    const row = rows[known.get(name)[segment]];
    return Array.isArray(row) ? row[place] : row;
  };
};

const groupOf = segmentReader(forwarding.rows, forwarding.devices);

// The links (places in the cabling) that a device sends a segment's prefix of a place to.
const nextHops = (device, segment, place) => {
  const group = groupOf(device, segment, place);
  return group === undefined || group < 0 ? [] : forwarding.groups[group];
};

let nicKeys = null;
// The tenant and the layer-2 network of a NIC; both are empty in a network without tenants.
const keyOf = (nic) => {
  if (!forwarding.tenants) return ["", ""];
  nicKeys ??= unfolded(forwarding.tenants.nics);
  return forwarding.tenants.keys[nicKeys[nic.place]];
};

const heldBy = forwarding.tenants && segmentReader(forwarding.tenants.rows, forwarding.tenants.held);
// Whether the table of the source's tenant on its leaf holds the target's prefix of a place.
const holds = (source, target, place) => {
  if (!forwarding.tenants) return true;
  const [[tenant, network], other] = [keyOf(source), keyOf(target)];
  if (network && tenant === other[0] && network === other[1]) return true; // bridged, not routed
  return Boolean(heldBy(`${source.leaf}/${tenant}`, target.segment, place));
};

let serverCable = null; // "server:nic" to its cable
const cableOfNic = (nic) => {
  serverCable ??= new Map(cabling().filter((one) => !one.uplink).map((one) => [`${one.a}:${one.aPort}`, one]));
  return serverCable.get(`${nic.server}:${nic.name}`);
};

const absent = new Set(forwarding.absent); // servers' cables, by place, that are absent by `status:` in the fabric file

// Hops of one queue pair: lists of {cable, share, from, to}; none where the destination cannot be reached.
const follow = (source, target, place) => {
  const first = cableOfNic(source);
  const last = cableOfNic(target);
  if (!first || !last || source === target || [first, last].some(({ place: k }) => absent.has(k))) return [];
  if (!holds(source, target, place)) return [];
  const hops = [[{ cable: first, share: 1, from: first.a, to: first.b }]];
  let at = new Map([[first.b, 1]]);
  while (at.size !== 1 || !at.has(last.b)) {
    const links = new Map();
    const following = new Map();
    for (const [device, share] of at) {
      const group = nextHops(device, target.segment, place);
      if (!group.length) return [];
      for (const k of group) {
        const cable = cabling()[k];
        const far = cable.a === device ? cable.b : cable.a;
        const part = share / group.length;
        const link = links.get(k) || { cable, share: 0, from: device, to: far };
        link.share += part;
        links.set(k, link);
        following.set(far, (following.get(far) || 0) + part);
      }
    }
    hops.push([...links.values()]);
    at = following;
    if (hops.length > MOST_HOPS) return [];
  }
  hops.push([{ cable: last, share: 1, from: last.b, to: last.a }]);
  return hops;
};

const familyOf = (address) => (address.includes(":") ? "ipv6" : "ipv4");

// The addresses of a NIC that queue pairs use, with their places among all: those of a family, all where it has none of it.
const usedAddresses = (nic, family) => {
  const every = addressesOf(nic).map(([color, address], place) => ({ color, address, place }));
  const own = every.filter(({ address }) => familyOf(address) === family);
  return own.length ? own : every;
};

// Queue pair i takes address i of the family that is chosen, modulo their number, and the destination's address of the same path color.
const queuePairs = (source, target, count) => {
  const family = pathField("family")?.value ?? familyOf(addressesOf(source)[0][1]);
  const ours = usedAddresses(source, family);
  const theirs = usedAddresses(target, family);
  return Array.from({ length: count }, (_, qp) => {
    const { color, address: from } = ours[qp % ours.length];
    const { address: to, place } = theirs.find((one) => one.color === color) ?? theirs[qp % theirs.length];
    return { qp, color, from, to, hops: familyOf(from) === familyOf(to) ? follow(source, target, place) : [] };
  });
};

const share = (value) => `${Number((100 * value).toFixed(1))} %`;

// Whether all links of a hop join the same two devices: the path is then pinned to its switches, if not to a link.
const parallel = (hop) => hop.every((link) => link.from === hop[0].from && link.to === hop[0].to);

const hopText = (hop) => {
  const [one] = hop;
  if (hop.length === 1) {
    const [near, far] = one.from === one.cable.a ? [one.cable.aPort, one.cable.bPort] : [one.cable.bPort, one.cable.aPort];
    return `${one.from} ${near} → ${one.to} ${far}`;
  }
  const ends = (end) => {
    const names = new Set(hop.map((link) => link[end]));
    return names.size === 1 ? one[end] : `${names.size} switches`;
  };
  const shares = [...new Set(hop.map((link) => share(link.share)))];
  return `${ends("from")} → ${ends("to")}: one of ${hop.length} ${parallel(hop) ? "parallel links" : "links"}, ${shares.join(" or ")} each`;
};

const pathTable = (pairs) => {
  const grid = make("table", "folds");
  const head = make("tr");
  const titles = ["Queue pair", "Path color", "From address", "To address", "Links, in order"];
  for (const title of titles) head.append(make("th", "", title));
  const body = make("tbody");
  for (const pair of pairs) {
    const line = make("tr");
    line.append(cell(pair.qp, "number"), cell(pair.color, "color"), cell(pair.from, "mono"), cell(pair.to, "mono"));
    const links = make("td", "mono");
    if (!pair.hops.length) links.textContent = "not reachable";
    pair.hops.forEach((hop) => links.append(make("div", "", hopText(hop))));
    line.append(links);
    [...line.children].forEach((one, place) => (one.dataset.title = titles[place]));
    body.append(line);
  }
  const top = make("thead");
  top.append(head);
  grid.append(top, body);
  return grid;
};

// Devices in columns, hop by hop; a line per queue pair and link, faint where it is only one of several.
const pathDrawing = (pairs) => {
  const levels = [];
  const level = (place, device) => {
    levels[place] ??= [];
    if (!levels[place].includes(device)) levels[place].push(device);
  };
  for (const { hops } of pairs) {
    hops.forEach((hop, place) => {
      for (const link of hop) {
        level(place, link.from);
        level(place + 1, link.to);
      }
    });
  }
  if (!levels.length) return null;
  const order = new Map(switches.map((one, place) => [one.name, place]));
  const crowds = levels.map((devices) => (devices.length > CROWD ? `${devices.length} devices` : null));
  const drawn = (place, device) => crowds[place] ?? device;
  levels.forEach((devices, place) => {
    if (crowds[place]) levels[place] = [crowds[place]];
    else devices.sort((a, b) => (order.get(a) ?? 0) - (order.get(b) ?? 0));
  });
  const most = Math.max(...levels.map((devices) => devices.length));
  const pitch = 30;
  const height = Math.max(90, Math.min(pairs.length * 5 + 40, 200), most * pitch + 16);
  const wide = Math.max(...levels.flat().map((name) => name.length)) * 7.4 + 24;
  const room = Math.min(VIEW.width, pathResult.clientWidth || VIEW.width);
  const gap = Math.max(44, (room - levels.length * wide) / Math.max(1, levels.length - 1));
  const width = levels.length * wide + (levels.length - 1) * gap;
  const y = (place, device) => {
    const devices = levels[place];
    return ((devices.indexOf(device) + 0.5) * height) / devices.length;
  };
  const svg = shape("svg", { class: "rw paths", "aria-label": "The links of each queue pair", viewBox: `-6 0 ${width + 12} ${height}`, role: "img", style: `--natural:${width}px` });
  const tall = (place) => (levels[place].length > 1 ? 24 : Math.max(24, Math.min(height - 4, pairs.length * 5 + 10)));
  // Queue pairs that cross a device leave its box side by side, never beyond its edge: a line ends at its own device.
  const crossing = new Map();
  for (const { qp, hops } of pairs) {
    hops.forEach((hop, place) => {
      for (const link of hop) {
        for (const [at, device] of [[place, drawn(place, link.from)], [place + 1, drawn(place + 1, link.to)]]) {
          const key = `${at}/${device}`;
          if (!crossing.has(key)) crossing.set(key, []);
          if (!crossing.get(key).includes(qp)) crossing.get(key).push(qp);
        }
      }
    });
  }
  const shift = (place, device, qp) => {
    const there = crossing.get(`${place}/${device}`);
    return (there.indexOf(qp) - (there.length - 1) / 2) * Math.min(5, (tall(place) - 4) / there.length);
  };
  for (const { qp, color, hops } of pairs) {
    const { css } = colorOf(color);
    hops.forEach((hop, place) => {
      const x1 = place * (wide + gap) + wide;
      const x2 = x1 + gap;
      for (const link of hop) {
        const from = drawn(place, link.from);
        const to = drawn(place + 1, link.to);
        const a = y(place, from) + shift(place, from, qp);
        const b = y(place + 1, to) + shift(place + 1, to, qp);
        const d = `M${x1} ${a.toFixed(1)}C${x1 + gap / 2} ${a.toFixed(1)} ${x2 - gap / 2} ${b.toFixed(1)} ${x2} ${b.toFixed(1)}`;
        const about = `queue pair ${qp}\n${link.cable.name}${hop.length > 1 ? `\n${share(link.share)} of it, by hash or load` : ""}`;
        svg.append(
          shape(
            "g",
            { class: `cable way${hop.length > 1 ? " choice" : ""}`, "data-from": from, "data-to": to },
            titled(about),
            shape("path", { d, class: `${css} line` }),
            shape("path", { d, class: "hit" }),
          ),
        );
      }
    });
  }
  levels.forEach((devices, place) => {
    for (const device of devices) {
      const x = place * (wide + gap);
      const middle = y(place, device);
      svg.append(
        shape("rect", { x: x + 1, y: middle - tall(place) / 2, width: wide - 2, height: tall(place), rx: 6, class: "box", "data-device": device }),
        label(device, { x: x + wide / 2, y: middle + 4, class: "middle name" }),
      );
    }
  });
  return svg;
};

const pathForm = document.getElementById("path-form");
const pathField = (name) => document.getElementById(`path-${name}`);
const pathResult = document.getElementById("path-result");

const suggest = (field) => {
  const words = field.value.toLowerCase().split(/[\s:]+/).filter(Boolean);
  const found = [];
  for (const name of nicNamed.keys()) {
    if (words.every((word) => name.toLowerCase().includes(word))) found.push(name);
    if (found.length === 20) break;
  }
  document.getElementById("path-nics").replaceChildren(
    ...found.map((name) => {
      const option = make("option");
      option.value = name;
      return option;
    }),
  );
};

const summary = (source, target, pairs) => {
  const reached = pairs.filter((one) => one.hops.length);
  const middle = new Set(reached.flatMap(({ hops }) => hops.slice(1, -1).flat().map((link) => link.cable.place)));
  const held = reached.filter(({ hops }) => hops.every(parallel));
  const pinned = held.filter(({ hops }) => hops.every((hop) => hop.length === 1)).length;
  if (!reached.length && source === target) return "A NIC needs no path to itself: choose another.";
  const [[ours], [theirs]] = [keyOf(source), keyOf(target)];
  if (!reached.length && ours !== theirs) {
    return `${source.server}:${source.name} belongs to ${ours || "no tenant"}, ${target.server}:${target.name} to ${theirs || "no tenant"}: there is no path between them.`;
  }
  if (!reached.length) return "There is no path: see the findings.";
  if (source.leaf === target.leaf) return `Both NICs are on ${source.leaf}: no uplink is crossed.`;
  const each = pairs.length === 1 ? "on a path" : "each on a path";
  let fixed = `${held.length} of them pinned, the others spread by hash or load`;
  if (pinned === pairs.length) fixed = `${each} of its own, which no switch changes while its links are up`;
  else if (held.length === pairs.length) fixed = `${pairs.length === 1 ? "pinned" : "each pinned"} to its switches by its path color; between two of them, parallel links share its packets by hash or load`;
  const one = pairs.length === 1;
  return `${pairs.length} queue ${one ? "pair" : "pairs"} over ${middle.size} switch-to-switch ${middle.size === 1 ? "link" : "links"}, ${fixed}.`;
};

// Show the paths that the fields ask for; `inPicture` lights them in the topology too.
const showPaths = (inPicture) => {
  const [source, target] = ["source", "target"].map((name) => nicNamed.get(pathField(name).value.trim()));
  const count = Number(pathField("count").value);
  const note = make("p", "about");
  pathResult.replaceChildren(note);
  const unknown = ["source", "target"].map((name) => pathField(name).value.trim()).filter((name) => !nicNamed.has(name));
  if (unknown.length) {
    note.textContent = `There is no NIC ${unknown.map((name) => `"${name}"`).join(" and no ")}: give SERVER:NIC, such as ${nicNamed.keys().next().value}.`;
    return;
  }
  if (!Number.isInteger(count) || count < 1 || count > MOST_PAIRS) {
    note.textContent = `Give 1 to ${MOST_PAIRS} queue pairs.`;
    return;
  }
  if (source.fabric !== target.fabric) {
    note.textContent = `${source.server} ${source.name} is on fabric ${source.fabric}, the other on ${target.fabric}.`;
    return;
  }
  const pairs = queuePairs(source, target, count);
  note.textContent = summary(source, target, pairs);
  const drawing = pathDrawing(pairs);
  if (drawing) {
    const frame = make("div", "picture");
    frame.tabIndex = 0;
    frame.append(drawing);
    pathResult.append(frame);
  }
  const scroll = make("div", "table scroll");
  scroll.append(pathTable(pairs));
  pathResult.append(scroll);
  if (!inPicture || !drawing) return;
  const links = pairs.flatMap(({ hops }) => hops.flat());
  const shown = {
    title: `${source.server} ${source.name} to ${target.server} ${target.name}, ${count} queue ${count === 1 ? "pair" : "pairs"}`,
    links: new Set(links.map((one) => one.cable.place)),
    devices: new Set(links.flatMap((one) => [one.from, one.to])),
    stripes: new Set([source, target].filter(() => source.leaf !== target.leaf).map((nic) => `${nic.fabric}/${stripeOf.get(nic.leaf)}`)),
    colors: new Set(pairs.map((one) => colorOf(one.color).id).filter(Boolean)),
  };
  kept = { id: "paths", show: () => focusPaths(shown) };
  restore();
};
const stripeOf = new Map(switches.map((one) => [one.name, one.stripe]));

const choosePath = (field, nic) => {
  pathField(field).value = nic;
  showPaths(true);
  document.getElementById("paths").scrollIntoView();
};

if (pathForm) {
  for (const name of ["source", "target"]) {
    pathField(name).addEventListener("input", () => suggest(pathField(name)));
    pathField(name).addEventListener("focus", () => suggest(pathField(name)));
    pathField(name).addEventListener("change", () => showPaths(true));
  }
  pathField("count").addEventListener("input", () => showPaths(true));
  pathField("family")?.addEventListener("change", () => showPaths(true));
  pathForm.addEventListener("submit", (event) => {
    event.preventDefault();
    showPaths(true);
  });
}
