/**
 * The programs of a whole control plane beside the API server: kube-controller-manager and kube-scheduler 1.32, kwok, whose
 * nodes and pods only pretend to run, and a kubelet 1.32 whose containers only pretend (kubemark). `npm run control-plane`
 * builds them.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { freePort, GoModule, stop } from "../go-program.ts";
import { file, temporaryFolder } from "../harness.ts";
import type { ServerProcess } from "../process.ts";

const folder = fileURLToPath(new URL("../../node_modules/.cache/binnacle/control-plane/", import.meta.url));

interface Program {
  /** The name of the program's file. */
  readonly name: string;
  /** The name of the step that builds it. */
  readonly label: string;
  readonly module: string;
  readonly package: string;
}

const kubernetes = (name: string, label: string): Program => ({
  name,
  label,
  module: "control-plane/kubernetes",
  package: `k8s.io/kubernetes/cmd/${name}`,
});

export const programs: readonly Program[] = [
  kubernetes("kube-controller-manager", "controllers"),
  kubernetes("kube-scheduler", "scheduler"),
  kubernetes("kubemark", "kubelet"),
  { name: "kwok", label: "kwok", module: "control-plane/kwok", package: "sigs.k8s.io/kwok/cmd/kwok" },
];

const pathOf = (name: string): string => join(folder, name);

/** Builds a program; the first time downloads its modules. Returns Go's output if it fails. */
export function buildProgram(program: Program): string | undefined {
  mkdirSync(folder, { recursive: true });
  const built = new GoModule(program.module).run(
    ["build", "-trimpath", "-o", pathOf(program.name), program.package],
    true,
  );
  return "problem" in built ? built.problem : undefined;
}

/** Returns the reason why the programs cannot be used; `undefined` if they can. */
export const missingPrograms = (): string | undefined =>
  programs.every(({ name }) => existsSync(pathOf(name)))
    ? undefined
    : "the programs are not built: npm run control-plane builds them";

/** The users of the programs in the server's token file; their roles are those of the default policy. */
export const programTokens: readonly string[] = [
  "controllers-token,system:kube-controller-manager,controllers-uid",
  "scheduler-token,system:kube-scheduler,scheduler-uid",
  "kwok-token,kwok,kwok-uid",
  "kubelet-token,system:node:hollow,kubelet-uid,system:nodes",
];

/** The programs that run beside a server. */
export class ControlPlane {
  readonly #children: ChildProcess[] = [];
  readonly #logs = temporaryFolder();
  readonly #server: ServerProcess;

  constructor(server: ServerProcess) {
    this.#server = server;
  }

  /** Starts all programs, each with the rights of its own user. */
  start(): void {
    const pki = join(this.#server.dataDir, "pki");
    const controllers = this.#kubeconfig("controllers");
    const scheduler = this.#kubeconfig("scheduler");
    this.#run("kube-controller-manager", [
      ...identity(controllers),
      "--controllers=*",
      "--use-service-account-credentials",
      `--service-account-private-key-file=${pki}/sa.key`,
      `--root-ca-file=${pki}/ca.crt`,
      `--cluster-signing-cert-file=${pki}/ca.crt`,
      `--cluster-signing-key-file=${pki}/ca.key`,
    ]);
    this.#run("kube-scheduler", identity(scheduler));
    this.#run("kwok", [
      `--kubeconfig=${this.#kubeconfig("kwok")}`,
      "--manage-all-nodes=false",
      "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
      // Without heartbeats the nodes would be lost after a while.
      "--node-lease-duration-seconds=40",
      "--server-address=",
      "--cidr=10.244.0.1/16",
    ]);
  }

  /** Starts the kubelet of the node `hollow`, which takes only pods that tolerate its taint. */
  async startKubelet(): Promise<void> {
    this.#run("kubemark", [
      "--morph=kubelet",
      "--name=hollow",
      `--kubeconfig=${this.#kubeconfig("kubelet")}`,
      `--kubelet-port=${await freePort()}`,
      "--kubelet-read-only-port=0",
      `--cert-dir=${this.#logs}`,
      "--use-host-image-service=false",
      "--register-with-taints=hollow=true:NoSchedule",
    ]);
  }

  /** Returns the last lines of the log of each program that has ended. */
  problems(): string {
    return this.#children
      .filter(({ exitCode }) => exitCode !== null)
      .map(({ spawnfile, exitCode }) => {
        const log = readFileSync(join(this.#logs, spawnfile.slice(folder.length)), "utf8");
        return `${spawnfile} ended with ${exitCode}: ${log.trimEnd().split("\n").slice(-5).join("\n")}`;
      })
      .join("\n");
  }

  async stop(): Promise<void> {
    await Promise.all(this.#children.map(stop));
  }

  #run(name: string, flags: readonly string[]): void {
    const log = openSync(join(this.#logs, name), "w");
    const child = spawn(pathOf(name), flags, { stdio: ["ignore", log, log] });
    closeSync(log);
    child.once("error", () => undefined); // `problems` reports a program that does not start
    this.#children.push(child);
  }

  #kubeconfig(user: string): string {
    const { url, ca } = this.#server.api.server;
    const one = <T>(value: T): readonly [T] => [value];
    return file(
      `${user}.kubeconfig`,
      JSON.stringify({
        apiVersion: "v1",
        kind: "Config",
        "current-context": user,
        clusters: one({
          name: user,
          cluster: { server: url, "certificate-authority-data": Buffer.from(ca).toString("base64") },
        }),
        users: one({ name: user, user: { token: `${user}-token` } }),
        contexts: one({ name: user, context: { cluster: user, user } }),
      }),
    );
  }
}

/** The flags of a component of Kubernetes that listens nowhere. */
const identity = (kubeconfig: string): readonly string[] => [
  `--kubeconfig=${kubeconfig}`,
  `--authentication-kubeconfig=${kubeconfig}`,
  `--authorization-kubeconfig=${kubeconfig}`,
  "--secure-port=0",
];
