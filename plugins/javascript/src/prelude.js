// What a plugin finds in place before its first line runs, and what makes its answers plain.
//
// Runs once, when the engine is built. Everything that an answer is checked with is taken from the
// engine's own objects here, so that a plugin that changes `Array.prototype` breaks itself alone.
(() => {
  "use strict";
  const { isArray } = Array;
  const { isInteger } = Number;
  const stringify = JSON.stringify;
  const CONFIDENCES = ["low", "medium", "high"];
  // The words of the contract, in its order.
  const ROLES = ["system", "user", "assistant", "tool", "other"];
  const PLACES = { __proto__: null, system: 0, user: 1, assistant: 2, tool: 3, other: 4 };
  const VALUES = ["text", "number", "boolean", "null"];
  const KINDS = [
    "text", "tool-arguments", "tool-result", "reasoning", "tool-schema", "request-option", "metadata", "other",
  ];
  const SECTIONS = [
    "system", "user", "assistant", "context", "history", "tool-call", "tool-result", "content-part", "prediction",
    "request-option", "other",
  ];

  const nothing = (what) => () => {
    throw new Error(`there is no ${what} in a plugin: the same input must give the same answer`);
  };
  Math.random = nothing("random number");
  const RealDate = Date;
  const now = nothing("clock");
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args, self) => (args.length === 0 ? now() : Reflect.construct(target, args, self)),
    apply: now,
  });
  RealDate.now = now;
  RealDate.prototype.constructor = globalThis.Date;
  delete globalThis.performance;
  delete globalThis.WeakRef;
  delete globalThis.FinalizationRegistry;

  const shown = (value) => {
    if (typeof value === "string") return value;
    if (value instanceof Error) return String(value);
    try {
      return stringify(value) ?? String(value);
    } catch {
      return String(value);
    }
  };
  const log = globalThis.__log;
  delete globalThis.__log;
  const say = (level) => (...values) => log(level, values.map(shown).join(" "));
  globalThis.console = { debug: say(0), log: say(1), info: say(1), warn: say(2), error: say(3) };

  // Stretches of a text, for a word, a pattern or a list of both.
  const stretches = (text, what) => {
    const found = [];
    for (const one of isArray(what) ? what : [what]) {
      if (typeof one === "string") {
        if (one === "") throw new TypeError("an empty word is found everywhere");
        for (let at = text.indexOf(one); at >= 0; at = text.indexOf(one, at + one.length)) {
          found.push([at, at + one.length]);
        }
      } else if (one instanceof RegExp) {
        const pattern = one.global ? one : new RegExp(one.source, `${one.flags}g`);
        pattern.lastIndex = 0;
        for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
          if (match[0] === "") pattern.lastIndex += 1;
          else found.push([match.index, match.index + match[0].length]);
        }
      } else {
        throw new TypeError("what is looked for is a word, a pattern or a list of them");
      }
    }
    return found;
  };

  class DetectLeaf {
    constructor(id, kind, value, role, tool, key, text) {
      this.id = id;
      this.kind = KINDS[kind];
      this.value = VALUES[value];
      this.role = ROLES[role];
      this.tool = tool;
      this.key = key;
      this.text = text;
    }
    finding(start, end, label, confidence) {
      return { start, end, label, confidence };
    }
    find(what, label, confidence) {
      return stretches(this.text, what).map(([start, end]) => ({ start, end, label, confidence }));
    }
  }

  class Leaf {
    constructor(id, section, kind, value, pointer, key, text) {
      this.id = id;
      this.section = section;
      this.kind = KINDS[kind];
      this.value = VALUES[value];
      this.pointer = pointer;
      this.key = key;
      this.text = text;
    }
    set(text) {
      return { leaf: this.id, set: text };
    }
    redact(what, label) {
      const spans = isArray(what) && isArray(what[0]) ? what : stretches(this.text, what);
      return { leaf: this.id, redact: spans, label };
    }
    pin() {
      return { leaf: this.id, pin: true };
    }
    note(text) {
      return { leaf: this.id, note: text };
    }
    pause(text) {
      return { leaf: this.id, pause: text };
    }
    block(text) {
      return { leaf: this.id, block: text };
    }
  }

  class Section {
    constructor(id, kind, role, label, tool, parent, message) {
      this.id = id;
      this.kind = SECTIONS[kind];
      this.role = ROLES[role];
      this.label = label;
      this.tool = tool;
      this.parent = parent;
      this.message = message;
    }
    isWithin(kind) {
      for (let section = this, left = 64; section && left > 0; section = section.parent, left -= 1) {
        if (section.kind === kind) return true;
      }
      return false;
    }
    pin() {
      return { section: this.id, pin: true };
    }
    delete() {
      return { section: this.id, delete: true };
    }
    insertBefore(role, text) {
      return { section: this.id, insertBefore: { role, text } };
    }
    note(text) {
      return { section: this.id, note: text };
    }
    pause(text) {
      return { section: this.id, pause: text };
    }
    block(text) {
      return { section: this.id, block: text };
    }
  }

  class Request {
    constructor(format, model, session, subagent, sections, leaves) {
      this.format = format;
      this.model = model;
      this.session = session;
      this.subagent = subagent;
      this.sections = sections;
      this.leaves = leaves;
    }
    note(text) {
      return { note: text };
    }
    pause(text) {
      return { pause: text };
    }
    block(text) {
      return { block: text };
    }
  }

  const list = (answer, what) => {
    if (answer === undefined || answer === null) return [];
    if (isArray(answer)) return answer;
    if (typeof answer.then === "function") throw new TypeError(`${what} must not be async: nothing comes later`);
    return [answer];
  };

  const labelOf = (labels, label, what) => {
    if (label === undefined && labels.length > 0) return 0;
    const place = labels.indexOf(label);
    if (place < 0) throw new TypeError(`${what} has a label that \`labels\` does not name`);
    return place;
  };

  const number = (value, what) => {
    if (!isInteger(value) || value < 0) throw new TypeError(`${what} is no place in a text`);
    return value;
  };

  // The findings of one leaf as numbers: start, end, label, confidence.
  const findings = (answer, labels) => {
    const flat = [];
    for (const finding of list(answer, "`detect`")) {
      const confidence = CONFIDENCES.indexOf(finding.confidence ?? "high");
      if (confidence < 0) throw new TypeError("`confidence` is low, medium or high");
      flat.push(number(finding.start, "`start` of a finding"), number(finding.end, "`end` of a finding"));
      flat.push(labelOf(labels, finding.label, "a finding"), confidence);
    }
    return flat;
  };

  const wellFormed = (text, what) => {
    if (typeof text !== "string") throw new TypeError(`${what} is no string`);
    return text.toWellFormed();
  };

  const edit = (one, labels) => {
    const target = one.leaf !== undefined ? { leaf: one.leaf } : one.section !== undefined ? { section: one.section } : {};
    if (one.set !== undefined) return { ...target, set: wellFormed(one.set, "`set`") };
    if (one.redact !== undefined) {
      const label = labelOf(labels, one.label, "a redaction");
      const spans = one.redact.map((span) => [number(span[0], "a redaction"), number(span[1], "a redaction"), label]);
      return { ...target, redact: spans };
    }
    if (one.pin) return { ...target, pin: null };
    if (one.delete) return { ...target, delete: null };
    if (one.insertBefore !== undefined) {
      const { role, text } = one.insertBefore;
      const place = PLACES[role];
      if (place === undefined) throw new TypeError("the role of `insertBefore` is system, user, assistant, tool or other");
      return { ...target, insertBefore: [place, wellFormed(text, "`insertBefore`")] };
    }
    for (const what of ["note", "pause", "block"]) {
      if (one[what] !== undefined) return { ...target, [what]: wellFormed(one[what], `\`${what}\``) };
    }
    throw new TypeError("an edit says `set`, `redact`, `pin`, `delete`, `insertBefore`, `note`, `pause` or `block`");
  };

  // The edits of a request as JSON; nothing where there are none.
  const edits = (answer, labels) => {
    const all = list(answer, "`transform`");
    return all.length === 0 ? "" : stringify(all.flat().map((one) => edit(one, labels)));
  };

  // What the source exports, as it says it itself. Scripts are named by their digest: their version need say nothing.
  const about = (exported) => {
    const { labels = [], summary = "", version = "", configSchema, detect, transform } = exported;
    if (!isArray(labels) || !labels.every((label) => typeof label === "string")) {
      throw new TypeError("`labels` is no list of strings");
    }
    const schema = configSchema === undefined ? undefined : stringify(configSchema);
    const is = (value) => typeof value === "function";
    const said = { summary: String(summary) || "A script without a `summary`.", version: String(version) || "script" };
    return stringify({ labels, ...said, schema, detect: is(detect), transform: is(transform) });
  };

  return {
    detectLeaf: (...parts) => new DetectLeaf(...parts),
    leaf: (...parts) => new Leaf(...parts),
    section: (...parts) => new Section(...parts),
    detect: (detect, leaf, labels) => findings(detect(leaf), labels),
    request: (...parts) => new Request(...parts),
    transform: (transform, request, labels) => edits(transform(request), labels),
    about,
  };
})();
