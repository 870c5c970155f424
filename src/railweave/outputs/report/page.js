// What happens when the page opens; the other scripts only say how.

const tables = {};
for (const table of raw.values()) tables[table.id] = table.nics ? addressTable(table) : plainTable(table);
for (const host of document.querySelectorAll("[data-table]")) mount(host, tables[host.dataset.table]);

const picture = document.getElementById("picture");
addScene(picture.querySelector("svg"), expandBlock);
if (pathForm) showPaths(false);

// A picture is shown as large as the window has room for, but no smaller than its words can be read: a narrow window scrolls it.
// The edges behind which there is more fade, and the button then shows the whole picture instead of its actual size.
const zoom = document.getElementById("zoom");
const wider = document.getElementById("wider");
const sized = () => {
  const beyond = picture.scrollWidth - picture.clientWidth;
  picture.classList.toggle("more-left", picture.scrollLeft > 1);
  picture.classList.toggle("more-right", beyond - picture.scrollLeft > 1);
  const [actual, whole] = ["actual", "whole"].map((one) => picture.classList.contains(one));
  wider.hidden = actual || beyond <= 1;
  zoom.setAttribute("aria-pressed", String(actual || whole));
  zoom.textContent = actual ? "Fit to page" : whole ? "Readable size" : beyond > 1 ? "Whole picture" : "Actual size";
};
zoom.addEventListener("click", () => {
  const changed = picture.classList.contains("actual") || picture.classList.contains("whole");
  if (changed) picture.classList.remove("actual", "whole");
  else picture.classList.add(wider.hidden ? "actual" : "whole");
  sized();
});
picture.addEventListener("scroll", sized, { passive: true });
addEventListener("resize", sized);
sized();

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
