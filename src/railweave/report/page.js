// What happens when the page opens; the other scripts only say how.

const tables = {};
for (const table of raw.values()) tables[table.id] = table.nics ? addressTable(table) : plainTable(table);
for (const host of document.querySelectorAll("[data-table]")) mount(host, tables[host.dataset.table]);

const picture = document.getElementById("picture");
addScene(picture.querySelector("svg"), expandBlock);
if (pathForm) showPaths(false);

const zoom = document.getElementById("zoom");
zoom.addEventListener("click", () => {
  const actual = picture.classList.toggle("actual");
  zoom.setAttribute("aria-pressed", String(actual));
  zoom.textContent = actual ? "Fit to page" : "Actual size";
});

// The section in view is marked in the navigation.
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
