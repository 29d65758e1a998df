/**
 * Members of a real etcd for tests and benches, each a process of its own on ports of the loopback interface. The
 * program is that of the Go module `test/scale-out/etcd/`, built once for each state of the module.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createHash, createPublicKey, type KeyObject } from "node:crypto";
import { once } from "node:events";
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type CertificateTemplate, keyPem, newKey, signCertificate } from "#std/certificate.ts";
import { systemRandom } from "#std/random.ts";
import { GoModule, lastingPort } from "../go-program.ts";
import { endWithUs } from "./end-with-us.ts";
import type { Relay } from "./relay.ts";

const module = new GoModule("scale-out/etcd");
const moduleFolder = fileURLToPath(new URL("etcd/", import.meta.url));

/** Returns the reason why etcd cannot be built here; `undefined` if it can. */
export const missing = (): string | undefined => module.missingModule(".");

/** Returns the path of etcd, which is built if it is not there. */
const buildEtcd = (): string => buildOnce(module, moduleFolder, ".", "etcd");

/** Returns the path of the program that prints what etcd commits (`etcd/truth/main.go`). */
export const buildTruth = (): string => buildOnce(module, moduleFolder, "./truth", "truth");

/** Returns the reason why `EtcdMember.restore` cannot work here; `undefined` if it can. */
export const missingRestore = (): string | undefined => module.missingModule("./etcdutl");

/** Builds a program of a Go module in `folder`, if it is not there in the state of its files. Returns its path. */
export function buildOnce(of: GoModule, folder: string, packageName: string, name: string): string {
  const hash = createHash("sha256");
  for (const file of ["go.mod", "go.sum", join(packageName, "main.go")]) hash.update(readFileSync(join(folder, file)));
  const target = join(tmpdir(), `binnacle-${name}-${hash.digest("hex").slice(0, 16)}`);
  const program = join(target, name);
  if (existsSync(program)) return program;
  mkdirSync(target, { recursive: true });
  // Another process may build it at the same time.
  const own = `${program}-${process.pid}`;
  of.build(packageName, own);
  renameSync(own, program);
  return program;
}

/** Files in PEM: an authority, and a certificate with its key. */
export interface TestTls {
  readonly authority: string;
  readonly certificate: string;
  readonly key: string;
}

interface ClusterOptions {
  /** The number of members; 1 when left out. */
  readonly members?: 1 | 3;
  /** Whether clients must use TLS with certificates. */
  readonly isTls?: boolean;
  /** Whether members also listen on sockets `m0.sock` and so on in the folder of the cluster. */
  readonly hasSocket?: boolean;
  /** Whether writes are synced to the disk. */
  readonly isSynced?: boolean;
  /** The relay through which members reach each other; their names there are `m0` and so on. */
  readonly relay?: Relay;
  readonly flags?: readonly string[];
}

interface MemberSettings {
  readonly program: string;
  readonly endpoint: string;
  /** The address of the health check. */
  readonly health: string;
  readonly dataDir: string;
  readonly flags: readonly string[];
}

class EtcdMember {
  readonly #settings: MemberSettings;
  readonly #log: string;
  #child: ChildProcess | undefined;

  constructor(settings: MemberSettings) {
    this.#settings = settings;
    this.#log = `${settings.dataDir}.log`;
  }

  get #isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  get endpoint(): string {
    return this.#settings.endpoint;
  }

  /** The address of its health check and metrics. */
  get health(): string {
    return this.#settings.health;
  }

  /** Starts the process, unless it runs. */
  start(): void {
    if (this.#isRunning) return;
    const log = openSync(this.#log, "a");
    this.#child = spawn(this.#settings.program, this.#settings.flags, { stdio: ["ignore", log, log] });
    endWithUs(this.#child);
    closeSync(log);
    this.#child.once("error", () => undefined); // `ready` reports it
  }

  /** Waits until the member serves requests. */
  async ready(): Promise<void> {
    for (let tries = 0; tries < 600; tries++) {
      if (this.#child?.exitCode !== null) break;
      const answer = await fetch(`${this.#settings.health}/health`).catch(() => undefined);
      if (answer?.ok === true) return;
      await sleep(50);
    }
    const log = readFileSync(this.#log, "utf8").split("\n").slice(-5).join("\n");
    throw new Error(`etcd does not serve: ${log}`);
  }

  /** Copies the database of a member that is stopped, as a backup. */
  backUp(file: string): void {
    copyFileSync(join(this.#settings.dataDir, "member", "snap", "db"), file);
  }

  /** Replaces the data of a member that is stopped by a backup, as `etcdutl snapshot restore` does, with these flags. */
  restore(file: string, ...flags: readonly string[]): void {
    this.lose();
    const own = this.#settings.flags.filter((flag) => /^--(?:name|data-dir|initial-\S+)=/.test(flag));
    const args = ["snapshot", "restore", file, "--skip-hash-check", ...own, ...flags];
    const program = buildOnce(module, moduleFolder, "./etcdutl", "etcdutl");
    const { status, stderr } = spawnSync(program, args, { encoding: "utf8" });
    if (status !== 0) throw new Error(stderr);
  }

  /** Removes the data. */
  lose(): void {
    rmSync(this.#settings.dataDir, { recursive: true });
  }

  /** Sends a signal. After `SIGKILL` and `SIGTERM` it waits for the end. */
  async signal(name: "SIGKILL" | "SIGTERM" | "SIGSTOP" | "SIGCONT"): Promise<void> {
    const child = this.#child;
    if (child === undefined || !this.#isRunning) return;
    const exited = name === "SIGKILL" || name === "SIGTERM" ? once(child, "exit") : undefined;
    child.kill(name);
    await exited;
  }
}

const startsMax = 3;

export class EtcdCluster {
  readonly members: readonly EtcdMember[];
  /** The files of a client; `undefined` without TLS. */
  readonly tls: TestTls | undefined;
  readonly folder: string;

  private constructor(members: readonly EtcdMember[], folder: string, tls: TestTls | undefined) {
    this.members = members;
    this.folder = folder;
    this.tls = tls;
  }

  /** Starts a cluster. A port that another process has taken meanwhile costs a further try. */
  static async start(options: ClusterOptions = {}): Promise<EtcdCluster> {
    for (let tries = 1; ; tries++) {
      try {
        return await EtcdCluster.#startOnce(options);
      } catch (error) {
        if (tries === startsMax || !String(error).includes("address already in use")) throw error;
      }
    }
  }

  static async #startOnce(options: ClusterOptions): Promise<EtcdCluster> {
    const { members: count = 1, isTls = false, hasSocket = false, isSynced = false, relay, flags = [] } = options;
    const program = buildEtcd();
    const folder = mkdtempSync(join(tmpdir(), "binnacle-etcd-"));
    const tls = isTls ? await writeTls(folder) : undefined;
    const scheme = isTls ? "https" : "http";
    const addresses: { readonly client: string; readonly peer: string; readonly health: string }[] = [];
    const address = async (): Promise<string> => `127.0.0.1:${await lastingPort()}`;
    for (let at = 0; at < count; at++) {
      addresses.push({
        client: `${scheme}://${await address()}`,
        peer: `http://${await address()}`,
        health: `http://${await address()}`,
      });
    }
    const peers = await advertised(
      addresses.map(({ peer }) => peer),
      relay,
    );
    const initial = peers.map((peer, at) => `m${at}=${peer}`).join(",");
    const members = addresses.map(({ client, peer, health }, at) => {
      const dataDir = join(folder, `m${at}`);
      const all = [
        `--name=m${at}`,
        `--data-dir=${dataDir}`,
        `--listen-client-urls=${client}${hasSocket ? `,unix://${join(folder, `m${at}.sock`)}` : ""}`,
        `--advertise-client-urls=${client}`,
        `--listen-peer-urls=${peer}`,
        `--initial-advertise-peer-urls=${peers[at]}`,
        `--initial-cluster=${initial}`,
        `--initial-cluster-token=${folder}`,
        `--listen-metrics-urls=${health}`,
        "--enable-grpc-gateway=false",
        "--log-level=error",
        ...(isSynced ? [] : ["--unsafe-no-fsync"]),
        ...(tls === undefined ? [] : tlsFlags(folder)),
        ...flags,
      ];
      return new EtcdMember({ program, endpoint: client, health, dataDir, flags: all });
    });
    for (const member of members) member.start();
    const cluster = new EtcdCluster(members, folder, tls);
    try {
      for (const member of members) await member.ready();
      relay?.name(await namesOf(addresses[0]!.peer));
    } catch (error) {
      await cluster.stop();
      throw error;
    }
    return cluster;
  }

  get endpoints(): readonly string[] {
    return this.members.map(({ endpoint }) => endpoint);
  }

  /** Ends all members, and removes their data. */
  async stop(): Promise<void> {
    await Promise.all(this.members.map((member) => member.signal("SIGKILL")));
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Returns the addresses at which members reach each other. */
async function advertised(peers: readonly string[], relay: Relay | undefined): Promise<readonly string[]> {
  if (relay === undefined) return peers;
  const links = peers.map((peer, at) => ({ to: `m${at}`, port: Number(new URL(peer).port) }));
  return (await relay.open(links)).map((port) => `http://127.0.0.1:${port}`);
}

/** Returns the names of members by their ids in hexadecimal, which are too large for numbers. */
async function namesOf(peer: string): Promise<Record<string, string>> {
  const text = await (await fetch(`${peer}/members`)).text();
  return Object.fromEntries(
    [...text.matchAll(/"id":(\d+).*?"name":"(m\d)"/g)].map(([, id, name]) => [BigInt(id!).toString(16), name!]),
  );
}

const tlsFlags = (folder: string): readonly string[] => [
  `--cert-file=${join(folder, "server.crt")}`,
  `--key-file=${join(folder, "server.key")}`,
  "--client-cert-auth",
  `--trusted-ca-file=${join(folder, "ca.crt")}`,
];

const hourMs = 3_600_000;

/**
 * Writes an authority, a certificate of the members and two of clients, of which one is expired. The names of the files
 * begin with `prefix`. Returns the files of the client.
 */
export async function writeTls(folder: string, prefix = ""): Promise<TestTls> {
  const authority = newKey();
  const issuer = { commonName: `${prefix}etcd-ca`, key: authority };
  const validity = { notBeforeMs: Date.now() - hourMs, notAfterMs: Date.now() + hourMs };
  const path = (name: string): string => join(folder, `${prefix}${name}`);
  const write = async (name: string, key: KeyObject, of: Partial<CertificateTemplate> = {}): Promise<void> => {
    const template = {
      commonName: name,
      publicKey: createPublicKey(key),
      usage: "client" as const,
      ...validity,
      ...of,
    };
    writeFileSync(path(`${name}.crt`), await signCertificate(template, issuer, systemRandom));
    writeFileSync(path(`${name}.key`), keyPem(key));
  };
  await write("ca", authority, { commonName: `${prefix}etcd-ca`, usage: "authority" });
  await write("server", newKey(), { usage: "server", names: ["127.0.0.1", "localhost"] });
  await write("client", newKey());
  await write("expired", newKey(), { notBeforeMs: Date.now() - 2 * hourMs, notAfterMs: Date.now() - hourMs });
  return { authority: path("ca.crt"), certificate: path("client.crt"), key: path("client.key") };
}
