// A transformer that shortens stack traces in tool results: frames of libraries and of the runtime are told by their number, frames of
// the project stay. Written against `wit/plugin.wit` itself and built by jco, so it may import what npm has.

import { frames } from "./frames.js";

const SCHEMA = {
  type: "object",
  properties: {
    keep: { type: "integer", minimum: 0, description: "Frames of libraries that stay in each run of them; 1 by default." },
    foreign: {
      type: "array",
      items: { type: "string" },
      description: "Parts of paths that only libraries have.",
    },
  },
  additionalProperties: false,
};

const FOREIGN = ["/node_modules/", "node:internal/", "/site-packages/", "/lib/python", "/.cargo/registry/", "/rustc/"];

let settings = { keep: 1, foreign: FOREIGN };

export const lifecycle = {
  describe: () => ({
    name: "shorten-stacks",
    version: "0.1.0",
    summary: "Shortens stack traces in tool results to the frames of the project",
    labels: [],
    configSchema: JSON.stringify(SCHEMA),
    attributes: [],
  }),
  // The gate has held it beside the schema.
  configure: (config) => {
    settings = { ...settings, ...JSON.parse(config) };
  },
};

export const transform = {
  transform: (request, sections, leaves) =>
    leaves.flatMap((leaf) => {
      if (leaf.value !== "text" || !isResult(sections, leaf)) return [];
      const text = shorten(leaf.text);
      return text === leaf.text ? [] : [{ target: { tag: "leaf", val: leaf.id }, action: { tag: "set", val: text } }];
    }),
};

/** A tool's result, whether the leaf says so itself or only the section around it. */
function isResult(sections, leaf) {
  if (leaf.kind === "tool-result") return true;
  if (leaf.kind !== "text") return false;
  for (let place = leaf.section, left = sections.length; place !== undefined && left > 0; left--) {
    if (sections[place]?.kind === "tool-result") return true;
    place = sections[place]?.parent;
  }
  return false;
}

function shorten(text) {
  let shortened = "";
  for (const { lines, foreign } of frames(text, settings.foreign)) {
    const cut = foreign ? lines.slice(settings.keep) : [];
    shortened += lines.slice(0, lines.length - cut.length).join("");
    // One line that tells of one line is no shorter.
    if (cut.length === 1) shortened += cut[0];
    else if (cut.length > 1) shortened += `${/^\s*/.exec(cut[0])[0]}[${cut.length} frames of libraries]${/\n*$/.exec(cut.at(-1))[0]}`;
  }
  return shortened;
}
