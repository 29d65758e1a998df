/** `binnacle get`, `apply`, `diff`, `delete`, `wait` and `api-resources`, on a server of each API domain. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { domains, eventually, renamer, temporaryFolder } from "../harness.ts";
import { type Ended, program, runProgram, type Serving, serveProgram } from "./program.ts";

for (const domain of domains) {
  void describe(domain, () => {
    const rename = renamer(domain);
    let folder: string;
    let serving: Serving;

    before(async () => {
      folder = temporaryFolder();
      serving = await serveProgram(folder, "--data-dir=data", "--storage=memory", `--api-domain=${domain}`);
    });
    after(async () => {
      serving.child.kill();
      await serving.ended;
    });

    const run = (...args: readonly string[]): Promise<Ended> => runProgram([...args, "--data-dir=data"], folder);

    /** Runs a command that must end with this code, and returns its output. */
    async function out(line: string, code = 0): Promise<string> {
      const ended = await run(...line.split(" "));
      assert.equal(ended.code, code, `${line}: ${ended.stderr}${ended.stdout}`);
      return ended.stdout;
    }

    async function fails(line: string, pattern: RegExp, code = 1): Promise<void> {
      const ended = await run(...line.split(" "));
      assert.match(ended.stderr, pattern);
      assert.equal(ended.code, code);
    }

    function file(name: string, ...objects: readonly object[]): string {
      writeFileSync(join(folder, name), objects.map((object) => JSON.stringify(object)).join("\n"));
      return name;
    }

    const map = (name: string, data: object, labels?: object): object => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name, ...(labels === undefined ? {} : { labels }) },
      data,
    });

    test("objects are applied, printed in every form, and deleted", async () => {
      const deployment = {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "web" },
        spec: {
          selector: { matchLabels: { app: "web" } },
          template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "main", image: "web:1" }] } },
        },
      };
      const files = file("all.json", map("a", { x: "1" }, { app: "web" }), deployment);
      assert.equal(
        await out(`apply -f ${files} --dry-run`),
        "configmap/a applied (server dry run)\ndeployment.apps/web applied (server dry run)\n",
      );
      const nothing = await run("get", "deploy");
      assert.deepEqual(
        [nothing.code, nothing.stdout, nothing.stderr],
        [0, "", "No resources found in default namespace.\n"],
      );
      assert.equal(await out(`apply -f ${files}`), "configmap/a applied\ndeployment.apps/web applied\n");
      assert.match(
        await out("get deployments.apps"),
        /^NAME {3}READY {3}UP-TO-DATE {3}AVAILABLE {3}AGE\nweb {4}0\/1 {5}0 {12}0 {11}\d+s\n$/,
      );
      assert.match(await out("get Deployment web -o wide"), /^NAME .* CONTAINERS {3}IMAGES {3}SELECTOR\nweb .* web:1 /);
      assert.match(await out("get cm,deploy -l app=web --no-headers"), /^configmap\/a {3}1 {3}\d+s\n$/);
      assert.match(await out("get cm -A"), /^NAMESPACE +NAME +DATA +AGE\n(?:.*\n)*default +a +1 +\d+s\n/);
      const all = await out("get all --no-headers");
      assert.match(all, /^deployment\.apps\/web {3}0\/1 /m);
      assert.doesNotMatch(all, /configmap/);
      await fails("get all web", /^binnacle: all stands for several kinds, which have no names in common/);
      assert.equal(await out("get cm/a deploy/web -o name"), "configmap/a\ndeployment.apps/web\n");
      assert.equal(await out("get cm a -o jsonpath={.data.x}"), "1");
      const one = JSON.parse(await out("get cm a -o json")) as { kind: string; metadata: object };
      assert.equal(one.kind, "ConfigMap");
      assert.ok(!("managedFields" in one.metadata));
      const list = JSON.parse(await out("get cm --field-selector=metadata.name=a -o json")) as { items: [typeof one] };
      assert.deepEqual(list.items, [one]);
      const absent = await run("get", "cm", "a", "none", "--no-headers");
      assert.match(absent.stdout, /^a {3}1 {3}\d+s\n$/);
      assert.match(absent.stderr, /^binnacle: configmaps "none" not found \(404 from https:/);
      assert.equal(absent.code, 1);

      assert.equal(await out("delete cm a --dry-run"), "configmap/a deleted (server dry run)\n");
      assert.equal(await out(`delete -f ${files}`), "configmap/a deleted\ndeployment.apps/web deleted\n");
      await fails(`delete -f ${files}`, /^binnacle: configmaps "a" not found/);
      await out(`delete -f ${files} --ignore-not-found`);
      await fails("delete cm", /^binnacle: say which objects: binnacle delete configmaps NAME, -l LABELS, or --all/);
    });

    test("apply names each field in conflict and its manager, and takes them only when told", async () => {
      await out(`apply -f ${file("one.json", map("c", { x: "1", y: "1" }))}`);
      const other = file("two.json", map("c", { x: "2", y: "2", z: "2" }));
      const { code, stdout, stderr } = await run("apply", "-f", other, "--field-manager=tool");
      assert.deepEqual([code, stdout], [1, ""]);
      assert.equal(
        stderr,
        `binnacle: configmap/c: not applied, since 2 fields would change that others manage; --force-conflicts takes them
  .data.x belongs to "binnacle"
  .data.y belongs to "binnacle"
`,
      );
      assert.equal(await out("get cm c -o jsonpath={.data}"), '{"x":"1","y":"1"}');
      await out(`apply -f ${other} --field-manager=tool --force-conflicts`);
      assert.equal(await out("get cm c -o jsonpath={.data.x}"), "2");
      const mixed = file("mixed.json", { ...map("c", {}), metadata: { name: "c", namespace: "other" } });
      await fails(`apply -f ${mixed} -n default`, /is of namespace other, and -n says default: leave out one/);
    });

    test("diff ends with 0, 1 or 2, writes nothing and hides secrets", async () => {
      const secret = (value: string): object => ({
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "s" },
        data: { p: Buffer.from(value).toString("base64") },
      });
      const files = (x: string, p: string): string => file(`diff-${x}.json`, map("d", { x, y: "1" }), secret(p));
      const first = files("1", "hush");
      assert.match(await out(`diff -f ${first}`, 1), /^--- live\/configmap\/d\n\+\+\+ applied\/configmap\/d\n@@ -0,0 /);
      await fails("get cm d", /not found/);
      await out(`apply -f ${first}`);
      assert.equal(await out(`diff -f ${first}`), "");
      const text = await out(`diff -f ${files("2", "other")}`, 1);
      assert.match(text, /^ data:\n- {2}x: "1"\n\+ {2}x: "2"\n {3}"y": "1"$/m);
      assert.match(text, /^- {2}p: "\*\*\* \(before\)"\n\+ {2}p: "\*\*\* \(after\)"$/m);
      assert.doesNotMatch(text, /managedFields|resourceVersion: .*\n[-+]/);
      await fails("diff -f gone.json", /^binnacle: cannot read gone\.json/, 2);
      await fails(`diff -f ${file("unknown.json", { ...map("u", {}), kind: "Boat" })}`, /no kind Boat in v1: /, 2);
    });

    test("wait ends when an object has what is wanted, and with 1 when the time is over", async () => {
      await out(`apply -f ${file("w.json", map("w", { x: "1" }))}`);
      assert.equal(await out("wait cm/w --for=jsonpath={.data.x}=1"), "configmap/w condition met\n");
      await fails(
        "wait cm w --for=condition=Ready --timeout=1s",
        /^binnacle: waited 1s for configmap\/w: condition=Ready/,
      );
      await fails("wait cm none --for=condition=Ready", /^binnacle: configmaps "none" not found/);
      await fails("wait cm w", /^binnacle: say what to wait for: --for=condition=NAME/);
      const changed = out("wait cm/w --for=jsonpath={.data.x}=2 --timeout=2m");
      const created = out("wait cm/new --for=create --timeout=2m");
      await out(`apply -f ${file("w.json", map("w", { x: "2" }), map("new", {}))}`);
      assert.equal(await changed, "configmap/w condition met\n");
      assert.equal(await created, "configmap/new created\n");
      const held = { ...map("held", {}), metadata: { name: "held", finalizers: ["example.com/hold"] } };
      await out(`apply -f ${file("held.json", held)}`);
      await fails(
        "delete cm held --timeout=1s",
        /configmap\/held is still there: it has the finalizers example\.com\/hold/,
      );
      const gone = out("wait cm/held --for=delete --timeout=2m");
      const free = { ...map("held", {}), metadata: { name: "held", finalizers: [] } };
      await out(`apply -f ${file("free.json", free)} --force-conflicts`);
      assert.equal(await gone, "configmap/held deleted\n");
      // It is gone already.
      await out("wait cm/held --for=delete");
    });

    test("-w prints objects as they change, one line each, under one head", async () => {
      const args = [...program, "get", "cm", "-l", "seen=yes", "-w", "--data-dir=data"];
      const env = { ...process.env, KUBECONFIG: "" };
      const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ["ignore", "pipe", "inherit"] });
      try {
        let printed = "";
        child.stdout.on("data", (piece: Buffer) => {
          printed += piece.toString();
        });
        const write = (data: object): Promise<string> =>
          out(`apply -f ${file("seen.json", map("seen", data, { seen: "yes" }))}`);
        await write({ x: "1" });
        await eventually(async () => assert.match(printed, /^NAME +DATA +AGE\nseen +1 +\d+s\n$/));
        await write({ x: "1", y: "1" });
        await eventually(async () => assert.match(printed, /^NAME +DATA +AGE\nseen +1 +\d+s\nseen +2 +\d+s\n$/));
      } finally {
        child.kill();
      }
    });

    test("kinds are listed and found by any of their names, and unknown ones are told", async () => {
      const table = await out("api-resources");
      const categories = await out("api-resources --categories=all --verbs=list,watch -o name");
      assert.match(categories, /^deployments\.apps$/m);
      assert.doesNotMatch(categories, /configmaps|bindings/);
      assert.match(await out("api-resources --api-group=apps -o wide"), /^deployments .* all$/m);
      assert.match(table, /^NAME +SHORTNAMES +APIVERSION +NAMESPACED +KIND\n/);
      assert.match(table, /^deployments +deploy +apps\/v1 +true +Deployment$/m);
      const rbac = rename("rbac.authorization.k8s.io");
      assert.match(await out(`api-resources --api-group=${rbac} -o name`), new RegExp(`^clusterroles\\.${rbac}$`, "m"));
      await fails("get boats", /^binnacle: the server has no resource "boats"/);
      await fails("get", /^binnacle: name a kind: binnacle get KIND \[NAME\]; binnacle api-resources lists the kinds/);
      await fails("get cm -o xml", /^binnacle: invalid value "xml" for --output: must be json, yaml, name, wide or/);
    });
  });
}
