// Keeps a page up to date: the server sends what has changed, by key, and it is put where its key is.
"use strict";
(() => {
  const byKey = new Map();
  const add = (kind, node, key) => {
    const name = `${kind} ${key}`;
    if (!byKey.has(name)) byKey.set(name, []);
    byKey.get(name).push(node);
  };
  const KINDS = ["live", "liveHtml", "liveClass", "liveFill"];
  const find = (root) => {
    for (const kind of KINDS) {
      const name = kind.replace(/[A-Z]/, (one) => `-${one.toLowerCase()}`);
      for (const node of root.querySelectorAll(`[data-${name}]`)) add(kind, node, node.dataset[kind]);
    }
  };
  find(document);

  // What somebody has focused or opened in a part that is replaced stays so: it is found again by its id.
  const replace = (node, markup) => {
    const focused = node.contains(document.activeElement) ? document.activeElement.id : "";
    const open = [...node.querySelectorAll("details[open][id]")].map((one) => one.id);
    node.innerHTML = markup;
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  };

  const put = {
    live: (node, value) => {
      if (node.textContent !== value) node.textContent = value;
    },
    liveHtml: replace,
    liveClass: (node, value) => {
      node.classList.remove(...(node.dataset.was || "").split(" ").filter(Boolean));
      node.classList.add(...value.split(" ").filter(Boolean));
      node.dataset.was = value;
    },
    liveFill: (node, value) => node.style.setProperty("--fill", value),
  };

  const apply = (values) => {
    for (const [key, value] of Object.entries(values)) {
      for (const kind of KINDS) for (const node of byKey.get(`${kind} ${key}`) || []) put[kind](node, value);
    }
  };

  const state = document.getElementById("connection");
  const say = (words, good) => {
    if (state.textContent === words) return;
    state.textContent = words;
    state.classList.toggle("good", good);
    state.classList.toggle("warning", !good);
  };

  // A browser opens six connections to a server, of all its tabs together: one that nobody sees holds none.
  let source = null;
  const close = () => {
    source?.close();
    source = null;
  };
  const open = () => {
    if (source || document.visibilityState === "hidden") return;
    source = new EventSource(`/events?page=${encodeURIComponent(location.pathname + location.search)}`);
    source.addEventListener("values", (event) => {
      const { at, values } = JSON.parse(event.data);
      apply(values);
      document.dispatchEvent(new CustomEvent("values", { detail: { at, values } }));
      say("live", true);
    });
    source.addEventListener("gone", () => {
      close();
      say("this page is not there any more: load it again", false);
    });
    source.addEventListener("error", () => say("not connected: what you see is old", false));
  };
  document.addEventListener("visibilitychange", () => (document.visibilityState === "hidden" ? close() : open()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", open);
  open();
})();
