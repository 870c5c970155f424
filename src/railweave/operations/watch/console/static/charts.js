// Charts of the past, drawn by uPlot; where it cannot be had, it is said why.
"use strict";
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const HUES = [["#0067b1", "#5aa9f2"], ["#d97c00", "#f7b23b"], ["#bf1f2f", "#f2555c"], ["#009468", "#3fd6a4"]];
  const EVENT = { deploy: ["#7b4bb0", "#c3a0ee"], job: ["#009468", "#3fd6a4"] };
  const shade = (pair) => pair[dark.matches ? 1 : 0];
  const clear = (hue, alpha) => `${hue}${Math.round(alpha * 255).toString(16).padStart(2, "0")}`;

  const UNITS = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
  const short = (number, unit) => {
    if (number === null || number === undefined) return "–";
    const [size, prefix] = UNITS.find(([one]) => Math.abs(number) >= one) || [1, ""];
    return `${Number((number / size).toPrecision(3))} ${prefix}${unit}`.trimEnd();
  };
  const share = (number) => (number === null || number === undefined ? "–" : `${(100 * number).toFixed(number < 0.1 ? 1 : 0)} %`);
  const FORMATS = {
    carried: (one) => short(one, "b/s"),
    busiest: share,
    events: (one) => short(one, "/s"),
    octets: (one) => short(one, "b/s"),
  };

  const two = (number) => String(number).padStart(2, "0");
  const hour = (seconds, span) => {
    const at = new Date(seconds * 1000);
    const time = `${two(at.getHours())}:${two(at.getMinutes())}${span < 600 ? `:${two(at.getSeconds())}` : ""}`;
    return span > 86400 ? `${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}` : time;
  };

  // Deploys and jobs are bands behind the lines, anomalies are ticks: all of them are in the table below the charts, too.
  const marks = (events) => ({
    hooks: {
      drawClear: (plot) => {
        const { left, top, width, height } = plot.bbox;
        const at = (seconds) => Math.min(Math.max(plot.valToPos(seconds, "x", true), left), left + width);
        const { ctx } = plot;
        ctx.save();
        for (const one of events) {
          if (one.until < plot.scales.x.min || one.begin > plot.scales.x.max) continue;
          const from = at(one.begin);
          if (one.kind === "anomaly") {
            ctx.fillStyle = css(one.severity === "error" ? "--error" : "--warning");
            ctx.fillRect(from, top + height - 10 * devicePixelRatio, 2 * devicePixelRatio, 10 * devicePixelRatio);
          } else {
            const hue = shade(EVENT[one.kind]);
            ctx.fillStyle = clear(hue, 0.16);
            ctx.fillRect(from, top, Math.max(at(one.until) - from, 3), height);
            ctx.fillStyle = hue;
            ctx.fillRect(from, top, 2 * devicePixelRatio, height);
          }
        }
        ctx.restore();
      },
    },
  });

  const made = new Map();
  const draw = (host, name, data, lines, since, until, events) => {
    made.get(host)?.destroy();
    made.delete(host);
    if (!data.length || !lines.length) {
      host.textContent = "No numbers of this time yet.";
      return;
    }
    host.textContent = "";
    const format = FORMATS[name];
    const axis = { stroke: css("--muted"), grid: { stroke: css("--rule"), width: 1 }, ticks: { stroke: css("--rule"), width: 1 }, font: "12px system-ui, sans-serif" };
    const options = {
      width: Math.max(host.clientWidth, 280),
      height: 230,
      cursor: { drag: { x: true, y: false } },
      scales: { x: { time: true, range: () => [since, until] }, y: { range: (_, __, most) => [0, most > 0 ? most * 1.08 : 1] } },
      axes: [{ ...axis, values: (_, times) => times.map((one) => hour(one, until - since)) }, { ...axis, size: 78, values: (_, values) => values.map(format) }],
      series: [
        { value: (_, one) => (one === null ? "–" : new Date(one * 1000).toLocaleTimeString("en-GB")) },
        ...lines.map((one, place) => {
          const hue = one.light ? (dark.matches ? one.dark : one.light) : shade(HUES[place % HUES.length]);
          return { label: one.label, stroke: hue, width: 1.6, dash: one.dash ? one.dash.split(" ").map(Number) : undefined, spanGaps: false, points: { show: data.length < 3 }, value: (_, number) => format(number) };
        }),
      ],
      plugins: [marks(events)],
    };
    made.set(host, new uPlot(options, [data, ...lines.map((one) => one.numbers)], host));
  };

  const get = async (address) => {
    const answer = await fetch(address);
    const read = await answer.json();
    if (!answer.ok) throw new Error(read.error || answer.statusText);
    return read;
  };

  const span = new URLSearchParams(location.search).get("span") || "900";
  const drawAll = async () => {
    const { since, until, times, charts, events } = await get(`/api/history?span=${span}`);
    for (const [name, lines] of Object.entries(charts)) {
      const host = document.getElementById(`chart-${name}`);
      if (host) draw(host, name, times, lines, since, until, events);
    }
  };

  const one = document.getElementById("chart-device");
  const port = document.getElementById("chart-port");
  const choice = document.getElementById("chart-span");
  const drawPort = async () => {
    const seconds = Number(choice.value);
    const until = Date.now() / 1000;
    const query = new URLSearchParams({ device: one.dataset.device, port: port.value, since: String(until - seconds), until: String(until) });
    for (const metric of ["in_octets", "out_octets"]) query.append("metric", metric);
    const { samples } = await get(`/api/samples?${query}`);
    const times = [...new Set(samples.map((row) => row[0]))].sort((a, b) => a - b);
    const at = new Map(times.map((time, place) => [time, place]));
    const lines = ["in_octets", "out_octets"].map((metric) => {
      const numbers = times.map(() => null);
      for (const row of samples) if (row[1] === metric) numbers[at.get(row[0])] = 8 * row[4];
      return { label: metric === "in_octets" ? "received" : "sent", numbers, light: "", dark: "", dash: "" };
    });
    draw(one, "octets", times, lines, until - seconds, until, []);
  };

  const said = (error) => {
    for (const host of document.querySelectorAll(".chart, #chart-device")) if (!made.has(host)) host.textContent = `No chart: ${error.message}.`;
  };
  let drawn = 0;
  const refresh = (force) => {
    const now = Date.now();
    if (!force && now - drawn < 5000) return;
    drawn = now;
    (one ? drawPort() : drawAll()).catch(said);
  };
  refresh(true);
  document.addEventListener("values", () => refresh(false));
  dark.addEventListener("change", () => refresh(true));
  let waiting = 0;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => refresh(true), 200);
  });
  for (const field of [port, choice]) field?.addEventListener("change", () => refresh(true));
})();
