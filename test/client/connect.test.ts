/** Opening a cluster: by kubeconfigs, with another identity, and what is loaded for it. */
import assert from "node:assert/strict";
import { ApiError } from "#client/api-error.ts";
import { connect } from "#client/cluster.ts";
import { ConfigMap, Node, SelfSubjectReview } from "#client/kinds.ts";
import { loadKubeconfig } from "#client/kubeconfig.ts";
import { file, suite } from "../harness.ts";
import { transportOf } from "./open-cluster.ts";

const inBothDomains = suite();

inBothDomains(
  "a cluster is opened by the path of a kubeconfig, by one that was read, and by that of the environment",
  async (api, t) => {
    const path = file("config", api.server.kubeconfig);
    const before = process.env["KUBECONFIG"];
    process.env["KUBECONFIG"] = path;
    t.after(() => {
      if (before === undefined) delete process.env["KUBECONFIG"];
      else process.env["KUBECONFIG"] = before;
    });
    for (const kubeconfig of [undefined, path, [path, `${path}-missing`], await loadKubeconfig({ files: path })]) {
      await using cluster = await connect({ kubeconfig, manager: "harbour" });
      assert.ok(await cluster.kind(ConfigMap).create({ metadata: { generateName: "a-" } }, { dryRun: true }));
      assert.ok(await cluster.call<{ readonly gitVersion: string }>({ method: "GET", path: "/version" }));
    }
    await assert.rejects(connect({ kubeconfig: `${path}-missing` }), { name: "KubeconfigError" });
    await assert.rejects(connect({ context: "elsewhere" }), { name: "KubeconfigError" });
  },
);

inBothDomains("a cluster can be opened as another user", async (api) => {
  const kubeconfig = file("config", api.server.kubeconfig);
  await using cluster = await connect({ kubeconfig, as: { user: "ann", groups: ["crew"], extra: {} } });
  const { status } = await cluster.kind(SelfSubjectReview).create({});
  assert.equal(status.userInfo?.username, "ann");
  assert.ok(status.userInfo.groups?.includes("crew"));
  await assert.rejects(Array.fromAsync(cluster.kind(Node).list()), (error: Error) => {
    assert.ok(error instanceof ApiError);
    return error.reason === "Forbidden";
  });
});

inBothDomains("what cannot be meant is refused before anything is sent", async (api, t) => {
  const transport = transportOf(api, t);
  await assert.rejects(connect({ transport, as: { user: "ann", groups: [], extra: {} } }), TypeError);
  await assert.rejects(connect({ transport, manager: "" }), TypeError);
  await assert.rejects(connect({ transport, manager: "line\nbreak" }), TypeError);
});
