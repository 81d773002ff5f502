// Finds words that a rule file lists.

/** What findings are called. */
export const labels = ["WORD"];
export const summary = "Finds words";

let words = [];

/** Takes `config` of the rule file. What it throws is shown to whoever wrote that. */
export function configure({ words: listed, ...others }) {
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw new Error(`unknown field \`${unknown}\`: there is \`words\``);
  if (!listed?.length) throw new Error("`words` is empty, so nothing would ever be found");
  words = listed;
}

/** @param {import("./leafgate").DetectLeaf} leaf */
export function detect(leaf) {
  return leaf.find(words);
}
