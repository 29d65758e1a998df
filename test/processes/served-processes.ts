/** `binnacle serve --processes=N` from source, with a client on a connection to each process. Needs `/proc`. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import https from "node:https";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { endWithUs } from "../scale-out/end-with-us.ts";
import {
  Api,
  endpointOf,
  eventually,
  leftOpen,
  ownObjectsOnly,
  renamer,
  temporaryFolder,
  tokenFile,
} from "../harness.ts";
import { program } from "../program/program.ts";

/** The reason why such tests cannot run here. */
export const unsuitable: string | undefined = process.platform === "linux" ? undefined : "needs /proc";

interface Options {
  readonly count: number;
  /** The data folder; a new one when left out. */
  readonly dataDir?: string;
  readonly flags?: readonly string[];
  /** The executable of Node; that of the tests when left out. */
  readonly node?: string;
  readonly variables?: NodeJS.ProcessEnv;
}

export class ServedProcesses {
  readonly supervisor: ChildProcess;
  readonly count: number;
  readonly dataDir: string;
  readonly url: string;
  /** Resolves with the exit code, or the signal, of the supervisor. */
  readonly exited: Promise<number | string>;
  readonly #logged: string[];
  readonly #agents: https.Agent[] = [];
  #probes = 0;

  private constructor(
    supervisor: ChildProcess,
    { count, dataDir }: Required<Pick<Options, "count" | "dataDir">>,
    url: string,
    logged: string[],
  ) {
    this.supervisor = supervisor;
    this.count = count;
    this.dataDir = dataDir;
    this.url = url;
    this.#logged = logged;
    this.exited = once(supervisor, "exit").then(([code, signal]) => (code ?? signal) as number | string);
  }

  /** Starts the processes, and waits until all are ready. They are killed at the end of the test. */
  static async start(t: TestContext, options: Options): Promise<ServedProcesses> {
    const { count, dataDir = join(temporaryFolder(), "data"), flags = [], node = process.execPath } = options;
    const args = [
      "--disable-warning=ExperimentalWarning",
      ...program,
      "serve",
      "-o=json",
      `--processes=${count}`,
      "--api-domain=k8s.io",
      `--data-dir=${dataDir}`,
      "--secure-port=0",
      `--controllers=${ownObjectsOnly.join(",")}`,
      `--token-auth-file=${tokenFile()}`,
      // Lines of requests say which process has answered.
      "-v=4",
      ...flags,
    ];
    const env = { ...process.env, ...options.variables };
    const supervisor = spawn(node, args, { env, stdio: ["ignore", "pipe", "pipe"] });
    endWithUs(supervisor);
    const kill = (): boolean => supervisor.kill("SIGKILL");
    leftOpen.add(kill);
    const logged: string[] = [];
    createInterface({ input: supervisor.stderr }).on("line", (line) => logged.push(line));
    const first = once(createInterface({ input: supervisor.stdout }), "line");
    const line = await Promise.race([first, once(supervisor, "exit").then(() => undefined)]);
    if (line === undefined) throw new Error(`the processes do not start: ${logged.slice(-20).join("\n")}`);
    const { url } = JSON.parse(line[0] as string) as { url: string };
    const served = new ServedProcesses(supervisor, { count, dataDir }, url, logged);
    t.after(async () => {
      for (const agent of served.#agents) agent.destroy();
      kill();
      leftOpen.delete(kill);
      await served.exited;
    });
    return served;
  }

  /** The lines of the log so far. */
  get logged(): readonly string[] {
    return this.#logged;
  }

  /** Returns a client with one connection, whichever process has it. */
  connect(): Api {
    const agent = new https.Agent({ keepAlive: true, ca: this.#ca, maxSockets: 1 });
    this.#agents.push(agent);
    return new Api({
      domain: "k8s.io",
      url: this.url,
      ca: this.#ca,
      kubeconfig: readFileSync(join(this.dataDir, "admin.kubeconfig"), "utf8"),
      endpoint: endpointOf(this.url, agent, renamer("k8s.io")),
      close: () => Promise.resolve(agent.destroy()),
    });
  }

  /** Returns a client whose connection a certain process has. */
  async connectTo(index: number): Promise<Api> {
    for (;;) {
      const api = this.connect();
      if ((await this.processOf(api)) === index) return api;
      await api.server.close();
    }
  }

  /** Returns clients with a connection to each process. */
  async connectToAll(): Promise<readonly Api[]> {
    const apis: Api[] = [];
    for (let index = 0; index < this.count; index++) apis.push(await this.connectTo(index));
    return apis;
  }

  /** Returns the number of the process that answers a client. */
  processOf(api: Api): Promise<number> {
    return this.processThatAnswers((path) => api.get(path));
  }

  /** Returns the number of the process that answers a request which `get` sends. */
  async processThatAnswers(get: (path: string) => Promise<{ readonly status: number }>): Promise<number> {
    const mark = `probe-${this.#probes++}-`;
    assert.equal((await get(`/version?${mark}`)).status, 200);
    return eventually(() => {
      const line = this.#logged.findLast((one) => one.includes(mark));
      if (line === undefined) return Promise.reject(new Error(`no process has logged ${mark}`));
      return Promise.resolve((JSON.parse(line) as { process: number }).process);
    });
  }

  /** Returns the ids of the processes that run, by their numbers. */
  pids(): ReadonlyMap<number, number> {
    return processesOf(this.supervisor);
  }

  /** Sends a signal to a process. */
  signal(index: number, name: "SIGKILL" | "SIGSTOP" | "SIGCONT"): void {
    process.kill(this.pids().get(index)!, name);
  }

  /** Kills a process, and resolves when the next one in its place serves. */
  killAndAwait(index: number): Promise<void> {
    return this.awaitNext(index, () => this.signal(index, "SIGKILL"));
  }

  /** Does what ends a process, and resolves when the next one in its place serves. */
  async awaitNext(index: number, end: () => unknown): Promise<void> {
    const served = this.#timesServed(index);
    await end();
    await eventually(() =>
      this.#timesServed(index) > served
        ? Promise.resolve()
        : Promise.reject(new Error(`process ${index} does not serve again: ${this.#logged.slice(-5).join("\n")}`)),
    );
  }

  #timesServed(index: number): number {
    return this.#logged.filter((line) => line.includes(`"process":${index},"msg":"a process serves again"`)).length;
  }

  get #ca(): string {
    return readFileSync(join(this.dataDir, "pki/ca.crt"), "utf8");
  }
}

/** Returns the ids of the serving processes that run under a supervisor, by their numbers. */
export function processesOf({ pid }: ChildProcess): ReadonlyMap<number, number> {
  const children = textOf(`/proc/${pid}/task/${pid}/children`).split(" ").filter(Boolean).map(Number);
  return new Map(
    children.flatMap((child) => {
      const [, index] = /(?:^|\0)BINNACLE_PROCESS=(\d+)/.exec(textOf(`/proc/${child}/environ`)) ?? [];
      return index === undefined ? [] : [[Number(index), child]];
    }),
  );
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** Resolves when none of these processes is there any more. */
export async function untilGone(pids: Iterable<number>): Promise<void> {
  for (const pid of pids) while (isThere(pid)) await sleep(20);
}

/** Whether a process runs, or stands still. */
export const isThere = (pid: number): boolean => /^State:\s+[^ZX]/m.test(textOf(`/proc/${pid}/status`));
