/**
 * `npm run differ -- --kubectl`: runs the commands of `kubectl-commands.ts` against both servers with each kubectl of the
 * machine, and compares what it prints.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findPrograms } from "../../test/kubectl/programs.ts";
import { type KubectlCommand, kubectlCommands } from "./kubectl-commands.ts";
import type { Server } from "./servers.ts";

interface KubectlOptions {
  /** The number from which the name of the run is made. */
  readonly first: number;
  readonly differencesMax: number;
  /** Only commands that contain this text are compared. All of them run, since later ones need what earlier ones made. */
  readonly only?: string | undefined;
  readonly verbose?: boolean | undefined;
}

/** Returns the number of commands with different output. */
export async function compareKubectl(servers: readonly Server[], options: KubectlOptions): Promise<number> {
  const { first, differencesMax, only = "", verbose } = options;
  const programs = [...findPrograms()];
  if (programs.length === 0) throw new Error("there is no kubectl on the PATH");
  const folder = mkdtempSync(join(tmpdir(), "binnacle-differ-"));
  let [compared, differing] = [0, 0];
  try {
    for (const [index, [name, path]] of programs.entries()) {
      const run = `run-${first + index}`;
      const clients = servers.map((server) => new Kubectl(server, path, run, join(folder, `${name}-${server.name}`)));
      for (const command of kubectlCommands) {
        const outputs = await Promise.all(clients.map((client) => client.output(command)));
        if (!command.args.includes(only)) continue;
        compared++;
        const [ours, theirs] = outputs as [string, string]; // there are two servers
        if (ours === theirs) continue;
        differing++;
        process.stdout.write(`${name} ${command.args}\n${differentLines(ours, theirs)}\n\n`);
        if (differing >= differencesMax) break;
      }
      if (verbose === true) process.stdout.write(`${name}: ${compared} commands compared\n`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  process.stdout.write(`${compared} commands of kubectl compared, ${differing} differ\n`);
  return differing;
}

/** The time after which a command is ended; what it printed is compared. */
const timeoutMs = 60_000;

/** A kubectl that speaks to a server, with a home folder of its own. */
class Kubectl {
  readonly #server: Server;
  readonly #program: string;
  readonly #run: string;
  readonly #home: string;

  constructor(server: Server, program: string, run: string, home: string) {
    this.#server = server;
    this.#program = program;
    this.#run = run;
    this.#home = mkdtempSync(`${home}-`);
    const one = <T>(value: T): readonly [T] => [value];
    const kubeconfig = {
      apiVersion: "v1",
      kind: "Config",
      "current-context": "run",
      contexts: one({ name: "run", context: { cluster: "run", user: "run", namespace: run } }),
      clusters: one({ name: "run", cluster: { server: server.url.origin, "insecure-skip-tls-verify": true } }),
      users: one({ name: "run", user: { token: server.token } }),
    };
    writeFileSync(join(this.#home, "kubeconfig"), JSON.stringify(kubeconfig), { mode: 0o600 });
  }

  /** Runs a command. Returns its exit code and what it printed, without what differs between any two servers. */
  output({ args, input }: KubectlCommand): Promise<string> {
    const named = (text: string): string => text.replaceAll("RUN", this.#run);
    const argv = [...named(args).matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
    const env = {
      PATH: process.env["PATH"],
      HOME: this.#home,
      KUBECACHEDIR: join(this.#home, "cache"),
      KUBECONFIG: join(this.#home, "kubeconfig"),
      TMPDIR: this.#home,
    };
    return new Promise((resolve, reject) => {
      const child = spawn(this.#program, argv, { env, cwd: this.#home, timeout: timeoutMs });
      const printed = { out: "", err: "" };
      child.stdout.on("data", (piece: Buffer) => (printed.out += piece.toString()));
      child.stderr.on("data", (piece: Buffer) => (printed.err += piece.toString()));
      child.on("error", reject);
      child.on("close", (code) =>
        resolve(this.#comparable(`${printed.out}\n--- ${code}\n${printed.err}`, args.startsWith("explain"))),
      );
      // A command that ends early does not read its input; its output says why.
      child.stdin.on("error", () => undefined);
      const list = { apiVersion: "v1", kind: "List", items: input };
      child.stdin.end(input === undefined ? "" : named(JSON.stringify(list)));
    });
  }

  #comparable(text: string, isExplanation: boolean): string {
    const { url } = this.#server;
    return (
      (isExplanation ? text.replace(/DESCRIPTION:\n[\s\S]*?(?=FIELDS?:|--- \d)/g, "") : text)
        .replaceAll(url.host, "SERVER")
        .replaceAll(this.#home, "HOME")
        .replace(/[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g, "UID")
        .replace(/\bkube-api-access-[a-z0-9]{5}\b/g, "kube-api-access-RANDOM")
        .replace(/\b(LIVE-|MERGED-|kubectl_replace_)\d+/g, "$1RANDOM")
        // The reference shows the change of a pod in Go's syntax, this server its fields (docs/compatibility.md).
        .replace(/(pod updates may not change fields other than [^\n]*?)(?: \(changed: [^\n]*\))?\n[\s\S]*$/, "$1")
        .replace(/\d{4}-\d\d-\d\d[T ][\d:.]+(?:Z| \+0000(?: UTC)?)/g, "TIME")
        .replace(/[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [\d:]+ [+-]\d{4}/g, "TIME")
        .replace(/^[EIW]\d{4} [\d:.]+ +\d+ /gm, "LOG ")
        .replace(/\b\d+(?:[smhdy](?:\d+[smhd])?)(?= |$)/gm, "AGE")
        .replace(/(resourceVersion: |"resourceVersion":\s*|Resource Version: +)"?\d+"?/g, '$1"VERSION"')
        .replace(/\b10\.\d+\.\d+\.\d+\b(?!\/)/g, "ADDRESS")
        .replace(/\b3[0-2]\d{3}\b/g, "PORT")
        .replace(/ {2,}/g, "  ")
        .replace(/[-=]{3,}/g, "---")
    );
  }
}

/** Returns the lines that only one of both texts has, ours with a plus. */
function differentLines(ours: string, theirs: string): string {
  const [own, other] = [ours.split("\n"), theirs.split("\n")];
  const only = (lines: readonly string[], rest: readonly string[], mark: string): readonly string[] =>
    lines.filter((line) => !rest.includes(line)).map((line) => `  ${mark} ${line}`);
  const lines = [...only(own, other, "+"), ...only(other, own, "-")];
  return lines.length === 0 ? "  the lines have another order or number" : lines.slice(0, 40).join("\n");
}
