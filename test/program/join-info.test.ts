/** `binnacle join-info`: the information for joining machines, verified by a bootstrap token. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import https from "node:https";
import { join } from "node:path";
import { test } from "node:test";
import { Client } from "../client.ts";
import { domains, endpointOf, eventually, renamer, temporaryFolder } from "../harness.ts";
import { type Ended, runProgram, serveProgram } from "./program.ts";

const id = "abcdef";
const token = `${id}.0123456789abcdef`;

async function fails(run: Promise<Ended>, pattern: RegExp): Promise<void> {
  const { code, stdout, stderr } = await run;
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(stderr, pattern);
  assert.match(stderr, /^binnacle: [^\n]+\n$/);
}

for (const domain of domains) {
  test(`${domain}: [ABOOT-08] cluster-info is printed when the token has signed it, and nothing else is`, async () => {
    const folder = temporaryFolder();
    const rename = renamer(domain);
    const flags = [`--api-domain=${domain}`, "--storage=memory", "--controllers=*,bootstrapsigner"];
    const serving = await serveProgram(folder, "--data-dir=data", ...flags);
    const agent = new https.Agent({ ca: readFileSync(join(folder, "data/pki/ca.crt")) });
    const run = (...args: string[]): Promise<Ended> => runProgram(["join-info", ...args], folder);
    try {
      const adminToken = readFileSync(join(folder, "data/pki/admin.token"), "utf8").trim();
      const api = new Client(endpointOf(serving.url, agent, rename));
      const post = async (path: string, object: object): Promise<void> =>
        void (await api.post(path, object, { as: adminToken })).expect(201);
      const info = "/api/v1/namespaces/kube-public/configmaps/cluster-info";
      await post("/api/v1/namespaces/kube-system/secrets", {
        apiVersion: "v1",
        kind: "Secret",
        type: "bootstrap.kubernetes.io/token",
        metadata: { name: `bootstrap-token-${id}` },
        stringData: { "token-id": id, "token-secret": token.slice(7), "usage-bootstrap-signing": "true" },
      });
      await eventually(async () =>
        assert.match((await api.get(info, { as: adminToken })).expect(200).text, /jws-kubeconfig-abcdef/),
      );
      await fails(run(serving.url, `--token=${token}`), /cluster-info cannot be read in kube-public or .*anonymous/);

      const rbac = { apiVersion: "rbac.authorization.k8s.io/v1", metadata: { name: "join" } };
      const rules = [{ apiGroups: [""], resources: ["configmaps"], resourceNames: ["cluster-info"], verbs: ["get"] }];
      const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "join" };
      const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "system:anonymous" }];
      const roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-public";
      await post(`${roles}/roles`, { ...rbac, kind: "Role", rules });
      await post(`${roles}/rolebindings`, { ...rbac, kind: "RoleBinding", roleRef, subjects });

      const { code, stdout, stderr } = await run(serving.url, `--token=${token}`);
      assert.equal(code, 0, stderr);
      assert.match(stdout, new RegExp(`server: ${serving.url}\n`));
      await fails(run(serving.url, `--token=${id}.ffffffffffffffff`), /the signature of token abcdef is wrong/);
      await fails(run(serving.url, "--token=other0.0123456789abcdef"), /token other0 has not signed cluster-info/);
      await fails(run(serving.url), /name a bootstrap token with --token/);
      await fails(run("http://127.0.0.1:1", `--token=${token}`), /takes the https URL of a server/);
      await fails(run("https://127.0.0.1:1", `--token=${token}`), /nothing listens at https:\/\/127\.0\.0\.1:1/);
    } finally {
      agent.destroy();
      serving.child.kill();
      await serving.ended;
    }
  });
}
