// What the tables say, as objects that pictures and paths look things up in.

const raw = new Map(JSON.parse(document.getElementById("tables").textContent).map((table) => [table.id, table]));
const forwarding = JSON.parse(document.getElementById("forwarding").textContent);

// Readers of a table's columns by title; a second column of a title is `TITLE 2`, one that was left out reads "".
const columnsOf = (table) => {
  const found = new Map();
  table.columns.forEach((column, place) => {
    found.set(found.has(column.title) ? `${column.title} 2` : column.title, reader(table.data[place]));
  });
  return (title) => found.get(title) || (() => "");
};

const onlyFabric = forwarding.fabrics.length === 1 ? forwarding.fabrics[0] : undefined;

const switches = (() => {
  const column = columnsOf(raw.get("switches"));
  return Array.from({ length: raw.get("switches").rows }, (_, k) => ({
    name: column("Name")(k),
    role: column("Role")(k),
    fabric: onlyFabric || column("Fabric")(k),
    stripe: column("Stripe")(k),
    rails: column("Rails")(k),
    model: column("Model")(k),
    asn: column("AS number")(k),
  }));
})();
const isSwitch = new Set(switches.map((one) => one.name));

const nics = (() => {
  const table = raw.get("addresses");
  const column = columnsOf(table.nics);
  return Array.from({ length: table.nics.rows }, (_, k) => ({
    place: k,
    server: column("Server")(k),
    name: column("NIC")(k).split(" ")[0],
    fabric: onlyFabric || column("Fabric")(k),
    rail: Number(column("Rail")(k)),
    leaf: column("Leaf")(k),
    segment: table.segment[k],
  }));
})();
const nicNamed = new Map(nics.map((one) => [`${one.server}:${one.name}`, one]));
const serverNics = new Map(); // server to the name of its first NIC
for (const one of nics) if (!serverNics.has(one.server)) serverNics.set(one.server, one.name);

let lowered = null;
// The names of all switches and servers as a search compares them.
const deviceNames = () => (lowered ??= new Set([...isSwitch, ...serverNics.keys()].map((name) => name.toLowerCase())));

// The addresses of a NIC: [color cell, address without length].
const addressesOf = (nic) => {
  const table = raw.get("addresses");
  const host = table.hosts[nic.place];
  return typeof host === "string"
    ? table.segments[nic.segment].map(([color, stem]) => [color, stem + host])
    : host.map(([color, address]) => [color, address]);
};

let cables = null;
// Every cable; made when first asked for, because only pictures and paths need them.
const cabling = () => {
  if (cables === null) {
    const table = raw.get("cables");
    const [from, port, to, port2, speed, length, color] = ["From", "Port", "To", "Port 2", "Speed", "Length", "Path color"].map(columnsOf(table));
    cables = Array.from({ length: table.rows }, (_, place) => {
      const [a, aPort, b, bPort] = [from(place), port(place), to(place), port2(place)];
      const rail = isSwitch.has(a) ? undefined : nicNamed.get(`${a}:${aPort}`)?.rail;
      return {
        place, a, aPort, b, bPort, rail,
        uplink: isSwitch.has(a),
        name: `${a}:${aPort}--${b}:${bPort}`,
        speed: speed(place), length: length(place), color: color(place),
      };
    });
  }
  return cables;
};

// The CSS class of each path color's stroke to the id that legend and bundles carry.
const colorIds = new Map(
  [...document.querySelectorAll("#picture .legend-entry")].map((key) => [key.querySelector(".line").classList[0], key.dataset.color]),
);
