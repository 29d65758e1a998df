/** The server as a separate process, for tests that kill it, measure its memory, or read its output. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import https from "node:https";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  Api,
  type Domain,
  endpointOf,
  gated,
  leftOpen,
  ownObjectsOnly,
  renamer,
  temporaryFolder,
  tokenFile,
  tokenLines,
} from "./harness.ts";

const program = fileURLToPath(new URL("../bin/binnacle.ts", import.meta.url));

export interface ServerProcess {
  readonly api: Api;
  readonly child: ChildProcess;
  readonly dataDir: string;
  /** Resolves with the exit code, or the signal, once the process has ended. */
  readonly exited: Promise<number | string>;
  /** Returns the resident memory in bytes, from the metrics of the process. */
  memoryBytes(): Promise<number>;
  /** Ends the process, and resolves with its exit code or signal. */
  stop(signal?: NodeJS.Signals): Promise<number | string>;
}

interface ProcessOptions {
  readonly domain: Domain;
  readonly dataDir?: string;
  readonly storage?: "disk" | "memory";
  /** The value of `--controllers`. Controllers that would change the objects of a suite run only if they are named. */
  readonly controllers?: readonly string[];
  /** Lines of the token file for users besides those of the tests. */
  readonly tokens?: readonly string[];
  readonly flags?: readonly string[];
}

/**
 * Starts `binnacle serve` on a free port and waits until it is ready. A process that a test leaves running is killed at
 * the end of the file.
 */
export async function spawnServer(options: ProcessOptions): Promise<ServerProcess> {
  const { domain, dataDir = join(temporaryFolder(), "data"), storage = "memory", tokens = [], flags = [] } = options;
  const { controllers = ownObjectsOnly } = options;
  const rename = renamer(domain);
  const child = spawn(
    process.execPath,
    [
      "--conditions=source",
      "--disable-warning=ExperimentalWarning",
      program,
      "serve",
      "-o",
      "json",
      `--api-domain=${domain}`,
      `--data-dir=${dataDir}`,
      `--storage=${storage}`,
      "--secure-port=0",
      `--token-auth-file=${tokenFile([...tokenLines, ...tokens])}`,
      `--feature-gates=${gated.featureGates!.join(",")}`,
      `--runtime-config=${rename(gated.runtimeConfig!.join(","))}`,
      `--controllers=${controllers.join(",")}`,
      ...flags,
    ],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  let errors = "";
  child.stderr.on("data", (text: Buffer) => {
    errors = (errors + text.toString()).slice(-4000);
  });
  const kill = (): boolean => child.kill("SIGKILL");
  leftOpen.add(kill);
  const exited = once(child, "exit").then(([code, signal]) => {
    leftOpen.delete(kill);
    return (code ?? signal) as number | string;
  });
  const line = await firstLine(child.stdout, exited, () => errors);
  const { url } = JSON.parse(line) as { url: string };
  const ca = readFileSync(join(dataDir, "pki/ca.crt"), "utf8");
  const agent = new https.Agent({ keepAlive: true, ca, maxSockets: 256 });
  const endpoint = endpointOf(url, agent, rename);
  const stop = async (signal: NodeJS.Signals = "SIGTERM"): Promise<number | string> => {
    agent.destroy();
    child.kill(signal);
    return exited;
  };
  const kubeconfig = readFileSync(join(dataDir, "admin.kubeconfig"), "utf8");
  const api = new Api({ domain, url, ca, kubeconfig, endpoint, close: async () => void (await stop()) });
  return {
    api,
    child,
    dataDir,
    exited,
    stop,
    async memoryBytes() {
      const { text } = (await api.get("/metrics")).expect(200);
      return Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1]);
    },
  };
}

async function firstLine(
  stream: NodeJS.ReadableStream,
  exited: Promise<number | string>,
  errors: () => string,
): Promise<string> {
  let text = "";
  const ended = exited.then((code) => {
    throw new Error(`the server ended with ${code}: ${errors()}`);
  });
  const line = (async () => {
    for await (const piece of stream) {
      text += String(piece);
      if (text.includes("\n")) return text.split("\n")[0]!;
    }
    return ended;
  })();
  const first = await Promise.race([line, ended]);
  ended.catch(() => undefined);
  return first;
}
