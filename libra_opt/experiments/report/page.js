"use strict";
// Draws the plots of the page and fills the table of reasons. Names are written as text, never as markup.
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const plots = read("plots"), runs = read("runs");
  const config = { responsive: true, displaylogo: false };
  const at = (id) => document.getElementById(id);

  const draw = (id, figure, grid) => {
    if (!at(id)) return;
    const data = figure.data.map((trace) => (grid && trace.x === undefined ? { ...trace, x: grid } : trace));
    Plotly.react(at(id), data, structuredClone(figure.layout), config);
  };

  for (const [key, figure] of Object.entries(plots)) if (!key.startsWith("run-")) draw(key, figure);

  if (runs.length) {
    const fill = (select, names) => {
      const kept = select.value;
      select.replaceChildren(...names.map((name, i) => new Option(name, String(i))));
      if (kept !== "" && Number(kept) < names.length) select.value = kept;
    };
    const number = (value) => Number(value.toPrecision(4)).toString();

    const showAllocation = () => {
      const figures = plots[`run-${at("run").value}`];
      draw("allocation", figures.allocation[Number(at("resource").value)], figures.grid);
    };

    const showReasons = () => {
      const run = runs[Number(at("run").value)], t = Number(at("period").value);
      const plan = run.plans[t];
      const minutes = (run.begins[t] / 60).toFixed(1);
      at("when").textContent = `${t}, from minute ${minutes}` + (plan ? `; plan ${plan[0]}, gap ${(100 * plan[1]).toFixed(3)} %` : "");
      const amounts = (row) => row.map((amount, r) => (amount > 0 ? `${run.resources[r]} ${number(amount)} ${run.units[r]}` : ""))
        .filter((text) => text).join(", ") || "-";
      const rows = run.jobs.filter((job) => job.first <= t && t < job.first + job.actions.length).map((job) => {
        const i = t - job.first, row = document.createElement("tr");
        const killed = job.kills[i] > 0 ? `, killed ${job.kills[i]} x` : "";
        const cells = [job.id, job.actions[i] + killed, amounts(job.granted[i]), amounts(job.used[i]), job.service[i].toFixed(2), job.told[i] < 0 ? "-" : run.told[job.told[i]]];
        cells.forEach((text, c) => {
          const cell = document.createElement(c === 0 ? "th" : "td");
          if (c === 0) cell.scope = "row";
          cell.textContent = text;
          row.append(cell);
        });
        return row;
      });
      at("reasons").tBodies[0].replaceChildren(...rows);
    };

    const showRun = () => {
      const figures = plots[`run-${at("run").value}`], run = runs[Number(at("run").value)];
      fill(at("resource"), run.resources);
      at("period").max = String(Math.max(0, run.begins.length - 1));
      showAllocation();
      for (const id of ["jobs", "queue", "utilisation"]) draw(id, figures[id], figures.grid);
      if (run.begins.length) showReasons();
    };

    const remember = () => {
      history.replaceState(null, "", `#run=${at("run").value}&resource=${at("resource").value}&period=${at("period").value}`);
    };
    const recall = () => {
      const asked = new URLSearchParams(location.hash.slice(1));
      const planned = runs.findIndex((run) => run.plans.length > 0);
      const run = asked.has("run") ? Number(asked.get("run")) : planned;
      at("run").value = String(Number.isInteger(run) && run >= 0 && run < runs.length ? run : 0);
      fill(at("resource"), runs[Number(at("run").value)].resources);
      if (at("resource").querySelector(`option[value="${Number(asked.get("resource"))}"]`)) at("resource").value = String(Number(asked.get("resource")));
      at("period").max = String(Math.max(0, runs[Number(at("run").value)].begins.length - 1));
      at("period").value = String(Number(asked.get("period")) || 0);
      showRun();
    };
    at("run").addEventListener("change", () => { showRun(); remember(); });
    at("resource").addEventListener("change", () => { showAllocation(); remember(); });
    at("period").addEventListener("input", showReasons);
    at("period").addEventListener("change", remember);
    window.addEventListener("hashchange", recall);
    recall();
  }
  document.body.dataset.drawn = "yes";
})();
