// A stripe opened out of a large picture: its leaves by rail, its uplinks to every spine, its servers NIC by NIC.

const SVG = "http://www.w3.org/2000/svg";
const shape = (tag, attributes, ...children) => {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) node.setAttribute(name, value);
  node.append(...children);
  return node;
};
const label = (text, attributes) => shape("text", attributes, text);
const titled = (text) => shape("title", {}, text);

const VIEW = { width: 1360, gutter: 132, spine: 34, leaf: 128, leafHeight: 40, bars: 206, row: 17 };

const colorOf = (cellText) => {
  const css = cellText ? `k${cellText.slice(1, cellText.indexOf(" "))}` : "plain";
  return { css, id: colorIds.get(css), name: cellText ? cellText.slice(cellText.indexOf(" ") + 1) : "" };
};

const cableShape = (cable, d, kind) => {
  const color = colorOf(cable.color);
  const about = `${cable.name}\n${cable.speed}, ${cable.length}${color.name ? `, path color ${color.name}` : ""}`;
  return shape(
    "g",
    { class: `cable ${kind}`, "data-a": cable.a, "data-b": cable.b, "data-link": cable.place, "data-color": color.id },
    titled(about),
    shape("path", { d, class: `${color.css} line` }),
    shape("path", { d, class: "hit" }),
  );
};

const railsOf = (leaf) => String(leaf.rails).split(", ").map(Number);

const stripeDrawing = (leaves, found) => {
  const uplinks = found.filter((one) => one.uplink);
  const serverCables = found.filter((one) => !one.uplink);
  const used = new Set(uplinks.map((one) => one.b));
  const spines = switches.filter((one) => used.has(one.name));
  const rails = [...new Set(leaves.flatMap(railsOf))].sort((a, b) => a - b);
  const column = (VIEW.width - VIEW.gutter) / Math.max(1, rails.length);
  const left = (rail) => VIEW.gutter + rails.indexOf(rail) * column;
  const servers = [...new Set(serverCables.map((one) => one.a))];
  const rowOf = new Map(servers.map((name, place) => [name, place]));
  const height = VIEW.bars + servers.length * VIEW.row + 8;
  const svg = shape("svg", { class: "rw", "aria-label": "A stripe, with its uplinks and servers", viewBox: `0 0 ${VIEW.width} ${height}`, role: "img", style: `--natural:${VIEW.width}px` });
  for (const [place, rail] of rails.entries()) {
    if (place % 2 === 0) svg.append(shape("rect", { x: left(rail), y: VIEW.leaf - 6, width: column, height: height - VIEW.leaf, rx: 5, class: "band" }));
  }
  const pitch = VIEW.width / Math.max(1, spines.length);
  const spineX = new Map(spines.map((one, place) => [one.name, (place + 0.5) * pitch]));
  const leafBox = new Map(leaves.map((one) => [one.name, { x: left(railsOf(one)[0]) + 4, width: railsOf(one).length * column - 8 }]));
  const turn = new Map();
  for (const cable of uplinks) {
    const box = leafBox.get(cable.a);
    const total = uplinks.length / leaves.length;
    const place = turn.get(cable.a) || 0;
    turn.set(cable.a, place + 1);
    const x1 = (box.x + 8 + ((place + 0.5) * (box.width - 16)) / Math.max(1, total)).toFixed(1);
    const x2 = spineX.get(cable.b).toFixed(1);
    svg.append(cableShape(cable, `M${x1} ${VIEW.leaf + 2}C${x1} ${VIEW.leaf - 40} ${x2} ${VIEW.spine + 42} ${x2} ${VIEW.spine - 2}`, "fabric-cable"));
  }
  // Names stand in the left half of a rail, so cables run down its right half.
  const step = Math.min(7, (column / 2 - 16) / Math.max(1, servers.length));
  const nicX = (cable) => left(cable.rail) + column * 0.72 + (rowOf.get(cable.a) - (servers.length - 1) / 2) * step;
  for (const cable of serverCables) {
    const y = VIEW.bars + rowOf.get(cable.a) * VIEW.row;
    svg.append(cableShape(cable, `M${nicX(cable).toFixed(1)} ${VIEW.leaf + VIEW.leafHeight - 2}V${y + 3}`, "server-cable"));
  }
  for (const spine of spines) {
    const x = spineX.get(spine.name);
    const fits = pitch - 4 > spine.name.length * 7;
    const short = fits ? spine.name : (/\d+$/.exec(spine.name) || [""])[0];
    svg.append(
      shape(
        "g",
        { class: "device spine", "data-device": spine.name },
        titled(`${spine.name}\n${spine.model}, AS ${spine.asn}`),
        shape("rect", { x: x - pitch / 2 + 1.5, y: 8, width: pitch - 3, height: VIEW.spine - 8, rx: 4, class: "box" }),
        label(short, { x, y: 25, class: "middle small name" }),
      ),
    );
  }
  for (const leaf of leaves) {
    const { x, width } = leafBox.get(leaf.name);
    svg.append(
      shape(
        "g",
        { class: "device leaf", "data-device": leaf.name },
        titled(`${leaf.name}\n${leaf.model}, AS ${leaf.asn}`),
        shape("rect", { x, y: VIEW.leaf, width, height: VIEW.leafHeight, rx: 6, class: "box" }),
        label(leaf.name, { x: x + width / 2, y: VIEW.leaf + 17, class: "middle name" }),
        label(`rail ${leaf.rails}`, { x: x + width / 2, y: VIEW.leaf + 32, class: "middle muted small" }),
      ),
    );
  }
  const bars = new Map();
  for (const [name, place] of rowOf) {
    const y = VIEW.bars + place * VIEW.row;
    const bar = shape(
      "g",
      { class: "device server", "data-device": name },
      titled(name),
      shape("rect", { x: 2, y, width: VIEW.width - 4, height: VIEW.row - 3, rx: 4, class: "box" }),
      label(name, { x: 10, y: y + 11, class: "name small" }),
    );
    bars.set(name, bar);
    svg.append(bar);
  }
  for (const cable of serverCables) {
    const y = VIEW.bars + rowOf.get(cable.a) * VIEW.row;
    bars.get(cable.a).append(
      shape(
        "g",
        {},
        titled(`${cable.a} ${cable.aPort}\n${cable.b} ${cable.bPort}`),
        shape("rect", { x: left(cable.rail) + 5, y: y + 2, width: column - 10, height: VIEW.row - 7, rx: 3, class: "nic" }),
        label(cable.aPort, { x: left(cable.rail) + 10, y: y + 10.5, class: "nic-name" }),
        shape("circle", { cx: nicX(cable).toFixed(1), cy: y + 2, r: 2, class: "port" }),
      ),
    );
  }
  return svg;
};

const opened = new Map(); // FABRIC/STRIPE or block to its panel and scene

const closeStripe = (key, device) => {
  const { panel, scene } = opened.get(key);
  if (scene) dropScene(scene);
  panel.remove();
  opened.delete(key);
  if (device) device.setAttribute("aria-expanded", "false");
};

const openPanel = (key, title, device, content) => {
  const panel = make("div", "expanded");
  const bar = make("div", "bar");
  const close = make("button", "", "Close");
  close.type = "button";
  close.addEventListener("click", () => closeStripe(key, device));
  bar.append(make("b", "", title), close);
  const frame = make("div", "picture");
  frame.tabIndex = 0;
  frame.append(content);
  panel.append(bar, frame);
  document.getElementById("expanded").prepend(panel);
  if (device) device.setAttribute("aria-expanded", "true");
  return panel;
};

// Open a stripe, or close it where it is open.
const toggleStripe = (fabric, stripe, device) => {
  const key = `${fabric}/${stripe}`;
  if (opened.has(key)) {
    closeStripe(key, device);
    return;
  }
  const leaves = switches.filter((one) => one.role === "leaf" && one.stripe === stripe && one.fabric === fabric);
  const names = new Set(leaves.map((one) => one.name));
  const found = cabling().filter((one) => names.has(one.uplink ? one.a : one.b));
  const servers = new Set(found.filter((one) => !one.uplink).map((one) => one.a)).size;
  const svg = stripeDrawing(leaves, found);
  const panel = openPanel(key, `${stripe}: ${leaves.length} leaves, ${servers} servers, ${found.filter((one) => one.uplink).length} uplinks`, device, svg);
  opened.set(key, { panel, scene: addScene(svg) });
  restore();
};

const expandBlock = (device) => {
  const { fabric, stripes } = device.dataset;
  const names = stripes.split(" ");
  if (names.length === 1) {
    toggleStripe(fabric, names[0], device);
    return;
  }
  const key = device.dataset.device;
  if (opened.has(key)) {
    closeStripe(key, device);
    return;
  }
  const list = make("div", "choices");
  for (const name of names) list.append(jump(name, () => toggleStripe(fabric, name)));
  opened.set(key, { panel: openPanel(key, `${names.length} stripes: choose one to open it`, device, list) });
};
