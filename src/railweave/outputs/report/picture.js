// The pictures: pointing at a device lights its links, a click keeps them; a path color lights where it runs.

const status = document.getElementById("selection");
const hint = status.textContent;
const scenes = [];
let kept = null;

// Servers that are alike share a row of the picture: the row has the names of all, and its cables the places of all.
const nameOf = (device) => device.dataset.device ?? device.dataset.row;
const stands = (device, names) => names.has(nameOf(device)) || (device.dataset.servers || "").split(" ").some((name) => names.has(name));
const placesOf = (cable) => (cable.dataset.links ?? cable.dataset.link ?? "").split(" ").filter(Boolean).map(Number);

// A picture whose devices, cables and legend answer. `expand` is called for a block of stripes that is clicked.
const addScene = (svg, expand) => {
  const scene = {
    svg,
    cables: [...svg.querySelectorAll(".cable")],
    devices: [...svg.querySelectorAll(".device")],
    keys: [...svg.querySelectorAll(".legend-entry")],
    neighbors: new Map(),
  };
  for (const cable of scene.cables) {
    for (const name of [cable.dataset.a, cable.dataset.b]) {
      if (!scene.neighbors.has(name)) scene.neighbors.set(name, []);
      scene.neighbors.get(name).push(cable);
    }
  }
  for (const device of scene.devices) {
    const name = nameOf(device);
    device.addEventListener("mouseenter", () => focusDevice(name));
    device.addEventListener("mouseleave", restore);
    if (device.dataset.stripes && expand) {
      device.setAttribute("aria-expanded", "false");
      asButton(device, () => expand(device));
    } else {
      device.addEventListener("click", () => keep(name, () => focusDevice(name)));
    }
  }
  for (const key of scene.keys) {
    const color = key.dataset.color;
    asButton(key, () => keep(`color ${color}`, () => focusColor(color)));
  }
  svg.setAttribute("role", "group"); // its devices are buttons, which an image has not
  scenes.push(scene);
  return scene;
};

const asButton = (node, act) => {
  node.setAttribute("tabindex", "0");
  node.setAttribute("role", "button");
  node.addEventListener("click", act);
  node.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      act();
    }
  });
};

const dropScene = (scene) => scenes.splice(scenes.indexOf(scene), 1);

const clear = () => {
  for (const { svg } of scenes) {
    svg.classList.remove("focus");
    for (const node of svg.querySelectorAll(".on,.near,.off")) node.classList.remove("on", "near", "off");
  }
  status.textContent = hint;
};

// Light cables and devices of one picture; a picture that has none of them stays as it is.
const light = (scene, chosen, on) => {
  if (!chosen.length && !scene.devices.some((device) => stands(device, on))) return;
  scene.svg.classList.add("focus");
  const near = new Set(on);
  for (const cable of chosen) {
    cable.classList.add("on");
    near.add(cable.dataset.a).add(cable.dataset.b);
  }
  for (const device of scene.devices) {
    device.classList.toggle("near", stands(device, near));
    device.classList.toggle("on", stands(device, on));
  }
};

const isBundle = (cable) => cable.classList.contains("bundle");

const jump = (label, act) => {
  const button = make("button", "link", label);
  button.type = "button";
  button.addEventListener("click", act);
  return button;
};

const say = (name, found, filter) => {
  const grouped = found.some(isBundle);
  const word = grouped ? "bundle" : "cable";
  const count = found.reduce((sum, cable) => sum + Math.max(1, placesOf(cable).length), 0);
  status.replaceChildren(make("b", "", name), `: ${count} ${word}${count === 1 ? "" : "s"} `);
  if (grouped || !filter) return;
  status.append(
    jump("show in cabling", () => {
      searches.cables(filter);
      document.getElementById("cables").scrollIntoView();
    }),
  );
  if (serverNics.has(name)) {
    for (const [label, field] of [["paths from here", "source"], ["paths to here", "target"]]) {
      status.append(" ", jump(label, () => choosePath(field, `${name}:${serverNics.get(name)}`)));
    }
  }
};

const focusDevice = (name) => {
  clear();
  let told = [];
  for (const scene of scenes) {
    const found = scene.neighbors.get(name) || [];
    light(scene, found, new Set([name]));
    if (!told.length) told = found;
  }
  say(name, told, name);
};

// A bundle stands for cables of many colors: only the strands that are meant stay bright.
const dimStrands = (bundle, wanted) => {
  for (const line of bundle.querySelectorAll("[data-color]")) line.classList.toggle("off", !wanted.has(line.dataset.color));
};

const focusColor = (color) => {
  clear();
  let told = [];
  let label = color;
  for (const scene of scenes) {
    const strand = `[data-color="${CSS.escape(color)}"]`;
    const found = scene.cables.filter((one) => one.dataset.color === color || one.querySelector(strand));
    light(scene, found, new Set());
    for (const bundle of found.filter(isBundle)) dimStrands(bundle, new Set([color]));
    for (const key of scene.keys) {
      const same = key.dataset.color === color;
      key.classList.add(same ? "on" : "off");
      if (same) label = key.querySelector(".name").textContent;
    }
    if (!told.length) told = found;
  }
  say(`path color ${label}`, told, label);
};

// The way of queue pairs: `links` are places of cables in the cabling, `stripes` and `colors` say which bundles.
const focusPaths = ({ title, links, devices, stripes, colors }) => {
  clear();
  for (const scene of scenes) {
    const blocks = new Set(
      scene.devices
        .filter((one) => (one.dataset.stripes || "").split(" ").some((name) => stripes.has(`${one.dataset.fabric}/${name}`)))
        .map((one) => one.dataset.device),
    );
    const found = scene.cables.filter((one) => placesOf(one).some((place) => links.has(place)) || (isBundle(one) && blocks.has(one.dataset.a)));
    light(scene, found, new Set([...devices, ...blocks]));
    for (const bundle of found.filter(isBundle)) if (colors.size) dimStrands(bundle, colors);
  }
  status.replaceChildren(make("b", "", title));
};

const restore = () => {
  if (kept === null) clear();
  else kept.show();
};
const keep = (id, show) => {
  kept = kept !== null && kept.id === id ? null : { id, show };
  restore();
};

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    kept = null;
    clear();
  }
});
