/** The client library runs credential plugins as kubectl does: with the same information, arguments and variables. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { fakeAuthority } from "#authn/fake-authority.ts";
import { PluginSetup } from "../client/plugin-setup.ts";
import { base64, filesIn } from "../client/temporary-kubeconfig.ts";
import { findPrograms } from "./programs.ts";

const [newest] = [...findPrograms()].slice(-1);
const skip = newest === undefined && "no kubectl on the PATH";

test("a plugin is told the same as kubectl tells it", { skip }, async () => {
  const { certificate } = await fakeAuthority();
  const folder = filesIn({ "ca.crt": certificate });
  const extensions = [{ name: "client.authentication.k8s.io/exec", extension: { a: [1, { b: null }], c: "d" } }];
  // Nothing listens at this port: the plugin runs before the connection.
  const server = "https://127.0.0.1:1";
  const exec = { provideClusterInfo: true, args: ["a b", "", "c"], env: [{ name: "CONFIGURED", value: "x" }] };
  const clusters: readonly object[] = [
    { server },
    { server: `${server}/` },
    { server: `${server}/a/b/?q=1#f`, "certificate-authority-data": base64(certificate), extensions },
    {
      server,
      "certificate-authority": join(folder, "ca.crt"),
      "tls-server-name": "other",
      "disable-compression": true,
    },
    { server, "insecure-skip-tls-verify": true, "proxy-url": "http://127.0.0.1:1", extensions: [] },
  ];
  for (const version of ["v1", "v1beta1"] as const) {
    for (const cluster of clusters) {
      const setup = new PluginSetup({ domain: "k8s.io", version, cluster, exec }).answer({ token: "t" });
      await (await setup.settings()).credentials.current();
      spawnSync(newest![1], ["--kubeconfig", setup.file, "get", "--raw", "/version"], { timeout: 60_000 });
      const [mine, theirs] = setup.runs.map(({ pid: _, ...run }) => run);
      assert.deepEqual(mine, theirs, JSON.stringify(cluster));
    }
  }
});
