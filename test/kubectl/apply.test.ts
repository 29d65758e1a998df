/** Client-side and server-side apply in kubectl, migration between them, diff, and edits of Deployments. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Answer } from "../client.ts";
import { crds, custom, definition } from "../crds.ts";
import { eventually, temporaryFolder } from "../harness.ts";
import { claim, configMap, namespace, type ObjectBody, secret } from "../objects.ts";
import { absent } from "../view.ts";
import { kubectlSuite } from "./kubectl.ts";

/** Writes a program that compares two folders of files, for machines without `diff`. */
function differ(): string {
  const script = join(temporaryFolder(), "differ.mjs");
  writeFileSync(
    script,
    `#!${process.execPath}
import { readdirSync, readFileSync } from "node:fs";
const [before, after] = process.argv.slice(-2);
const read = (folder) => readdirSync(folder).map((name) => readFileSync(folder + "/" + name, "utf8")).join("").split("\\n");
const [old, now] = [read(before), read(after)];
const lines = [...old.filter((line) => !now.includes(line)).map((line) => "-" + line), ...now.filter((line) => !old.includes(line)).map((line) => "+" + line)];
process.stdout.write(lines.join("\\n"));
process.exitCode = lines.length > 0 ? 1 : 0;
`,
    { mode: 0o755 },
  );
  return script;
}

/** Returns a Deployment with one container. */
const deployment = (image: string, spec: object = {}): ObjectBody => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "d1", labels: { app: "d1" } },
  spec: {
    selector: { matchLabels: { app: "d1" } },
    template: { metadata: { labels: { app: "d1" } }, spec: { containers: [{ name: "main", image }] } },
    ...spec,
  },
});

/** Returns the managers of an object as `name Operation`, sorted. */
const managers = (answer: Answer): string[] =>
  answer
    .list("metadata.managedFields")
    .map((entry) => `${entry.string("manager")} ${entry.string("operation")}`)
    .sort();

/** Writes a program that replaces an editor: it replaces one text by another in its file. */
function editor(from: string, to: string): string {
  const script = join(temporaryFolder(), "editor.mjs");
  writeFileSync(
    script,
    `#!${process.execPath}
import { readFileSync, writeFileSync } from "node:fs";
const file = process.argv.at(-1);
writeFileSync(file, readFileSync(file, "utf8").replaceAll(${JSON.stringify(from)}, ${JSON.stringify(to)}));
`,
    { mode: 0o755 },
  );
  return script;
}

kubectlSuite((test) => {
  test("applies a manifest: creates, changes, removes what is no longer in it", async (kubectl) => {
    const { api, ns } = kubectl;
    const path = `/api/v1/namespaces/${ns}/configmaps/m1`;
    const apply = (data: object, labels: object = {}): Promise<string> =>
      kubectl.run(["apply", "-f", kubectl.file(configMap("m1", data as Record<string, unknown>, { labels }))]);
    assert.equal(await apply({ a: "1", b: "1" }, { x: "1" }), "configmap/m1 created\n");
    (await api.get(path)).expect(200, {
      "metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]": /"a":"1"/,
    });
    assert.equal(await apply({ a: "1", b: "1" }, { x: "1" }), "configmap/m1 unchanged\n");
    (await api.patch(path, { data: { other: "kept" } })).expect(200);
    assert.equal(await apply({ a: "2" }), "configmap/m1 configured\n");
    (await api.get(path)).expect(200, {
      data: { a: "2", other: "kept" },
      "metadata.labels": (value: unknown) => value === undefined || JSON.stringify(value) === "{}",
    });
    assert.match(await kubectl.run(["apply", "view-last-applied", "cm/m1"]), /a: "2"/);
  });

  test("applies claims, secrets and namespaces", async (kubectl) => {
    const { api, ns } = kubectl;
    const name = api.unique("applied");
    const items = [claim("p1"), secret("s1", { k: "v" }), configMap("m1", { k: "v" })];
    const file = kubectl.file({ apiVersion: "v1", kind: "List", items });
    const output = await kubectl.run(["apply", "-f", file]);
    assert.equal(output, "persistentvolumeclaim/p1 created\nsecret/s1 created\nconfigmap/m1 created\n");
    const same = await kubectl.run(["apply", "-f", file]);
    assert.match(
      same,
      /persistentvolumeclaim\/p1 unchanged\nsecret\/s1 (unchanged|configured)\nconfigmap\/m1 unchanged\n/,
    );
    const labelled = claim("p1", {}, { labels: { a: "1" } });
    assert.equal(await kubectl.run(["apply", "-f", kubectl.file(labelled)]), "persistentvolumeclaim/p1 configured\n");
    (await api.get(`/api/v1/namespaces/${ns}/persistentvolumeclaims/p1`)).expect(200, { "metadata.labels.a": "1" });
    assert.equal(await kubectl.run(["apply", "-f", kubectl.file(namespace(name))]), `namespace/${name} created\n`);
    assert.equal(
      await kubectl.run(["apply", "-f", kubectl.file(namespace(name, { labels: { a: "1" } }))]),
      `namespace/${name} configured\n`,
    );
  });

  test("says what an apply would do, and does not do it", async (kubectl) => {
    const { api, ns } = kubectl;
    const file = kubectl.file(configMap("m1", { a: "1" }));
    assert.equal(
      await kubectl.run(["apply", "-f", file, "--dry-run=server"]),
      "configmap/m1 created (server dry run)\n",
    );
    assert.equal(await kubectl.run(["apply", "-f", file, "--dry-run=client"]), "configmap/m1 created (dry run)\n");
    (await api.get(`/api/v1/namespaces/${ns}/configmaps/m1`)).expect(404);
    const result = await kubectl.run(["create", "-f", file, "--dry-run=server", "-o", "json"]);
    assert.match(result, /"uid"/);
    (await api.get(`/api/v1/namespaces/${ns}/configmaps/m1`)).expect(404);
  });

  test("shows the difference an apply would make", async (kubectl) => {
    const env = { KUBECTL_EXTERNAL_DIFF: differ() };
    const before = kubectl.file(configMap("m1", { a: "before" }));
    await kubectl.run(["apply", "-f", before]);
    assert.equal((await kubectl.try(["diff", "-f", before], { env })).code, 0);
    const { code, stdout } = await kubectl.try(["diff", "-f", kubectl.file(configMap("m1", { a: "after" }))], { env });
    assert.equal(code, 1, stdout);
    assert.match(stdout, /- +a: before\n[^]*\+ +a: after/);
    const added = await kubectl.try(["diff", "-f", kubectl.file(configMap("m2", { a: "new" }))], { env });
    assert.equal(added.code, 1, added.stderr);
    assert.match(added.stdout, /\+ +a: new/);
  });

  test("lets the server check fields [FV-06]", async (kubectl) => {
    const { api, ns } = kubectl;
    const maps = `/api/v1/namespaces/${ns}/configmaps`;
    const unknown = kubectl.file({ ...configMap("m1"), dota: { a: "1" } });
    await kubectl.fails(["create", "--validate=strict", "-f", unknown], /unknown field "dota"/);
    await kubectl.fails(["apply", "--validate=true", "-f", unknown], /unknown field "dota"/);
    await kubectl.fails(["create", "-f", unknown], /unknown field "dota"/);
    (await api.get(`${maps}/m1`)).expect(404);
    const warned = await kubectl.try(["create", "--validate=warn", "-f", unknown]);
    assert.equal(warned.code, 0, warned.stderr);
    assert.match(warned.stderr, /Warning: unknown field "dota"/);
    (await api.get(`${maps}/m1`)).expect(200, { dota: absent });
    const ignored = await kubectl.try([
      "create",
      "--validate=ignore",
      "-f",
      kubectl.file({ ...configMap("m2"), dota: 1 }),
    ]);
    assert.equal(ignored.code, 0, ignored.stderr);
    assert.doesNotMatch(ignored.stderr, /dota/);
    const nested = kubectl.file(claim("p1", { accesModes: [] }));
    await kubectl.fails(["create", "--validate=strict", "-f", nested], /unknown field "spec\.accesModes"/);
    await kubectl.fails(
      ["create", "-f", kubectl.file({ ...configMap("m3"), kind: "NoSuchKind" })],
      /no matches for kind "NoSuchKind"/,
    );
    await kubectl.fails(
      ["create", "-f", kubectl.file({ ...configMap("m3"), data: { a: 5 } })],
      /cannot unmarshal number|BadRequest|ValidationError/,
    );
  });

  test("applies on the server: creates, changes, removes, and leaves the same alone [PATCH-01, SSA-16, SSA-19]", async (kubectl) => {
    const { api, ns } = kubectl;
    const path = `/apis/apps/v1/namespaces/${ns}/deployments/d1`;
    const apply = (body: ObjectBody): Promise<string> =>
      kubectl.run(["apply", "--server-side", "-f", kubectl.file(body)]);
    assert.equal(await apply(deployment("i:1", { replicas: 2 })), "deployment.apps/d1 serverside-applied\n");
    const answer = (await api.get(path)).expect(200, { "spec.replicas": 2, "metadata.annotations": absent });
    assert.deepEqual(managers(answer), ["kubectl Apply"]);
    assert.equal(await apply(deployment("i:1", { replicas: 2 })), "deployment.apps/d1 serverside-applied\n");
    (await api.get(path)).expect(200, { "metadata.resourceVersion": answer.at("metadata.resourceVersion") });
    await apply(deployment("i:2"));
    (await api.get(path)).expect(200, { "spec.replicas": 1, "spec.template.spec.containers.0.image": "i:2" });
  });

  test("tells conflicts with other managers and takes their fields when forced [SSA-05, SSA-06, SSA-08]", async (kubectl) => {
    const { api, ns } = kubectl;
    const path = `/apis/apps/v1/namespaces/${ns}/deployments/d1`;
    await kubectl.run(["apply", "--server-side", "--field-manager=ci", "-f", kubectl.file(deployment("i:1"))]);
    const theirs = kubectl.file(deployment("i:2"));
    const apply = ["apply", "--server-side", "--field-manager=person", "-f", theirs];
    await kubectl.fails(
      apply,
      /Apply failed with 1 conflict: conflict with "ci": \.spec\.template\.spec\.containers\[name="main"\]\.image\n[^]*--force-conflicts/,
    );
    (await api.get(path)).expect(200, { "spec.template.spec.containers.0.image": "i:1" });
    await kubectl.run([...apply, "--force-conflicts"]);
    const forced = (await api.get(path)).expect(200, { "spec.template.spec.containers.0.image": "i:2" });
    assert.deepEqual(managers(forced), ["ci Apply", "person Apply"]);
    const shared = kubectl.file(deployment("i:2", { replicas: 3 }));
    await kubectl.run(["apply", "--server-side", "--field-manager=third", "-f", shared]);
  });

  test("moves from client-side to server-side apply and back [SSA-11]", async (kubectl) => {
    const { api, ns } = kubectl;
    const path = `/apis/apps/v1/namespaces/${ns}/deployments/d1`;
    const last = "metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]";
    await kubectl.run(["apply", "-f", kubectl.file(deployment("i:1", { replicas: 2 }))]);
    assert.deepEqual(managers(await api.get(path)), ["kubectl-client-side-apply Update"]);
    // The image changes, and replicas are left out: there is no conflict with the same manager, and the omitted field
    // is removed.
    await kubectl.run(["apply", "--server-side", "-f", kubectl.file(deployment("i:2"))]);
    const moved = (await api.get(path)).expect(200, {
      "spec.template.spec.containers.0.image": "i:2",
      [last]: /"i:2"/,
    });
    assert.ok(managers(moved).includes("kubectl Apply"), managers(moved).join());
    await kubectl.run(["apply", "--server-side", "-f", kubectl.file(deployment("i:3"))]);
    (await api.get(path)).expect(200, { [last]: /"i:3"/ });
    assert.equal(
      await kubectl.run(["apply", "-f", kubectl.file(deployment("i:4", { minReadySeconds: 5 }))]),
      "deployment.apps/d1 configured\n",
    );
    (await api.get(path)).expect(200, { "spec.template.spec.containers.0.image": "i:4", "spec.minReadySeconds": 5 });
  });

  test("shows the difference a server-side apply would make, and conflicts", async (kubectl) => {
    const env = { KUBECTL_EXTERNAL_DIFF: differ() };
    const before = kubectl.file(deployment("i:1"));
    await kubectl.run(["apply", "--server-side", "-f", before]);
    assert.equal((await kubectl.try(["diff", "--server-side", "-f", before], { env })).code, 0);
    const after = kubectl.file(deployment("i:2"));
    const changed = await kubectl.try(["diff", "--server-side", "-f", after], { env });
    assert.equal(changed.code, 1, changed.stderr);
    assert.match(changed.stdout, /-\W+image: i:1\n[^]*\+\W+image: i:2/);
    const other = ["diff", "--server-side", "--field-manager=other", "-f", after];
    const refused = await kubectl.try(other, { env });
    assert.match(refused.stderr, /conflict with "kubectl"/);
    assert.equal((await kubectl.try([...other, "--force-conflicts"], { env })).code, 1);
  });

  test("says what a server-side apply would do, and does not do it [DRY-02]", async (kubectl) => {
    const { api, ns } = kubectl;
    const file = kubectl.file(deployment("i:1"));
    assert.equal(
      await kubectl.run(["apply", "--server-side", "--dry-run=server", "-f", file]),
      "deployment.apps/d1 serverside-applied (server dry run)\n",
    );
    (await api.get(`/apis/apps/v1/namespaces/${ns}/deployments/d1`)).expect(404);
  });

  test("refuses an unknown field in a server-side apply [FV-09]", async (kubectl) => {
    const body = { ...deployment("i:1"), colour: "red" };
    await kubectl.fails(
      ["apply", "--server-side", "--validate=ignore", "-f", kubectl.file(body)],
      /\.colour: field not declared in schema/,
    );
    await kubectl.fails(["apply", "--server-side", "-f", kubectl.file(body)], /colour/);
  });

  test("edits, sets an image, restarts a rollout and scales a Deployment", async (kubectl) => {
    const { api, ns } = kubectl;
    const path = `/apis/apps/v1/namespaces/${ns}/deployments/d1`;
    await kubectl.run(["apply", "--server-side", "-f", kubectl.file(deployment("i:1", { replicas: 1 }))]);
    const env = { EDITOR: editor("image: i:1", "image: i:edited") };
    assert.equal(await kubectl.run(["edit", "deployment/d1"], { env }), "deployment.apps/d1 edited\n");
    (await api.get(path)).expect(200, { "spec.template.spec.containers.0.image": "i:edited" });
    assert.equal(
      await kubectl.run(["set", "image", "deployment/d1", "main=i:set"]),
      "deployment.apps/d1 image updated\n",
    );
    assert.equal(await kubectl.run(["rollout", "restart", "deployment/d1"]), "deployment.apps/d1 restarted\n");
    assert.match(await kubectl.run(["scale", "deployment/d1", "--replicas=4"]), /deployment\.apps\/d1 scaled\n/);
    const done = (await api.get(path)).expect(200, {
      "spec.replicas": 4,
      "spec.template.spec.containers.0.image": "i:set",
      "spec.template.metadata.annotations[kubectl.kubernetes.io/restartedAt]": /^\d{4}-/,
      "metadata.generation": 5,
    });
    for (const manager of ["kubectl Apply", "kubectl-rollout Update", "kubectl-set Update"]) {
      assert.ok(managers(done).includes(manager), managers(done).join());
    }
    await kubectl.fails(
      ["apply", "--server-side", "-f", kubectl.file(deployment("i:1", { replicas: 1 }))],
      /2 conflicts(?=[^]*"kubectl[.\d]*" with subresource "scale" using apps\/v1:\n- \.spec\.replicas\n)(?=[^]*"kubectl-set" using)/,
    );
  });

  test("applies custom resources on both sides [SSA-05, SSA-08]", async (kubectl) => {
    const { api } = kubectl;
    const group = `${api.unique("k")}.example.com`;
    const steps = { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" };
    const spec = { type: "object", properties: { size: { type: "integer" }, note: { type: "string" }, steps } };
    const schema = { type: "object", properties: { spec } };
    await kubectl.run(["apply", "--server-side", "-f", kubectl.file(definition(group, { schema }))]);
    await eventually(async () => (await api.get(`/apis/${group}/v1/widgets`)).expect(200));
    const path = `/apis/${group}/v1/widgets/w`;
    const file = (fields: object): string => kubectl.file(custom(group, "w", { spec: fields }));
    await kubectl.run(["apply", "-f", file({ size: 1, note: "n" })]);
    await kubectl.run(["apply", "-f", file({ size: 2 })]);
    (await api.get(path)).expect(200, { spec: { size: 2 } });
    await kubectl.run(["apply", "--server-side", "-f", file({ size: 3, steps: ["a"] })]);
    await kubectl.run(["apply", "--server-side", "--field-manager=other", "-f", file({ steps: ["b"] })]);
    (await api.get(path)).expect(200, { spec: { size: 3, steps: ["a", "b"] } });
    const theirs = ["apply", "--server-side", "--field-manager=other", "-f", file({ size: 4 })];
    await kubectl.fails(theirs, /conflict with "kubectl": \.spec\.size/);
    await kubectl.run([...theirs, "--force-conflicts"]);
    (await api.get(path)).expect(200, { spec: { size: 4, steps: ["a"] } });
    const env = { EDITOR: editor("size: 4", "size: 5") };
    await kubectl.run(["edit", `widgets.${group}/w`], { env });
    (await api.get(path)).expect(200, { "spec.size": 5 });
    (await api.delete(`${crds}/widgets.${group}`)).expect(200);
  });
});
