// Finds words that a rule file lists.

/** What findings are called. */
export const labels = ["WORD"];
export const summary = "Finds words";


/** What `config` of a rule file may be: the gate tells what does not fit by key and line. */
export const configSchema = {
  type: "object",
  properties: { words: { type: "array", items: { type: "string" }, minItems: 1 } },
  required: ["words"],
  additionalProperties: false,
};

let words = [];

/** Takes `config`. What it throws is shown to whoever wrote that, too. */
export function configure(config) {
  words = config.words;
}

/** @param {import("./leafgate").DetectLeaf} leaf */
export function detect(leaf) {
  return leaf.find(words);
}
