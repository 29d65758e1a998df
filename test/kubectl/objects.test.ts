/** Objects in kubectl: create, get, describe, edit, patch, label, annotate, wait, delete. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually, temporaryFolder } from "../harness.ts";
import { claim, configMap, secret } from "../objects.ts";
import { kubectlSuite } from "./kubectl.ts";

/** Writes an editor that replaces one text by another. */
function editor(from: string, to: string): string {
  const script = join(temporaryFolder(), "editor.mjs");
  writeFileSync(
    script,
    `import { readFileSync, writeFileSync } from "node:fs";
const file = process.argv.at(-1);
writeFileSync(file, readFileSync(file, "utf8").replaceAll(${JSON.stringify(from)}, ${JSON.stringify(to)}));
`,
  );
  return `${process.execPath} ${script}`;
}

kubectlSuite((test) => {
  test("creates what it has generators for, and what files say", async (kubectl) => {
    const ns = kubectl.api.unique("made");
    assert.equal(await kubectl.run(["create", "namespace", ns]), `namespace/${ns} created\n`);
    await kubectl.run(["create", "configmap", "c1", "--from-literal=a=1", "--from-literal=b=2"]);
    await kubectl.run(["create", "secret", "generic", "s1", "--from-literal=password=hunter2"]);
    await kubectl.run(["create", "serviceaccount", "robot"]);
    const pvc = kubectl.file(claim("p1"));
    assert.equal(await kubectl.run(["create", "-f", pvc]), "persistentvolumeclaim/p1 created\n");
    await kubectl.fails(["create", "-f", pvc], /AlreadyExists.*persistentvolumeclaims "p1" already exists/);
    await kubectl.run(["create", "-f", "-"], { input: JSON.stringify(configMap("c2", { k: "v" })) });
    const names = await kubectl.run(["get", "cm,secret,sa,pvc", "-o", "name"]);
    for (const name of [
      "configmap/c1",
      "configmap/c2",
      "secret/s1",
      "serviceaccount/robot",
      "persistentvolumeclaim/p1",
    ]) {
      assert.ok(names.includes(`${name}\n`), names);
    }
    assert.equal(
      await kubectl.run(["get", "secret", "s1", "-o", "jsonpath={.data.password}"]),
      Buffer.from("hunter2").toString("base64"),
    );
  });

  test("creates a folder of manifests", async (kubectl) => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "more"));
    writeFileSync(
      join(folder, "a.yaml"),
      "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: v\n---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: b\nstringData:\n  k: v\n",
    );
    writeFileSync(join(folder, "c.json"), JSON.stringify(claim("c")));
    writeFileSync(join(folder, "notes.txt"), "no manifest");
    writeFileSync(
      join(folder, "more", "d.yml"),
      "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: d\n",
    );
    const output = await kubectl.run(["create", "-f", folder]);
    assert.equal(output, "configmap/a created\nsecret/b created\npersistentvolumeclaim/c created\n");
    await kubectl.run(["create", "-f", join(folder, "more"), "-R"]);
    assert.equal(
      await kubectl.run(["get", "configmap", "-o", "name", "--field-selector=metadata.name=d"]),
      "configmap/d\n",
    );
    await kubectl.run(["delete", "-f", folder, "-R", "--wait=false"]);
  });

  test("gets objects in every form", async (kubectl) => {
    const { api, ns } = kubectl;
    const maps = `/api/v1/namespaces/${ns}/configmaps`;
    (await api.post(maps, configMap("m1", { k: "v" }, { labels: { a: "1" } }))).expect(201);
    (await api.post(maps, configMap("m2", { k: "v", l: "w" }))).expect(201);
    assert.match(await kubectl.run(["get", "configmap"]), /^NAME +DATA +AGE\n(.*\n)*m1 +1 +\d+s\nm2 +2 +\d+s\n$/);
    assert.match(await kubectl.run(["get", "cm", "m1", "--show-labels"]), /LABELS\nm1 .* a=1\n/);
    assert.match(await kubectl.run(["get", "cm", "-l", "a=1", "--no-headers"]), /^m1 +1 +\d+s\n$/);
    assert.match(await kubectl.run(["get", "cm", "-L", "a"]), /m1 +1 +\d+s +1\n/);
    const json = JSON.parse(await kubectl.run(["get", "cm", "m1", "-o", "json"])) as { kind: string; data: unknown };
    assert.deepEqual([json.kind, json.data], ["ConfigMap", { k: "v" }]);
    const list = JSON.parse(await kubectl.run(["get", "cm", "-o", "json"])) as { kind: string; items: unknown[] };
    assert.equal(list.kind, "List");
    assert.equal(list.items.length, 2);
    assert.match(
      await kubectl.run(["get", "cm", "m1", "-o", "yaml"]),
      /^apiVersion: v1\ndata:\n {2}k: v\nkind: ConfigMap\nmetadata:\n/,
    );
    assert.equal(await kubectl.run(["get", "cm", "-o", "jsonpath={range .items[*]}{.metadata.name} {end}"]), "m1 m2 ");
    const columns = await kubectl.run(["get", "cm", "-o", "custom-columns=N:.metadata.name,V:.data.k,L:.data.l"]);
    assert.match(columns, /^N +V +L\nm1 +v +<none>\nm2 +v +w\n$/);
    assert.equal(await kubectl.run(["get", "cm", "-o", "name"]), "configmap/m1\nconfigmap/m2\n");
    assert.match(await kubectl.run(["get", "cm", "-o", "wide"]), /m1 +1 +\d+s/);
    assert.match(
      await kubectl.run([
        "get",
        "cm",
        "--sort-by=.metadata.name",
        "-o",
        "go-template={{range .items}}{{.metadata.name}};{{end}}",
      ]),
      /^m1;m2;$/,
    );
    await kubectl.fails(["get", "cm", "none"], /Error from server \(NotFound\): configmaps "none" not found/);
    assert.match((await kubectl.try(["get", "secrets"])).stderr, new RegExp(`No resources found in ${ns} namespace`));
    await kubectl.fails(["get", "nosuchthing"], /the server doesn't have a resource type "nosuchthing"/);
    assert.match(
      await kubectl.run(["get", "cm", "-A", "--field-selector", `metadata.namespace=${ns}`]),
      new RegExp(`${ns} +m1 `),
    );
  });

  test("gets claims and namespaces with their columns", async (kubectl) => {
    const { api, ns } = kubectl;
    (
      await api.post(`/api/v1/namespaces/${ns}/persistentvolumeclaims`, claim("p1", { storageClassName: "fast" }))
    ).expect(201);
    const pvc = await kubectl.run(["get", "pvc"]);
    const wide = await kubectl.run(["get", "pvc", "-o", "wide"]);
    const reference = process.env["TEST_SERVER"] !== undefined;
    if (!reference) {
      assert.match(
        pvc,
        /^NAME +STATUS +VOLUME +CAPACITY +ACCESS MODES +STORAGECLASS +VOLUMEATTRIBUTESCLASS +AGE\np1 +Pending +fast +<unset> +\d+s\n$/,
      );
      assert.match(wide, /VOLUMEMODE\np1 .* Filesystem\n$/);
    }
    assert.match(
      await kubectl.run(["get", "namespace", ns]),
      new RegExp(`^NAME +STATUS +AGE\n${ns} +Active +\\d+s\n$`),
    );
  });

  test("describes objects", async (kubectl) => {
    const { api, ns } = kubectl;
    const core = `/api/v1/namespaces/${ns}`;
    (await api.post(`${core}/configmaps`, configMap("m1", { key: "some text" }))).expect(201);
    (await api.post(`${core}/secrets`, secret("s1", { password: "hunter2" }))).expect(201);
    (await api.post(`${core}/persistentvolumeclaims`, claim("p1", { storageClassName: "fast" }))).expect(201);
    assert.match(await kubectl.run(["describe", "cm", "m1"]), /Name: +m1\n[^]*key:\n----\nsome text\n/);
    const described = await kubectl.run(["describe", "secret", "s1"]);
    assert.match(described, /password: +7 bytes/);
    assert.doesNotMatch(described, /hunter2/);
    assert.match(
      await kubectl.run(["describe", "pvc", "p1"]),
      /Name: +p1\n[^]*StorageClass: +fast\n[^]*Used By: +<none>/,
    );
    assert.match(await kubectl.run(["describe", "namespace", ns]), /Status: +Active\n/);
  });

  test("edits an object with the user's editor", async (kubectl) => {
    const { api, ns } = kubectl;
    const maps = `/api/v1/namespaces/${ns}/configmaps`;
    (await api.post(maps, configMap("m1", { key: "before" }))).expect(201);
    const edited = await kubectl.run(["edit", "cm", "m1"], { env: { KUBE_EDITOR: editor("before", "after") } });
    assert.match(edited, /configmap\/m1 edited/);
    (await api.get(`${maps}/m1`)).expect(200, { "data.key": "after" });
    const same = await kubectl.try(["edit", "cm", "m1"], { env: { EDITOR: editor("nothing", "else") } });
    assert.match(same.stdout + same.stderr, /Edit cancelled, no changes made/);
    const { code } = await kubectl.try(["edit", "cm", "m1"], { env: { KUBE_EDITOR: editor("after", "bad: [") } });
    assert.notEqual(code, 0);
    (await api.get(`${maps}/m1`)).expect(200, { "data.key": "after" });
  });

  test("patches, labels and annotates", async (kubectl) => {
    const { api, ns } = kubectl;
    const path = `/api/v1/namespaces/${ns}/configmaps/m1`;
    (await api.post(`/api/v1/namespaces/${ns}/configmaps`, configMap("m1", { a: "1" }))).expect(201);
    await kubectl.run(["patch", "cm", "m1", "-p", '{"data":{"b":"2"}}']);
    await kubectl.run(["patch", "cm", "m1", "--type=merge", "-p", '{"data":{"a":null}}']);
    await kubectl.run(["patch", "cm", "m1", "--type=json", "-p", '[{"op":"add","path":"/data/c","value":"3"}]']);
    (await api.get(path)).expect(200, { data: { b: "2", c: "3" } });
    assert.match(await kubectl.run(["patch", "cm", "m1", "-p", '{"data":{"b":"2"}}']), /patched \(no change\)/);
    await kubectl.run(["label", "cm", "m1", "color=red"]);
    await kubectl.fails(["label", "cm", "m1", "color=blue"], /already has a value/);
    await kubectl.run(["label", "cm", "m1", "color=blue", "--overwrite"]);
    await kubectl.run(["annotate", "cm", "m1", "note=hello world"]);
    (await api.get(path)).expect(200, {
      "metadata.labels": { color: "blue" },
      "metadata.annotations": { note: "hello world" },
    });
    await kubectl.run(["label", "cm", "--all", "color-"]);
    await kubectl.run(["annotate", "cm", "m1", "note-"]);
    const bare = (await api.get(path)).expect(200);
    assert.equal(bare.at("metadata.labels.color"), undefined);
    assert.equal(bare.at("metadata.annotations.note"), undefined);
    await kubectl.fails(["label", "cm", "m1", "bad key=1"], /name part must consist of alphanumeric characters/);
  });

  test("replaces an object", async (kubectl) => {
    const { api, ns } = kubectl;
    (await api.post(`/api/v1/namespaces/${ns}/configmaps`, configMap("m1", { a: "1" }))).expect(201);
    await kubectl.run(["replace", "-f", kubectl.file(configMap("m1", { b: "2" }))]);
    (await api.get(`/api/v1/namespaces/${ns}/configmaps/m1`)).expect(200, { data: { b: "2" } });
    await kubectl.run(["replace", "--force", "-f", kubectl.file(configMap("m1", { c: "3" }))]);
    (await api.get(`/api/v1/namespaces/${ns}/configmaps/m1`)).expect(200, { data: { c: "3" } });
  });

  test("waits for fields, conditions and deletion", async (kubectl) => {
    const { api, ns } = kubectl;
    const path = `/api/v1/namespaces/${ns}/persistentvolumeclaims/p1`;
    (await api.post(`/api/v1/namespaces/${ns}/persistentvolumeclaims`, claim("p1"))).expect(201);
    const bound = kubectl.start(["wait", "pvc/p1", "--for=jsonpath={.status.phase}=Bound", "--timeout=120s"]);
    const status = { phase: "Bound", conditions: [{ type: "Resizing", status: "True" }] };
    (await api.patch(`${path}/status`, { status })).expect(200);
    await bound.until(/persistentvolumeclaim\/p1 condition met/);
    await kubectl.run(["wait", "pvc/p1", "--for=condition=Resizing", "--timeout=120s"]);
    await kubectl.fails(
      ["wait", "pvc/p1", "--for=condition=Nothing", "--timeout=1s"],
      /timed out waiting for the condition/,
    );
    (await api.post(`/api/v1/namespaces/${ns}/configmaps`, configMap("m1"))).expect(201);
    const gone = kubectl.start(["wait", "cm/m1", "--for=delete", "--timeout=120s", "-v=6"]);
    await gone.until(/GET.*configmaps/);
    (await api.delete(`/api/v1/namespaces/${ns}/configmaps/m1`)).expect(200);
    await gone.until(/configmap\/m1 condition met|not found/);
  });

  test("deletes by name, by label, by file and all, in every way to treat dependents", async (kubectl) => {
    const { api, ns } = kubectl;
    const maps = `/api/v1/namespaces/${ns}/configmaps`;
    for (const name of ["a", "b", "c", "d", "e", "f", "g"]) {
      (await api.post(maps, configMap(name, {}, { labels: name === "b" ? { x: "1" } : {} }))).expect(201);
    }
    assert.match(await kubectl.run(["delete", "cm", "a"]), /configmap "a" deleted/);
    await kubectl.run(["delete", "cm", "-l", "x=1"]);
    await kubectl.run(["delete", "-f", kubectl.file(configMap("c"))]);
    await kubectl.run(["delete", "cm", "d", "--cascade=background"]);
    await kubectl.run(["delete", "cm", "e", "--grace-period=0", "--force"]);
    assert.deepEqual((await api.get(maps)).names(), ["f", "g"]);
    // Without the garbage collector the finalizer stays until its writer removes it.
    await kubectl.run(["delete", "cm", "f", "--cascade=foreground", "--wait=false"]);
    await kubectl.run(["delete", "cm", "g", "--cascade=orphan", "--wait=false"]);
    for (const [name, finalizer] of [
      ["f", "foregroundDeletion"],
      ["g", "orphan"],
    ] as const) {
      const answer = await api.get(`${maps}/${name}`);
      if (answer.status === 200) answer.has({ "metadata.finalizers": [finalizer] });
      (await api.patch(`${maps}/${name}`, { metadata: { finalizers: null } })).expect([200, 404]);
    }
    (await api.post(maps, configMap("h"))).expect(201);
    await kubectl.run(["delete", "cm", "--all"]);
    (await api.get(maps)).expect(200, { items: [] });
    await kubectl.fails(["delete", "cm", "none"], /NotFound/);
    await kubectl.run(["delete", "cm", "none", "--ignore-not-found"]);
    assert.match(await kubectl.run(["delete", "cm", "--all", "--dry-run=server"]), /No resources found|^$/);
  });

  test("deletes a claim and a namespace and waits until they are gone", async (kubectl) => {
    if (process.env["TEST_SERVER"] !== undefined) return;
    const { api } = kubectl;
    const { ns, claims } = await api.createNamespace();
    (await api.post(claims, claim("p1"))).expect(201);
    await kubectl.run(["create", "-f", kubectl.file(claim("p2"))]);
    await kubectl.run(["delete", "pvc", "p2", "--timeout=120s"]);
    await kubectl.run(["delete", "namespace", ns, "--timeout=120s"]);
    (await api.get(`/api/v1/namespaces/${ns}`)).expect(404);
  });

  test("watches", async (kubectl) => {
    const { api, ns } = kubectl;
    const maps = `/api/v1/namespaces/${ns}/configmaps`;
    (await api.post(maps, configMap("first"))).expect(201);
    const watch = kubectl.start(["get", "cm", "-w"]);
    try {
      await watch.until(/NAME +DATA +AGE\n(.*\n)*first +0/);
      (await api.post(maps, configMap("second", { k: "v" }))).expect(201);
      await watch.until(/second +1 /);
      (await api.patch(`${maps}/first`, { data: { a: "1", b: "2" } })).expect(200);
      await watch.until(/first +2 /);
    } finally {
      watch.stop();
    }
    const events = kubectl.start(["get", "cm", "--watch-only", "--output-watch-events"]);
    try {
      await eventually(async () => {
        (await api.post(maps, configMap(api.unique("x")))).expect(201);
        await Promise.race([
          events.until(/ADDED +x-/),
          new Promise((_, reject) => setTimeout(reject, 500, new Error("not yet"))),
        ]);
      });
    } finally {
      events.stop();
    }
  });

  test("reads long lists in chunks", async (kubectl) => {
    const { api, ns } = kubectl;
    const maps = `/api/v1/namespaces/${ns}/configmaps`;
    for (let i = 0; i < 7; i++) (await api.post(maps, configMap(`m${i}`))).expect(201);
    const { stdout, stderr } = await kubectl.try(["get", "cm", "--chunk-size=3", "-v=7", "--no-headers"]);
    assert.equal(stdout.trimEnd().split("\n").length, 7);
    const requests = stderr.split("\n").filter((line) => /configmaps\?.*limit=3/.test(line));
    assert.equal(requests.length, 3, stderr);
    assert.match(requests[2]!, /continue=/);
    assert.equal((await kubectl.run(["get", "cm", "--chunk-size=2", "-o", "name"])).trimEnd().split("\n").length, 7);
  });
});
