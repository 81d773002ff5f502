// Writes home directories as ~ in texts, tool arguments and tool results.
//
// The plugin of the same name in Rust (`plugins/rewrite-home-paths`), in JavaScript: tests hold the
// two beside each other. Only the home directory itself is replaced; where a path is not certainly
// one (`/srv/home/x`, a URL), it is left alone.

export const summary = "Writes home directories as ~ in texts, tool arguments and tool results";
export const version = "0.1.0";

/** What each kind begins with. */
const BEGINNINGS = { linux: ["/home/"], macos: ["/Users/"], windows: [":\\", ":/"], root: ["/root"] };
const KINDS = Object.keys(BEGINNINGS);
const PROSE = ["text", "tool-arguments", "tool-result"];
const EVERYBODYS = ["public", "default", "all users"];

let beginnings = [];

export function configure({ kinds = KINDS, ...others }) {
  const [unknown] = [...Object.keys(others), ...kinds.filter((kind) => !KINDS.includes(kind))];
  if (unknown !== undefined) throw new Error(`\`${unknown}\` is unknown: there are \`kinds\`, of ${KINDS.join(", ")}`);
  if (kinds.length === 0) throw new Error("`kinds` is empty, so nothing would ever be rewritten");
  beginnings = kinds.flatMap((kind) => BEGINNINGS[kind]);
}

/** @param {import("../../plugins/javascript/leafgate").Request} request */
export function transform(request) {
  const edits = [];
  for (const leaf of request.leaves) {
    // Reasoning may be signed, metadata is ids and names.
    if (leaf.value !== "text" || !PROSE.includes(leaf.kind)) continue;
    const text = rewritten(leaf.text);
    if (text !== undefined) edits.push(leaf.set(text));
  }
  return edits;
}

/** The text with its home directories as ~, or nothing where it has none. */
function rewritten(text) {
  // Put together at the end: a text that grows piece by piece would be copied for each.
  const written = [];
  let kept = 0;
  for (const { at, beginning } of candidates(text)) {
    const found = home(text, beginning, at, kept);
    if (found === undefined) continue;
    written.push(text.slice(kept, found.start), "~");
    kept = found.end;
  }
  return kept > 0 ? written.join("") + text.slice(kept) : undefined;
}

/** Every place where a home directory may begin, in order. */
function candidates(text) {
  const all = [];
  let kinds = 0;
  for (const beginning of beginnings) {
    // The engine looks for a word many times faster where it splits a text than in `indexOf`.
    const pieces = text.split(beginning);
    if (pieces.length > 1) kinds += 1;
    for (let piece = 0, at = 0; piece < pieces.length - 1; piece += 1) {
      at += pieces[piece].length;
      all.push({ at, beginning });
      at += beginning.length;
    }
  }
  return kinds > 1 ? all.sort((one, other) => one.at - other.at) : all;
}

/** The home directory that begins so at this place, unless it reaches back to what is written. */
function home(text, beginning, at, kept) {
  const windows = beginning[0] === ":";
  const start = windows ? at - 1 : at;
  if (start < kept || (windows && !/[A-Za-z]/.test(text[start])) || !beginsPath(text, start)) return undefined;
  const end = windows ? endOnWindows(text, at) : endOnUnix(text, at, beginning);
  return end === undefined ? undefined : { start, end };
}

function endOnUnix(text, at, beginning) {
  const user = at + beginning.length;
  if (beginning === "/root") return endsName(text, user) ? user : undefined;
  const end = userName(text, user);
  return beginning === "/Users/" && text.slice(user, end) === "Shared" ? undefined : end;
}

/** `:\Users\<user>` with any of the separators `\`, `\\` and `/`. */
function endOnWindows(text, colon) {
  const folder = separated(text, colon + 1);
  if (folder === undefined || text.slice(folder, folder + 5).toLowerCase() !== "users") return undefined;
  const user = separated(text, folder + 5);
  const end = user === undefined ? undefined : spacedUserName(text, user);
  if (end === undefined || EVERYBODYS.includes(text.slice(user, end).toLowerCase())) return undefined;
  return end;
}

function separated(text, at) {
  if (text.startsWith("\\\\", at)) return at + 2;
  return text[at] === "\\" || text[at] === "/" ? at + 1 : undefined;
}

/** The first 128 characters, told by a table: most texts have no others, and a pattern is slower. */
function table(characters) {
  const told = new Uint8Array(128);
  for (let i = 0; i < characters.length; i += 1) told[characters.charCodeAt(i)] = 1;
  return told;
}
const NAMES = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
const OF_NAME = table(NAMES);
const OF_PATH = table(`${NAMES}/\\~$}>*%@`);
const LETTER = /[\p{Alphabetic}\p{N}]/u;

function endOfName(text, at) {
  for (;;) {
    const code = text.charCodeAt(at);
    if (code < 128) {
      if (OF_NAME[code] === 0) return at;
      at += 1;
    } else {
      if (at >= text.length) return at;
      const character = String.fromCodePoint(text.codePointAt(at));
      if (!LETTER.test(character)) return at;
      at += character.length;
    }
  }
}

const isSeparator = (text, at) => text[at] === "/" || text[at] === "\\";

/** A full stop or hyphen at its end belongs to the sentence, unless the path goes on. */
function userName(text, at) {
  let end = endOfName(text, at);
  if (!isSeparator(text, end)) while (end > at && (text[end - 1] === "." || text[end - 1] === "-")) end -= 1;
  for (let i = at; i < end; i += 1) if (text[i] !== ".") return end;
  return undefined;
}

/** A blank belongs to the name only if the path goes on behind the next words. */
function spacedUserName(text, at) {
  const end = userName(text, at);
  if (end === undefined) return undefined;
  let further = end;
  for (let word = 1; word < 4 && text[further] === " "; word += 1) {
    const begin = further + 1;
    further = endOfName(text, begin);
    if (further > begin && isSeparator(text, further)) return further;
  }
  return end;
}

/** `/rootfs` and `/root.txt` are other places, `/root.` is the end of a sentence. */
function endsName(text, at) {
  let next = at;
  while (text[next] === ".") next += 1;
  if (next === text.length) return true;
  const name = endOfName(text, next) > next;
  return next > at ? !name && text[next] !== "/" : !name;
}

const BEFORE_PATH = /(?:file:\/\/\/?|\\[ntr]|(?:^|[\s"'=,])-[A-Za-z])$/u;

/** Not in the middle of a longer path, nor in a URL. */
function beginsPath(text, at) {
  if (at === 0) return true;
  const last = text.charCodeAt(at - 1);
  // A character of two units is told by both.
  const inside = last < 128 ? OF_PATH[last] === 1 : /[\p{Alphabetic}\p{N}]$/u.test(text.slice(Math.max(0, at - 2), at));
  // No rule looks further back than this.
  return !inside || BEFORE_PATH.test(text.slice(Math.max(0, at - 8), at));
}
