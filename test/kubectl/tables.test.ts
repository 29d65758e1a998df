/** kubectl's tables are the same in both API domains, though kubectl knows the names of one only. */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { Api, type Domain, domains, eventually, openServer, temporaryFolder } from "../harness.ts";
import { objectsOfKinds } from "../objects-of-kinds.ts";
import { findPrograms } from "./programs.ts";

/** A kubectl that watches. */
class Watch {
  readonly #child;
  #output = "";

  constructor(program: string, args: readonly string[], env: NodeJS.ProcessEnv) {
    this.#child = spawn(program, [...args, "-w", "--output-watch-events"], {
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#child.stdout.setEncoding("utf8").on("data", (text: string) => (this.#output += text));
  }

  /** Resolves when an event of the type has been printed. */
  printed(type: string): Promise<void> {
    return eventually(async () => assert.match(this.#output, new RegExp(`^${type} .*\\n`, "m")));
  }

  /** Ends the program, and resolves with what it printed. */
  async end(): Promise<string> {
    const closed = once(this.#child, "close");
    this.#child.kill();
    await closed;
    return this.#output;
  }
}

/** Returns what kubectl prints about each kind in a domain, with Kubernetes' names and without ages. */
async function printTables(program: string, domain: Domain): Promise<Map<string, string>> {
  const server = await openServer(domain, {});
  const api = new Api(server);
  const folder = temporaryFolder();
  const kubeconfig = join(folder, "kubeconfig");
  writeFileSync(kubeconfig, server.kubeconfig, { mode: 0o600 });
  const env = { KUBECONFIG: kubeconfig, HOME: folder };
  const neutral = (printed: string): string =>
    printed
      .replaceAll(domain, "DOMAIN")
      .replaceAll(/kubernetes\.io|k8s\.io/g, "DOMAIN")
      .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "UID")
      .replace(/\b\d+s\b/g, "0s")
      .replace(/\d{4}-\d\d-\d\dT[\d:]+Z/g, "TIME")
      .replace(/10\.0\.\d+\.\d+/g, "10.0.0.1")
      .replace(/ +/g, " ");
  const get = async (...args: readonly string[]): Promise<string> => {
    const { stdout } = await promisify(execFile)(program, ["get", ...args], { env });
    return neutral(stdout);
  };
  try {
    const tables = new Map<string, string>();
    for (const [path, fields] of objectsOfKinds) {
      (await api.post(path, { metadata: { name: "a" }, ...fields })).expect(201);
      const resource = path.split("/").at(-1)!;
      const forms = [[], ["-o", "wide"], ["--show-labels"]];
      const printed = await Promise.all(forms.map((form) => get(resource, "a", ...form)));
      // A watch of a single name begins at any version, and would tell the first change only if it is late enough.
      const watch = new Watch(program, ["get", resource, "--field-selector=metadata.name=a"], env);
      await watch.printed("ADDED");
      (await api.patch(`${path}/a`, { metadata: { labels: { seen: "yes" } } })).expect(200);
      await watch.printed("MODIFIED");
      (await api.delete(`${path}/a`, { propagationPolicy: "Background" })).expect(200);
      await watch.printed("DELETED");
      // Controllers may change an object a different number of times.
      const watched = new Set(neutral(await watch.end()).split("\n"));
      tables.set(resource, [...printed, ...watched].join("\n"));
    }
    return tables;
  } finally {
    await server.close();
  }
}

const [program] = findPrograms().values();

test("tables of twenty kinds, wide and watched ones too, are the same in both domains", {
  skip: program === undefined ? "no kubectl on the PATH" : false,
}, async () => {
  const [kubernetes, platform] = [await printTables(program!, domains[0]), await printTables(program!, domains[1])];
  assert.ok(kubernetes!.size >= 20);
  for (const table of kubernetes!.values()) assert.match(table, /NAME/);
  assert.deepEqual(Object.fromEntries(platform!), Object.fromEntries(kubernetes!));
});
