/** Runs released kubectl programs (`programs.ts`). All use one server in the domain k8s.io. */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { patienceMs } from "../client.ts";
import { anyServer, Api, type TestServer, temporaryFolder } from "../harness.ts";
import { findPrograms } from "./programs.ts";
import assert from "node:assert/strict";

interface Run {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A kubectl with a namespace. */
export class Kubectl {
  readonly api: Api;
  readonly ns: string;
  readonly #program: string;
  readonly #env: NodeJS.ProcessEnv;

  constructor(api: Api, ns: string, program: string, env: NodeJS.ProcessEnv) {
    this.api = api;
    this.ns = ns;
    this.#program = program;
    this.#env = env;
  }

  /** Runs kubectl with these arguments. Resolves also when it fails. */
  try(args: readonly string[], { input, env }: RunOptions = {}): Promise<Run> {
    return new Promise((resolve, reject) => {
      const child = this.#spawn(args, env);
      let stdout = "";
      let stderr = "";
      child.stdout.on("data", (text: Buffer) => {
        stdout += text.toString();
      });
      child.stderr.on("data", (text: Buffer) => {
        stderr += text.toString();
      });
      child.on("error", reject);
      child.on("close", (code) => resolve({ code: code ?? -1, stdout, stderr }));
      child.stdin.end(input ?? "");
    });
  }

  /** Runs kubectl and resolves with its output. Rejects when it fails. */
  async run(args: readonly string[], options: RunOptions = {}): Promise<string> {
    const { code, stdout, stderr } = await this.try(args, options);
    assert.equal(code, 0, `kubectl ${args.join(" ")}: ${stderr}${stdout}`);
    return stdout;
  }

  /** Runs kubectl and expects that it fails with this text. */
  async fails(args: readonly string[], text: RegExp, options: RunOptions = {}): Promise<void> {
    const { code, stdout, stderr } = await this.try(args, options);
    assert.notEqual(code, 0, `kubectl ${args.join(" ")}: ${stdout}`);
    assert.match(stderr + stdout, text);
  }

  /** Starts kubectl; `until` resolves once it has printed a text. */
  start(args: readonly string[]): { until: (text: RegExp) => Promise<string>; stop: () => void } {
    const child = this.#spawn(args);
    child.stdin.end();
    let printed = "";
    let wake = (): void => undefined;
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (text: Buffer) => {
        printed += text.toString();
        wake();
      });
    }
    return {
      stop: () => child.kill(),
      async until(text) {
        const deadline = Date.now() + patienceMs;
        while (!text.test(printed)) {
          const left = deadline - Date.now();
          assert.ok(left > 0, `kubectl ${args.join(" ")} did not print ${text}: ${printed}`);
          await new Promise<void>((resolve) => {
            const timer = setTimeout(resolve, left);
            wake = () => {
              clearTimeout(timer);
              resolve();
            };
          });
        }
        return printed;
      },
    };
  }

  /** Writes a manifest to a file and returns its path. Objects are written as JSON. */
  file(manifest: unknown, name = "manifest.yaml"): string {
    const path = join(temporaryFolder(), name);
    writeFileSync(path, typeof manifest === "string" ? manifest : JSON.stringify(manifest));
    return path;
  }

  #spawn(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    // The words behind `--` are a command of a container.
    const end = args.includes("--") ? args.indexOf("--") : args.length;
    const given = this.ns === "" ? args : args.toSpliced(end, 0, "--namespace", this.ns);
    return spawn(this.#program, given, { env: { ...this.#env, ...env }, stdio: ["pipe", "pipe", "pipe"] });
  }
}

type KubectlTest = (name: string, run: (kubectl: Kubectl) => Promise<void>) => void;

/** Registers tests for every kubectl; each test has a namespace of its own. Skips when there is no kubectl. */
export function kubectlSuite(register: (kubectlTest: KubectlTest) => void): void {
  const programs = findPrograms();
  if (programs.size === 0) {
    test("kubectl", { skip: "no kubectl on the PATH" }, () => undefined);
    return;
  }
  let server: Promise<TestServer> | undefined;
  after(async () => (await server)?.close());
  for (const [name, path] of programs) {
    describe(name, () => {
      let env: NodeJS.ProcessEnv | undefined;
      register((title, run) => {
        test(title, async () => {
          server ??= anyServer("k8s.io");
          const api = new Api(await server);
          env ??= environment(await server);
          const { ns } = await api.createNamespace();
          try {
            await run(new Kubectl(api, ns, path, env));
          } finally {
            api.close();
          }
        });
      });
    });
  }
}

/**
 * Returns an environment without the user's own settings: an empty home folder, a kubeconfig, and a folder for edited
 * files.
 */
export function environment(server: TestServer): NodeJS.ProcessEnv {
  const home = temporaryFolder();
  const kubeconfig = join(home, "kubeconfig");
  writeFileSync(kubeconfig, server.kubeconfig, { mode: 0o600 });
  const { PATH } = process.env;
  const own = { HOME: home, USERPROFILE: home, TMPDIR: home, TEMP: home, KUBECACHEDIR: join(home, "cache") };
  return { PATH, ...own, KUBECONFIG: kubeconfig };
}
