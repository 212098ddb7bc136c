"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("scripted");
  const one = (query, within = document) => within.querySelector(query);
  const all = (query, within = document) => [...within.querySelectorAll(query)];

  // ── colours ──
  const theme = one("#theme");
  const themes = { "": "◐ auto", light: "○ light", dark: "● dark" };
  const labels = { "": "as the system has them", light: "light", dark: "dark" };
  const paint = (name) => {
    if (name) root.dataset.theme = name; else delete root.dataset.theme;
    theme.textContent = themes[name];
    theme.setAttribute("aria-label", `Colours: ${labels[name]}`);
  };
  const kept = () => { try { return localStorage.getItem("opcheck-theme"); } catch { return null; } };
  paint(kept() in themes ? kept() : "");
  theme.addEventListener("click", () => {
    const names = Object.keys(themes);
    const next = names[(names.indexOf(root.dataset.theme ?? "") + 1) % names.length];
    paint(next);
    try { localStorage.setItem("opcheck-theme", next); } catch { /* nothing is kept, then */ }
  });

  // ── commands to copy ──
  const select = (node) => {
    const range = document.createRange();
    range.selectNodeContents(node);
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
  };
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button.copy");
    if (!button) return;
    const code = one("code", button.parentNode);
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch {
      select(code);
      button.textContent = document.execCommand("copy") ? "Copied" : "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });

  const source = one("#data");
  if (!source) return;

  // ── results: rows of numbers, most of which stand for texts ──
  const { columns, texts, results } = JSON.parse(source.textContent);
  const at = Object.fromEntries(columns.map((name, place) => [name.replace("$", ""), place]));
  const text = (row, name) => texts[results[row][at[name]]];
  const small = texts.map((said) => said.toLowerCase());
  const searched = ["case", "reason", "alternative", "backend", "verdict"].map((name) => at[name]);
  const form = one("#filter");
  const fields = ["verdict", "op", "dtype", "backend"];

  const failures = all(".failure");
  // What a failure's own text says beside its row: diagnoses, rulings, the clause.
  const saidBy = new Map(failures.map((node) => [Number(node.dataset.row), node]));
  const lowered = new Map();
  const inFull = (row) => {
    if (!lowered.has(row)) lowered.set(row, saidBy.get(row)?.textContent.toLowerCase() ?? "");
    return lowered.get(row);
  };

  const state = () => Object.fromEntries(
    ["q", ...fields, "known"].map((name) => [name, form.elements[name].value]));
  const matcher = () => {
    const asked = state();
    const words = asked.q.toLowerCase().split(/\s+/).filter(Boolean);
    const exact = fields.filter((name) => asked[name]).map((name) => [at[name], asked[name]]);
    const known = asked.known === "" ? null : Number(asked.known);
    return (row) => {
      const values = results[row];
      return exact.every(([place, value]) => texts[values[place]] === value)
        && (known === null || values[at.known] === known)
        && words.every((word) => searched.some((place) => small[values[place]].includes(word))
          || inFull(row).includes(word));
    };
  };

  // ── the list of all results ──
  const body = one("#list tbody");
  const more = one("#more");
  const PAGE = 200;
  let matching = [];
  let listed = 0;
  const make = (tag, name, said) => {
    const node = document.createElement(tag);
    if (name) node.className = name;
    if (said !== undefined) node.textContent = said;
    return node;
  };
  const line = (row) => {
    const values = results[row];
    const tr = make("tr");
    const verdict = make("td");
    const tag = make("span", `tag ${text(row, "tone")}`);
    tag.append(make("i", "", text(row, "sign")), ` ${text(row, "verdict")}`);
    verdict.append(tag);
    const found = make("td");
    const button = make("button", "case");
    button.type = "button";
    button.setAttribute("aria-expanded", "false");
    button.append(make("code", "", text(row, "case")));
    button.addEventListener("click", () => unfold(tr, row, button));
    found.append(button);
    const reason = text(row, "reason");
    if (reason) found.append(make("span", "why", reason.length > 160 ? `${reason.slice(0, 158)} …` : reason));
    const used = values[at.used];
    tr.append(verdict, make("td", "", text(row, "backend")), found,
      make("td", "num", used === null ? "" : String(used)),
      make("td", "num", values[at.ms].toFixed(1)));
    return tr;
  };
  const unfold = (tr, row, button) => {
    const open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    if (open) { tr.nextSibling.remove(); return; }
    const detail = make("tr", "detail");
    const cell = make("td");
    cell.colSpan = 5;
    const list = make("dl");
    const add = (label, said) => {
      if (said) list.append(make("dt", "", label), make("dd", "said", said));
    };
    add("backend", text(row, "backend"));
    add("asked", text(row, "asked"));
    add("clause", text(row, "clause") && `“${text(row, "clause")}”`);
    add("found", text(row, "reason"));
    add("answer", text(row, "alternative"));
    add("written", text(row, "written"));
    const repeat = make("div", "repeat");
    const copy = make("button", "copy", "Copy");
    copy.type = "button";
    repeat.append(make("code", "", text(row, "repeat").replace("\ufffc", () => text(row, "case"))), copy);
    if (saidBy.has(row)) {
      const link = make("a", "", "everything about this failure");
      link.href = `#f${row}`;
      const dd = make("dd");
      dd.append(link);
      list.append(make("dt", "", "see"), dd);
    }
    cell.append(list, repeat);
    detail.append(cell);
    tr.after(detail);
  };
  const extend = () => {
    body.append(...matching.slice(listed, listed + PAGE).map(line));
    listed = Math.min(listed + PAGE, matching.length);
    const left = matching.length - listed;
    more.hidden = !left;
    more.textContent = `Show ${Math.min(left, PAGE)} more of ${left.toLocaleString("en")}`;
  };
  more.addEventListener("click", extend);

  // ── filters ──
  const apply = () => {
    const matches = matcher();
    matching = [...results.keys()].filter(matches);
    body.replaceChildren();
    listed = 0;
    extend();
    let shown = 0;
    for (const node of failures) {
      node.hidden = !matches(Number(node.dataset.row));
      shown += !node.hidden;
    }
    const filtered = Object.values(state()).some(Boolean);
    for (const group of all(".group, .backend")) {
      group.hidden = !one(".failure:not([hidden])", group);
      if (filtered && group.matches(".group")) group.open = true;
    }
    one("#none-left").hidden = shown > 0 || failures.length === 0;
    one("output", form).textContent = filtered
      ? `${matching.length.toLocaleString("en")} of ${results.length.toLocaleString("en")} results, ${shown.toLocaleString("en")} failures in full`
        + (form.elements.known.value === "" ? "" : ", of one known defect")
      : "";
    const asked = new URLSearchParams(Object.entries(state()).filter(([, value]) => value));
    const hash = String(asked);
    if (hash || location.hash.includes("=")) history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  };
  const set = (asked) => {
    for (const name of ["q", ...fields, "known"]) {
      form.elements[name].value = asked.get(name) ?? "";
      if (form.elements[name].selectedIndex === -1) form.elements[name].value = "";
    }
  };
  let waiting = 0;
  // Programs that fill in forms may do without one of both.
  for (const kind of ["input", "change"]) {
    form.addEventListener(kind, () => {
      clearTimeout(waiting);
      waiting = setTimeout(apply, 80);
    });
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    set(new URLSearchParams());
    apply();
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-filter]");
    if (!link) return;
    event.preventDefault();
    set(new URLSearchParams(link.dataset.filter));
    apply();
    const goal = failures.some((node) => !node.hidden) ? "#failures" : "#results";
    one(goal).scrollIntoView();
    one("[name=q]", form).focus({ preventScroll: true });
  });

  // ── failures ──
  const groups = all(".group");
  one("#open")?.addEventListener("click", () => {
    for (const node of [...groups, ...failures]) if (!node.hidden) node.open = true;
  });
  one("#close")?.addEventListener("click", () => {
    for (const node of [...groups, ...failures]) node.open = false;
  });
  document.addEventListener("keydown", (event) => {
    const here = event.target.closest?.(".failure > summary");
    if (!here || event.ctrlKey || event.altKey || event.metaKey || !"jk".includes(event.key)) return;
    const nodes = failures.filter((node) => !node.hidden && node.parentNode.open);
    const next = nodes[nodes.indexOf(here.parentNode) + (event.key === "j" ? 1 : -1)];
    if (next) { one("summary", next).focus(); event.preventDefault(); }
  });
  const reveal = () => {
    const place = decodeURIComponent(location.hash.slice(1));
    if (place.includes("=")) { set(new URLSearchParams(place)); apply(); return; }
    const node = /^f\d+$/.test(place) && document.getElementById(place);
    if (!node) return;
    if (node.hidden) { set(new URLSearchParams()); apply(); }
    node.parentNode.open = true;
    node.open = true;
    node.scrollIntoView();
    one("summary", node).focus({ preventScroll: true });
  };
  addEventListener("hashchange", reveal);
  if (!location.hash.includes("=")) { set(new URLSearchParams()); apply(); }
  reveal();
})();
