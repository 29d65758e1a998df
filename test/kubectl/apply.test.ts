/** Client-side apply, diff, and validation by the server, in kubectl. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../harness.ts";
import { claim, configMap, namespace, secret } from "../objects.ts";
import { absent } from "../view.ts";
import { kubectlSuite } from "./kubectl.ts";

/** A program that compares two folders of files, for machines without `diff`. */
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
    const made = await kubectl.run(["apply", "-f", file]);
    assert.equal(made, "persistentvolumeclaim/p1 created\nsecret/s1 created\nconfigmap/m1 created\n");
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
    const made = await kubectl.run(["create", "-f", file, "--dry-run=server", "-o", "json"]);
    assert.match(made, /"uid"/);
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
});
