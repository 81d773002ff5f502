// Where the frames of stack traces stand in a text.

// `    at f (/a/b.js:1:2)` of JavaScript and Java, `   at /a/b.rs:1:2` of Rust.
const AT = /^\s+at\s/;
// `  File "/a/b.py", line 1, in f` of Python, whose next line is source.
const FILE = /^\s+File "[^"]*", line \d+/;

/** Cuts a text into runs of lines that are frames of libraries, and runs of other lines. */
export function frames(text, foreign) {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const runs = [];
  for (let at = 0; at < lines.length; ) {
    const size = frameSize(lines, at);
    const frame = lines.slice(at, at + Math.max(size, 1)).join("");
    const isForeign = size > 0 && foreign.some((part) => frame.includes(part));
    const last = runs.at(-1);
    if (last?.foreign === isForeign) last.lines.push(frame);
    else runs.push({ foreign: isForeign, lines: [frame] });
    at += Math.max(size, 1);
  }
  return runs;
}

/** How many lines the frame that begins here has; 0 where none does. */
function frameSize(lines, at) {
  if (FILE.test(lines[at])) return lines[at + 1] !== undefined && /^\s{4}/.test(lines[at + 1]) ? 2 : 1;
  return AT.test(lines[at]) ? 1 : 0;
}
