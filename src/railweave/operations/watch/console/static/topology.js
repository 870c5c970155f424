// Draws load and anomalies into the picture, and makes its devices links.
"use strict";
(() => {
  const svg = document.querySelector(".picture svg");
  const SEVERITIES = ["silent", "error", "warning", "not-known"];
  const links = new Map([...svg.querySelectorAll("[data-link]")].map((one) => [one.dataset.link, one]));
  const devices = new Map([...svg.querySelectorAll("[data-device]")].map((one) => [one.dataset.device, one]));
  const bundles = [...svg.querySelectorAll(".bundle")].map((node) => {
    const block = devices.get(node.dataset.a);
    const fabric = block?.dataset.fabric || "";
    const stripes = (block?.dataset.stripes || "").split(" ").filter(Boolean);
    return { node, title: node.querySelector("title"), words: node.querySelector("title")?.textContent || "", fabric, stripes };
  });
  const known = new Map();

  const mark = (node, classes) => {
    const was = node.dataset.was || "";
    if (was === classes) return;
    node.classList.remove(...was.split(" ").filter(Boolean));
    node.classList.add(...classes.split(" ").filter(Boolean));
    node.dataset.was = classes;
  };

  const titled = (node, said) => {
    const title = node.querySelector("title");
    if (!title) return;
    node.dataset.words ??= title.textContent;
    title.textContent = said ? `${node.dataset.words}\n${said}` : node.dataset.words;
  };

  const block = (node) => {
    const { fabric, stripes, device } = node.dataset;
    const names = stripes ? stripes.split(" ").map((one) => `${fabric}/${one}`) : [device];
    const found = new Set(names.map((one) => known.get(`group/${one}`) || known.get(`device/${one}`)));
    return SEVERITIES.find((one) => found.has(one)) || "";
  };

  const drawBundle = ({ node, fabric, stripes }) => {
    const of = (color) => stripes.map((stripe) => known.get(`bundle/${fabric}/${stripe}/${color}`)).filter(Boolean);
    const most = (found) => found.map((one) => one.split("|")[0]).sort().pop() || "unknown";
    for (const line of node.querySelectorAll(".line")) {
      const color = line.dataset.color;
      mark(line, most(of(color ? color.split("/").pop() : "all")));
    }
    const all = of("all");
    titled(node, all.length === 1 ? all[0].split("|")[1] : "");
  };

  const draw = (changed) => {
    let blocks = false;
    for (const [key, value] of Object.entries(changed)) {
      if (!/^(device|group|link|bundle)\//.test(key)) continue;
      if (value === "") known.delete(key);
      else known.set(key, value);
      if (key.startsWith("link/")) {
        const node = links.get(key.slice(5));
        const [classes, said] = value.split("|");
        if (node) {
          mark(node, classes);
          titled(node, said || "");
        }
      } else blocks = true;
    }
    if (!blocks) return;
    for (const node of devices.values()) mark(node, block(node));
    for (const one of bundles) drawBundle(one);
  };
  document.addEventListener("values", (event) => draw(event.detail.values));

  const address = (node) => {
    const { device, stripes, fabric } = node.dataset;
    if (stripes) return `/devices?fabric=${encodeURIComponent(fabric)}&stripe=${encodeURIComponent(stripes)}`;
    const tier = device.match(/^(.*)\/(.*)s$/);
    if (tier) return `/devices?fabric=${encodeURIComponent(tier[1])}&role=${encodeURIComponent(tier[2])}`;
    return `/devices/${encodeURIComponent(device)}`;
  };
  for (const node of devices.values()) {
    node.setAttribute("tabindex", "0");
    node.setAttribute("role", "link");
    node.addEventListener("click", () => location.assign(address(node)));
    node.addEventListener("keydown", (event) => {
      if (event.key === "Enter") location.assign(address(node));
    });
  }
})();
