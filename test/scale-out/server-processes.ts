/**
 * Servers as processes of the built program (`dist/`), which share an etcd. Each has a port that outlives it, and a name
 * (`s0` and so on) by which a relay knows it. The token `admin-token` is that of an administrator.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { lastingPort } from "../go-program.ts";
import { endWithUs } from "./end-with-us.ts";
import type { EtcdCluster } from "./etcd-for-tests.ts";
import type { Relay } from "./relay.ts";

/** The file of the built program. */
export const builtProgram = fileURLToPath(new URL("../../dist/bin/binnacle.js", import.meta.url));

/** Returns the text of a file; empty if it is not there. */
export const textOf = (path: string): string => (existsSync(path) ? readFileSync(path, "utf8") : "");

/** The reason why there are no such servers; `undefined` if there can be. */
export const notBuilt = (): string | undefined =>
  existsSync(builtProgram) ? undefined : "the program is not built: npm run build";

interface ServersOptions {
  readonly cluster: EtcdCluster;
  readonly count: number;
  /** The relay between servers and members; without it they are connected directly. */
  readonly relay?: Relay;
  /** The flags of all servers; `{folder}` stands for the folder of each. */
  readonly flags?: readonly string[];
}

export class ServerProcess {
  readonly name: string;
  readonly port: number;
  readonly folder: string;
  readonly #args: readonly string[];
  #child: ChildProcess | undefined;
  /** Whether it is started again when it ends by itself. */
  #isWanted = false;

  constructor(name: string, port: number, folder: string, flags: readonly string[]) {
    this.name = name;
    this.port = port;
    this.folder = folder;
    this.#args = [builtProgram, "serve", "-o=json", `--secure-port=${port}`, `--data-dir=${folder}`, ...flags];
  }

  get url(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  get ca(): string {
    return readFileSync(join(this.folder, "pki", "ca.crt"), "utf8");
  }

  /** The lines that it has logged since its first start. */
  get logged(): string {
    return textOf(`${this.folder}.log`);
  }

  /** Whether a process runs. */
  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Starts the process, unless it runs. Resolves when it serves, or with its end. It is started again after an end. */
  async start(): Promise<void> {
    this.#isWanted = true;
    if (this.isRunning) return;
    const child = spawn(process.execPath, this.#args, { stdio: ["ignore", "pipe", "pipe"] });
    endWithUs(child);
    this.#child = child;
    child.stderr.on("data", (bytes: Buffer) => writeFileSync(`${this.folder}.log`, bytes, { flag: "a" }));
    child.once("exit", (code, signal) => {
      writeFileSync(`${this.folder}.log`, `ended: ${code ?? signal}\n`, { flag: "a" });
      if (this.#isWanted && this.#child === child) void sleep(500).then(() => this.#again());
    });
    const printed = once(createInterface({ input: child.stdout }), "line");
    await Promise.race([printed, once(child, "exit")]);
  }

  /** Starts the process, a second and third time if it ends: on a busy machine etcd may not answer in time. */
  async startSurely(): Promise<void> {
    for (let tries = 0; tries < 3 && !this.isRunning; tries++) await this.start();
  }

  async #again(): Promise<void> {
    if (this.#isWanted) await this.start();
  }

  /** Sends a signal. After `SIGKILL` and `SIGTERM` it waits for the end, and does not start again. */
  async signal(name: "SIGKILL" | "SIGTERM" | "SIGSTOP" | "SIGCONT"): Promise<void> {
    const isEnd = name === "SIGKILL" || name === "SIGTERM";
    if (isEnd) this.#isWanted = false;
    const child = this.#child;
    if (child === undefined || !this.isRunning) return;
    const exited = isEnd ? once(child, "exit") : undefined;
    child.kill(name);
    await exited;
  }
}

export class Servers {
  readonly all: readonly ServerProcess[];
  readonly #folder: string;

  private constructor(all: readonly ServerProcess[], folder: string) {
    this.all = all;
    this.#folder = folder;
  }

  /** Starts servers with the same credentials, and waits until they serve. */
  static async start({ cluster, count, relay, flags = [] }: ServersOptions): Promise<Servers> {
    const folder = mkdtempSync(join(tmpdir(), "binnacle-servers-"));
    const tokens = join(folder, "tokens.csv");
    writeFileSync(tokens, "admin-token,admin,admin-uid,system:masters\n");
    const all: ServerProcess[] = [];
    for (let at = 0; at < count; at++) {
      const name = `s${at}`;
      const own = join(folder, name);
      mkdirSync(own);
      const links = cluster.endpoints.map((url, to) => ({ from: name, to: `m${to}`, port: Number(new URL(url).port) }));
      const endpoints =
        relay === undefined ? cluster.endpoints : (await relay.open(links)).map((port) => `http://127.0.0.1:${port}`);
      all.push(
        new ServerProcess(name, await lastingPort(), own, [
          "--api-domain=k8s.io",
          `--token-auth-file=${tokens}`,
          `--etcd-servers=${endpoints.join(",")}`,
          ...flags.map((flag) => flag.replaceAll("{folder}", own)),
        ]),
      );
    }
    const servers = new Servers(all, folder);
    try {
      await servers.#startAll();
    } catch (error) {
      await servers.stop();
      throw error;
    }
    return servers;
  }

  async #startAll(): Promise<void> {
    const [first, ...others] = this.all;
    await first?.startSurely();
    if (first?.isRunning !== true) throw new Error(`a server does not start: ${first?.logged.slice(-2000)}`);
    for (const { folder } of others) cpSync(join(first.folder, "pki"), join(folder, "pki"), { recursive: true });
    await Promise.all(others.map((server) => server.startSurely()));
    const failed = others.find((server) => !server.isRunning);
    if (failed !== undefined) throw new Error(`a server does not start: ${failed.logged.slice(-2000)}`);
  }

  /** Ends all servers. Returns what they have logged, by name. */
  async stop(): Promise<ReadonlyMap<string, string>> {
    await Promise.all(this.all.map((server) => server.signal("SIGKILL")));
    const logged = new Map(this.all.map((server) => [server.name, server.logged]));
    rmSync(this.#folder, { recursive: true, force: true });
    return logged;
  }
}
