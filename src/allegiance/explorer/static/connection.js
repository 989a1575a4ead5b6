// The connection to the server: questions with answers, news for all tabs, and a new attempt when it is lost.
"use strict";
(function (explorer) {
  const token = new URLSearchParams(location.search).get("token") ?? "";
  // Milliseconds before the next attempt, and how far they grow.
  const FIRST_WAIT = 300;
  const LONGEST_WAIT = 5000;
  // Commands that change the log: kept until they are answered, and sent again after a lost connection.
  const LASTING = new Set(["decide", "undo"]);
  const VIEWS = { float64: Float64Array, int32: Int32Array, uint8: Uint8Array };

  // Read a binary message: eight bytes for the question's number, four for the length of a header, header, arrays.
  function unpack(buffer) {
    const look = new DataView(buffer);
    const length = look.getUint32(8, true);
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 12, length)));
    let at = 12 + length;
    const arrays = {};
    for (const [name, [kind, size]] of Object.entries(header.arrays)) {
      arrays[name] = new VIEWS[kind](buffer, at, size);
      at += Math.ceil(arrays[name].byteLength / 8) * 8;
    }
    return { ...header, id: look.getUint32(0, true), arrays };
  }

  class Connection {
    // onNews: takes messages that answer no question; onState: takes true when connected, false when not.
    constructor(onNews, onState) {
      this.onNews = onNews;
      this.onState = onState;
      this.number = 0;
      this.waiting = new Map();
      this.wait = FIRST_WAIT;
      this.connect();
    }

    connect() {
      const scheme = location.protocol === "https:" ? "wss:" : "ws:";
      const folder = location.pathname.replace(/[^/]*$/, "");
      this.socket = new WebSocket(`${scheme}//${location.host}${folder}socket?token=${encodeURIComponent(token)}`);
      this.socket.binaryType = "arraybuffer";
      this.socket.onopen = () => {
        this.wait = FIRST_WAIT;
        for (const [id, { message }] of this.waiting) this.socket.send(JSON.stringify({ id, ...message }));
        this.onState(true);
      };
      this.socket.onmessage = (event) => this.receive(event.data);
      this.socket.onclose = () => this.lost();
    }

    lost() {
      this.onState(false);
      for (const [id, { message, reject }] of this.waiting) {
        if (LASTING.has(message.do)) continue;
        this.waiting.delete(id);
        reject(new Error("the connection was lost"));
      }
      setTimeout(() => this.connect(), this.wait);
      this.wait = Math.min(2 * this.wait, LONGEST_WAIT);
    }

    receive(data) {
      const message = typeof data === "string" ? JSON.parse(data) : unpack(data);
      if (message.event !== undefined) {
        this.onNews(message);
        return;
      }
      const asked = this.waiting.get(message.id);
      if (asked === undefined) return;
      this.waiting.delete(message.id);
      if (message.error !== undefined) asked.reject(new Error(message.error));
      else asked.resolve(message);
    }

    // Ask the server to do something; the promise holds its answer.
    ask(name, values = {}) {
      const id = ++this.number;
      const message = { do: name, ...values };
      if (LASTING.has(name)) message.command = crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`;
      return new Promise((resolve, reject) => {
        if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify({ id, ...message }));
        else if (!LASTING.has(name)) return reject(new Error("there is no connection to the server"));
        this.waiting.set(id, { message, resolve, reject });
      });
    }
  }

  explorer.Connection = Connection;
  explorer.exportAddress = (name) => `export/${name}?token=${encodeURIComponent(token)}`;
})((window.allegianceExplorer ??= {}));
