// The types of a Leafgate plugin in JavaScript. An editor that reads them (`/** @param {import("./leafgate").Request} request */`)
// completes and checks a plugin; the gate itself needs no types and reads no import.
//
// A plugin is one module that imports nothing. It exports `detect` (a detector) or `transform` (a transformer), and may export the
// rest of `Detector` or `Transformer`. There is no clock, no random number, no file and no network; nothing is asynchronous. A call has
// a fresh instance: what a plugin keeps in variables is gone after it.

export type Role = "system" | "user" | "assistant" | "tool" | "other";

export type LeafKind =
  | "text"
  | "tool-arguments"
  | "tool-result"
  | "reasoning"
  | "tool-schema"
  | "request-option"
  | "metadata"
  | "other";

export type ValueType = "text" | "number" | "boolean" | "null";

export type SectionKind =
  | "system"
  | "user"
  | "assistant"
  | "context"
  | "history"
  | "tool-call"
  | "tool-result"
  | "content-part"
  | "prediction"
  | "request-option"
  | "other";

export type Confidence = "low" | "medium" | "high";

/** What is looked for: a word, a pattern, or several of them. */
export type Pattern = string | RegExp | (string | RegExp)[];

/** A stretch of a leaf's text, in the units in which JavaScript counts it. Without a label it has the first one. */
export interface Finding {
  start: number;
  end: number;
  label?: string;
  confidence?: Confidence;
}

/** A leaf as a detector sees it. */
export interface DetectLeaf {
  readonly id: number;
  readonly kind: LeafKind;
  readonly value: ValueType;
  readonly role: Role;
  /** The tool's name where the leaf belongs to a call or a result. */
  readonly tool: string | undefined;
  /** The nearest object key above the leaf, "" where there is none. */
  readonly key: string;
  readonly text: string;
  finding(start: number, end: number, label?: string, confidence?: Confidence): Finding;
  /** Findings for all stretches that match. */
  find(what: Pattern, label?: string, confidence?: Confidence): Finding[];
}

/** What `transform` answers: made by the methods below. */
export interface Edit {
  readonly leaf?: number;
  readonly section?: number;
}

/** A message, a content part, a tool call or a request option. */
export interface Section {
  readonly id: number;
  readonly kind: SectionKind;
  readonly role: Role;
  readonly label: string;
  readonly tool: string | undefined;
  /** The section around it. */
  readonly parent: Section | undefined;
  /** Its place among the messages. */
  readonly message: number | undefined;
  /** Whether it is of this kind, or lies in one that is. */
  isWithin(kind: SectionKind): boolean;
  /** Keeps later rules from changing it. */
  pin(): Edit;
  /** Deletes its message. */
  delete(): Edit;
  /** Inserts a whole message before it. */
  insertBefore(role: Role, text: string): Edit;
  note(text: string): Edit;
  pause(reason: string): Edit;
  block(reason: string): Edit;
}

/** A leaf that the rule selected, as a transformer sees it. */
export interface Leaf {
  readonly id: number;
  readonly section: Section;
  readonly kind: LeafKind;
  readonly value: ValueType;
  /** RFC 6901 pointer into the request as it stands now. */
  readonly pointer: string;
  readonly key: string;
  readonly text: string;
  /** Gives it a new text; for a number, a boolean or null, a new JSON spelling. */
  set(text: string): Edit;
  /** Redacts what matches, or the stretches that are given. */
  redact(what: Pattern | [start: number, end: number][], label?: string): Edit;
  pin(): Edit;
  note(text: string): Edit;
  pause(reason: string): Edit;
  block(reason: string): Edit;
}

export interface Request {
  /** "openai-chat", "openai-responses", "anthropic-messages", "raw", "vscode-chat" or "generic". */
  readonly format: string;
  readonly model: string;
  /** Opaque, and the same for every turn of one conversation. */
  readonly session: string;
  readonly subagent: boolean;
  readonly sections: readonly Section[];
  readonly leaves: readonly Leaf[];
  /** A remark for the reviewer. */
  note(text: string): Edit;
  /** Asks a person. */
  pause(reason: string): Edit;
  /** Stops the request. */
  block(reason: string): Edit;
}

interface Plugin {
  /** One sentence. */
  summary?: string;
  version?: string;
  /** JSON Schema of the configuration. */
  configSchema?: object;
  /** Takes `config` of the rule file before anything is asked. What it throws is shown to whoever wrote the rule file. */
  configure?(config: any): void;
}

export interface Detector extends Plugin {
  /** What findings are called, `[A-Z][A-Z0-9]{1,15}`. */
  labels: string[];
  /** An answer depends on the leaf and the configuration alone: the gate remembers it. */
  detect(leaf: DetectLeaf): Finding[] | Finding | undefined;
}

export interface Transformer extends Plugin {
  /** What redactions are called. */
  labels?: string[];
  transform(request: Request): (Edit | Edit[])[] | Edit | undefined;
}
