// Writes tabs of tool results as four spaces.

export const summary = "Writes tabs of tool results as spaces";

/** @param {import("./leafgate").Request} request */
export function transform(request) {
  const results = request.leaves.filter((leaf) => leaf.kind === "tool-result" && leaf.text.includes("\t"));
  return results.map((leaf) => leaf.set(leaf.text.replaceAll("\t", "    ")));
}
