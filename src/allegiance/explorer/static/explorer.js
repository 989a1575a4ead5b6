// Start: draw the map, connect, and tie buttons, forms and keys to commands.
"use strict";
(function (explorer) {
  const element = (id) => document.getElementById(id);
  const LOST = "The connection to the server is lost; trying again. Decisions made so far are on the disk.";
  const SECONDS_SHOWN = 8;
  let connection = null;
  let map = null;

  // Tell the person something; what is wrong with the connection stays until it is back.
  let lastTimer = 0;
  explorer.say = function (text, lasting = false) {
    const status = element("status");
    clearTimeout(lastTimer);
    status.textContent = text;
    status.hidden = !text;
    if (text && !lasting) lastTimer = setTimeout(() => explorer.say(""), 1000 * SECONDS_SHOWN);
  };

  // Replace the options of a select, and keep what is chosen if it is still there.
  explorer.offer = function (select, choices) {
    const before = select.value;
    select.replaceChildren(...choices.map(([value, text]) => new Option(text, value)));
    if (choices.some(([value]) => value === before)) select.value = before;
  };

  // Put the panels of a message in their places. They were escaped on the server. Who had the focus keeps it.
  function showPanels(html) {
    const focused = document.activeElement?.id;
    for (const [topic, content] of Object.entries(html)) element(`panel-${topic}`).innerHTML = content;
    if (focused && document.activeElement?.id !== focused) element(focused)?.focus({ preventScroll: true });
  }

  let changedBefore = null;
  function onNews(message) {
    if (message.event !== "panels") return;
    showPanels(message.html);
    map.mark(message.marked);
    if (message.changed !== changedBefore && changedBefore !== null) map.open();
    else if ("selection" in message.html && map.whole) map.refresh();
    changedBefore = message.changed;
  }

  function onState(connected) {
    document.body.classList.toggle("disconnected", !connected);
    if (!connected) explorer.say(LOST, true);
    else {
      if (element("status").textContent === LOST) explorer.say("");
      if (!map.whole) map.open();
    }
  }

  const whole = (text) => (text === "" || text === undefined ? null : Number(text));

  // What the element of a command says about its arguments.
  function argumentsOf(name, data) {
    if (name === "mark") return { row: whole(data.row) };
    if (name === "step") return { by: whole(data.by) };
    if (name === "cluster") return { cluster: whole(data.cluster) };
    if (name === "enqueue") return { cluster: whole(data.cluster), selection: data.selection === "true" };
    if (name === "decide") {
      const moving = data.decision === "move" ? { new_label: element("move-to").value } : {};
      return { row: whole(data.row), decision: data.decision, ...moving };
    }
    return {};
  }

  // Every command says what came of it; errors of the server are words for a person.
  async function run(name, values) {
    const started = performance.now();
    try {
      await connection.ask(name, values);
      explorer.timing = { ...explorer.timing, [name]: performance.now() - started };
    } catch (error) {
      explorer.say(error.message);
    }
  }

  function onClick(event) {
    const link = event.target.closest("[data-export]");
    if (link) link.href = explorer.exportAddress(link.dataset.export);
    const button = event.target.closest("button[data-do]");
    if (button) run(button.dataset.do, argumentsOf(button.dataset.do, button.dataset));
  }

  function onSubmit(event) {
    event.preventDefault();
    const form = event.target;
    const values = Object.fromEntries(new FormData(form));
    if (form.dataset.do === "enqueue") values.selection = form.elements.selection.checked;
    run(form.dataset.do, values);
  }

  const KEYS = {
    k: () => element("decide-keep")?.click(),
    m: () => element("decide-move")?.click(),
    n: () => element("decide-noise")?.click(),
    u: () => element("decide-unsure")?.click(),
    z: () => element("undo")?.click(),
    j: () => element("next-open")?.click(),
    c: () => run("cluster", { cluster: whole(element("point")?.dataset.cluster) }),
    ArrowLeft: () => element("previous")?.click(),
    ArrowRight: () => element("following")?.click(),
    Escape: () => run("clear", {}),
  };

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.target.closest("input, select, textarea, [contenteditable]")) return;
    const target = element("move-to");
    if (/^[1-9]$/.test(event.key) && target && target.options.length >= Number(event.key)) {
      target.selectedIndex = Number(event.key) - 1;
      event.preventDefault();
    } else if (event.key in KEYS) {
      KEYS[event.key]();
      event.preventDefault();
    }
  }

  function toggleHelp() {
    const help = element("help");
    help.hidden = !help.hidden;
    element("help-button").setAttribute("aria-expanded", String(!help.hidden));
  }

  async function start() {
    const { documents, items } = JSON.parse(element("figure-data").textContent);
    await Bokeh.embed.embed_items(documents, items);
    const figure = Bokeh.documents[0];
    // The connection calls back later, when the map is there.
    connection = new explorer.Connection(onNews, onState);
    map = new explorer.Map2D(figure, connection);
    explorer.map = map;
    document.addEventListener("click", onClick);
    document.addEventListener("submit", onSubmit);
    document.addEventListener("keydown", onKey);
    element("help-button").addEventListener("click", toggleHelp);
    document.documentElement.dataset.ready = "true";
  }

  start();
})((window.allegianceExplorer ??= {}));
