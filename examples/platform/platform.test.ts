/** The platform as its customers meet it. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import {
  ApiError,
  type Cluster,
  connect,
  type Kind,
  loadKubeconfig,
  settingsOf,
  type StoredObject,
} from "binnacle/client";
import { type Provider, startProvider } from "./provider.ts";

interface Boat extends StoredObject {
  readonly spec: { readonly length: number; readonly berth: string };
}
const Boat: Kind<Boat> = {
  group: "harbour.example.com",
  version: "v1",
  kind: "Boat",
  resource: "boats",
  namespaced: true,
};

const folder = mkdtempSync(join(tmpdir(), "platform-"));
let provider: Provider;
let child: ChildProcess;
let kubeconfig: string;

before(async () => {
  provider = await startProvider("harbour");
  const login = [`--oidc-issuer-url=${provider.url}`, `--oidc-ca-file=${provider.caFile}`, "--oidc-client-id=harbour"];
  const where = ["-o=json", "--secure-port=0", `--data-dir=${join(folder, "data")}`];
  child = spawn("binnacle", ["serve", "--config=config.yaml", ...where, ...login], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(createInterface({ input: child.stdout! }), "line")) as [string];
  kubeconfig = (JSON.parse(line) as { kubeconfig: string }).kubeconfig;
  const asAdministrator = (...args: readonly string[]): void => {
    const { status, stderr } = spawnSync("binnacle", [...args, `--kubeconfig=${kubeconfig}`], { encoding: "utf8" });
    assert.equal(status, 0, stderr);
  };
  asAdministrator("apply", "-f", "kinds.yaml", "-f", "customer.yaml");
  asAdministrator("wait", "crds/boats.harbour.example.com", "--for=condition=Established");
});
after(async () => {
  child.kill();
  await once(child, "exit");
  provider.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Connects with a token. */
async function withToken(token: string): Promise<Cluster> {
  const settings = await settingsOf(await loadKubeconfig({ files: kubeconfig }), {});
  return connect({ settings: { ...settings, credentials: { current: () => ({ token }), rejected: () => false } } });
}

/** Connects as somebody whom the identity provider has signed in. */
const signedIn = (email: string, ...groups: readonly string[]): Promise<Cluster> =>
  withToken(provider.tokenOf(email, groups));

const boat = (name: string, length = 9, berth = "A7") => ({
  metadata: { name, namespace: "ada" },
  spec: { length, berth },
});

/** Expects a refusal with this code, whose message matches. */
async function refused(work: Promise<unknown>, code: number, message: RegExp): Promise<void> {
  await assert.rejects(work, (error) => {
    assert.ok(error instanceof ApiError, String(error));
    assert.equal(error.code, code);
    assert.match(error.said, message);
    return true;
  });
}

test("a customer keeps boats, by the rules and up to the quota", async () => {
  const ada = (await signedIn("ada@example.com", "crew-of-ada")).kind(Boat).in("ada");
  await ada.create(boat("ketch"));
  await refused(ada.create(boat("clipper", 40)), 422, /boats of more than 12 m lie at the long berths/);
  await ada.create(boat("clipper", 40, "L1"));
  await ada.create(boat("sloop"));
  await refused(ada.create(boat("raft")), 403, /exceeded quota: boats/);
});

test("nobody else sees them, and a token of somebody unknown is no way in", async () => {
  const bob = await signedIn("bob@example.com", "crew-of-bob");
  await refused(bob.kind(Boat).get("ketch", { in: "ada" }), 403, /User "bob@example.com" cannot get resource "boats"/);
  const stranger = await withToken("a.b.c");
  await refused(stranger.kind(Boat).get("ketch", { in: "ada" }), 401, /Unauthorized/);
});
