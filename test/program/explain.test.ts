/** `binnacle why`, `who can`, `blame`, `tree` and `doctor`, on a server of each API domain. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { readFileSync, writeFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { examine } from "#commands/doctor/examine.ts";
import type { DoctorFinding } from "#commands/doctor/finding.ts";
import { withCluster } from "#commands/open-cluster.ts";
import { domains, eventually, renamer, temporaryFolder } from "../harness.ts";
import { type Ended, runProgram, type Serving, serveProgram } from "./program.ts";

for (const domain of domains) {
  void describe(domain, () => {
    const rename = renamer(domain);
    const rbac = rename("rbac.authorization.k8s.io");
    let folder: string;
    let serving: Serving;

    before(async () => {
      folder = temporaryFolder();
      serving = await serveProgram(folder, "--data-dir=data", "--storage=memory", `--api-domain=${domain}`);
      await apply(
        { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } },
        role("shop", "reader", [
          { apiGroups: [""], resources: ["pods"], verbs: ["get", "list"] },
          { apiGroups: [""], resources: ["secrets"], resourceNames: ["token"], verbs: ["get"] },
        ]),
        binding("shop", "readers", "reader"),
      );
    });
    after(async () => {
      serving.child.kill();
      await serving.ended;
    });

    const run = (...args: readonly string[]): Promise<Ended> => runProgram([...args, "--data-dir=data"], folder);

    /** Runs a command that must end with a code, and returns its output. */
    async function out(line: string, expected = 0): Promise<string> {
      const { code, stdout, stderr } = await run(...line.split(" "));
      assert.equal(code, expected, `${line}: ${stderr}`);
      return stdout;
    }

    async function apply(...objects: readonly object[]): Promise<void> {
      await applyAs("binnacle", ...objects);
    }

    async function applyAs(manager: string, ...objects: readonly object[]): Promise<void> {
      const text = objects.map((object) => JSON.stringify(object)).join("\n");
      writeFileSync(join(folder, "objects.json"), text);
      await out(`apply -f objects.json --field-manager=${manager}`);
    }

    function role(namespace: string, name: string, rules: readonly object[]): object {
      return { apiVersion: `${rbac}/v1`, kind: "Role", metadata: { name, namespace }, rules };
    }

    function binding(namespace: string, name: string, to: string): object {
      return {
        apiVersion: `${rbac}/v1`,
        kind: "RoleBinding",
        metadata: { name, namespace },
        roleRef: { apiGroup: rbac, kind: "Role", name: to },
        subjects: [
          { apiGroup: rbac, kind: "User", name: "alice" },
          { kind: "ServiceAccount", name: "robot", namespace },
        ],
      };
    }

    const config = (name: string, metadata: object = {}): object => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name, namespace: "shop", ...metadata },
    });

    const deployment = (name: string, more: object = {}): object => ({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name, namespace: "shop" },
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: name } },
        template: {
          metadata: { labels: { app: name } },
          spec: { containers: [{ name: "app", image: "nginx:1", args: ["a\nb"] }] },
        },
        ...more,
      },
    });

    void test("why names the rule that allows, by user, by account and for the caller", async () => {
      const own = await out("why list pods -n shop");
      assert.match(own, /^"admin" may list pods in namespace shop\.$/m);
      assert.match(own, /ClusterRoleBinding cluster-admin gives ClusterRole cluster-admin/);
      const words =
        /RoleBinding shop\/readers gives Role shop\/reader, which allows: get, list on pods of the core group/;
      assert.match(await out("why list pods -n shop --as=alice"), words);
      assert.match(await out("why list pods -n shop --as=system:serviceaccount:shop:robot"), words);
    });

    void test("why says what the nearest rule lacks, and the objects that it prints allow the action", async () => {
      const text = await out("why get secrets/other -n shop --as=alice", 1);
      assert.match(text, /^"alice" may not get secrets "other" in namespace shop\.$/m);
      const [first] = /It lacks.*/.exec(text)!;
      assert.equal(first, 'It lacks the name "other".', "the rule about the same resource is nearest");
      writeFileSync(join(folder, "allow.yaml"), text.slice(text.indexOf("---")));
      await out("apply -f allow.yaml");
      assert.match(await out("why get secrets/other -n shop --as=alice"), /RoleBinding shop\/get-secrets/);
      await out("why get secrets/third -n shop --as=alice", 1);
    });

    void test("why explains paths and actions in the whole cluster", async () => {
      const text = await out("why get /metrics --as=bob", 1);
      assert.match(text, /It lacks the path "\/metrics"/);
      assert.match(text, /^- nonResourceURLs:$/m);
      const { allowed, wouldAllow, nearest } = JSON.parse(await out("why list deploy -A --as=bob -o json", 1)) as {
        readonly allowed: boolean;
        readonly wouldAllow: readonly { readonly kind: string; readonly rules?: readonly object[] }[];
        readonly nearest: readonly object[];
      };
      assert.deepStrictEqual([allowed, nearest], [false, []]);
      assert.deepStrictEqual(
        wouldAllow.map(({ kind }) => kind),
        ["ClusterRole", "ClusterRoleBinding"],
      );
      assert.deepStrictEqual(wouldAllow[0]!.rules, [
        { apiGroups: ["apps"], resources: ["deployments"], verbs: ["list"] },
      ]);
    });

    void test("why without an allowing role says that members of system:masters may do everything", async () => {
      const text = await out("why get pods --as=root --as-group=system:masters -n shop");
      assert.match(text, /^"root" may get pods/);
    });

    void test("who may not read roles is told so, and sees no rule", async () => {
      const { code, stdout, stderr } = await run("who", "can", "get", "secrets", "-n", "shop", "--as=alice");
      assert.equal(code, 1);
      assert.equal(stdout, "");
      assert.match(stderr, /roles and bindings explain access, and you may not read all of them/);
    });

    void test("who can names subjects with their binding, and the objects to which a right is limited", async () => {
      const table = await out("who can get secrets -n shop");
      assert.match(table, /^WHO +WHERE +WHICH +THROUGH +ROLE$/m);
      assert.match(table, /^User alice +shop +token +RoleBinding shop\/readers +Role shop\/reader$/m);
      assert.match(table, /^ServiceAccount shop\/robot +shop +token /m);
      assert.match(table, /^Group system:masters +whole cluster +all +ClusterRoleBinding cluster-admin /m);
      assert.doesNotMatch(await out("who can delete secrets -n shop"), /alice/);
      assert.doesNotMatch(await out("who can get secrets -n default"), /alice/);
      assert.match(await out("who can list pods -A"), /^User alice +shop /m);
      const { holders } = JSON.parse(await out("who can get secrets/token -n shop -o json")) as {
        readonly holders: readonly { readonly subject: string; readonly only: readonly string[] }[];
      };
      assert.deepStrictEqual(holders.find(({ subject }) => subject === "User alice")?.only, []);
    });

    if (domain === "k8s.io") fieldsAndOwners();

    /** Tests of what does not depend on the API domain. */
    function fieldsAndOwners(): void {
      void test("blame shows the manager of each line, of items and of shared fields", async () => {
        await applyAs("team", deployment("web"));
        await applyAs("scaler", {
          apiVersion: "apps/v1",
          kind: "Deployment",
          metadata: { name: "web", namespace: "shop" },
          spec: { replicas: 2 },
        });
        const text = await out("blame deploy web -n shop");
        assert.match(text, /^(?:team, scaler|scaler, team) +\S+ +replicas: 2$/m);
        assert.match(text, /^team +\S+ +- name: app$/m);
        assert.match(text, /^ +terminationGracePeriodSeconds: 30$/m, "a default has no manager");
        const { fields } = JSON.parse(await out("blame deploy/web -n shop -o json")) as {
          readonly fields: readonly {
            readonly path: string;
            readonly managers: readonly { readonly manager: string }[];
          }[];
        };
        const managersOf = (path: string): readonly string[] | undefined =>
          fields.find((one) => one.path === path)?.managers.map(({ manager }) => manager);
        assert.deepStrictEqual(managersOf("spec.template.spec.containers[0].image"), ["team"]);
        assert.deepStrictEqual(managersOf("spec.replicas")?.toSorted(), ["scaler", "team"]);
        assert.equal(managersOf("spec.strategy.type"), undefined);
      });

      void test("a manager gives up a field and another takes one: conflicts follow, values stay", async () => {
        await applyAs("team", deployment("api"));
        const image = "spec.template.spec.containers[name=app].image";
        assert.match(
          await out(`blame deploy api -n shop --take=${image} --manager=cd --dry-run`),
          /cd owns .*, and team no longer \(dry run\)/,
        );
        await applyAs("team", deployment("api")); // the dry run has changed nothing
        await out(`blame deploy api -n shop --take=${image} --manager=cd`);
        await out("blame deploy api -n shop --give-up=spec.replicas --manager=team");
        const fields = await out("get deploy api -n shop -o yaml");
        assert.match(fields, /image: nginx:1/);
        assert.match(fields, /replicas: 2/);
        // Another value of the given up field conflicts with nobody; that of the taken one does.
        await applyAs("other", {
          apiVersion: "apps/v1",
          kind: "Deployment",
          metadata: { name: "api", namespace: "shop" },
          spec: { replicas: 3 },
        });
        writeFileSync(
          join(folder, "image.json"),
          JSON.stringify(
            deployment("api", {
              replicas: 3,
              template: {
                metadata: { labels: { app: "api" } },
                spec: { containers: [{ name: "app", image: "nginx:2", args: ["a\nb"] }] },
              },
            }),
          ),
        );
        const { code, stderr } = await run("apply", "-f", "image.json", "--field-manager=team");
        assert.equal(code, 1);
        assert.match(stderr, /cd/, "the conflict names the new owner");
        const refused = await run("blame", "deploy", "api", "-n", "shop", "--give-up=spec.replicas", "--manager=team");
        assert.match(refused.stderr, /"team" does not own spec\.replicas/);
        const unknown = await run("blame", "deploy", "api", "-n", "shop", "--take=spec.nothing");
        assert.match(unknown.stderr, /the object has no field "spec\.nothing"/);
      });

      void test("blame and tree print no control characters of hostile objects", async () => {
        await apply({ ...config("hostile"), data: { text: "\u001b[31mred\u202e" } });
        const text = await out("blame cm hostile -n shop");
        assert.doesNotMatch(text, /[\u001b\u202e]/);
      });

      void test("tree shows owners and owned objects, and why a foreground deletion waits", async () => {
        await apply(deployment("top"));
        const uid = await out("get deploy top -n shop -o jsonpath={.metadata.uid}");
        const owner = {
          apiVersion: "apps/v1",
          kind: "Deployment",
          name: "top",
          uid,
          controller: true,
          blockOwnerDeletion: true,
        };
        await apply(
          config("child", { ownerReferences: [owner], finalizers: ["example.com/cleanup"] }),
          config("other", { ownerReferences: [{ ...owner, controller: false }] }),
        );
        assert.match(await out("tree cm child -n shop"), /^Deployment\/top +\S+ +its controller$/m);
        const whole = await out("tree deploy top -n shop");
        assert.match(whole, /^deployment\.apps\/top .*\n├─ configmap\/child .*\n└─ configmap\/other /m);
        await run("delete", "deploy", "top", "-n", "shop", "--cascade=foreground", "--wait=false");
        const { notes, owned } = await eventually(async () => {
          const read = JSON.parse(await out("tree deploy top -n shop -o json")) as {
            readonly notes: readonly string[];
            readonly owned: readonly { readonly name: string; readonly notes: readonly string[] }[];
          };
          assert.deepStrictEqual(
            read.owned.map(({ name }) => name),
            ["child"],
          );
          assert.equal(read.owned[0]!.notes.length, 2);
          return read;
        });
        assert.match(notes[1]!, /waits until what it owns is gone \(foregroundDeletion\): configmap\/child/);
        const [, note] = owned[0]!.notes;
        assert.equal(note, "waits for whoever removes the finalizer example.com/cleanup (set by binnacle)");
      });
    }

    /** Looks at the server as if it were later, and returns what is found about each thing. */
    const findings = async (laterMs: number, as?: string): Promise<ReadonlyMap<string, DoctorFinding>> => {
      const settings = { kubeconfig: join(folder, "data", "admin.kubeconfig"), ...(as === undefined ? {} : { as }) };
      const report = await withCluster(settings, (cluster) => examine(cluster, Date.now() + laterMs));
      return new Map(report.findings.map((one) => [one.about, one]));
    };

    void test("doctor finds staged faults, and says what can be done", async () => {
      const admission = rename("admissionregistration.k8s.io");
      await apply(
        { apiVersion: "v1", kind: "Namespace", metadata: { name: "sick" } },
        {
          apiVersion: "v1",
          kind: "ResourceQuota",
          metadata: { name: "full", namespace: "sick" },
          spec: { hard: { configmaps: "1" } },
        },
        {
          apiVersion: "v1",
          kind: "PersistentVolumeClaim",
          metadata: { name: "data", namespace: "sick" },
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
        },
        binding("sick", "lost", "nothing"),
        {
          apiVersion: `${admission}/v1`,
          kind: "ValidatingWebhookConfiguration",
          metadata: { name: "hook" },
          webhooks: [
            {
              name: "hook.example.com",
              admissionReviewVersions: ["v1"],
              sideEffects: "None",
              timeoutSeconds: 1,
              clientConfig: {
                service: { namespace: "sick", name: "gone" },
                caBundle: Buffer.from(serverCa()).toString("base64"),
              },
              rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["secrets"] }],
            },
          ],
        },
        { apiVersion: "v1", kind: "Namespace", metadata: { name: "stuck" } },
        {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { name: "kept", namespace: "stuck", finalizers: ["example.com/x"] },
        },
      );
      const secret = JSON.stringify({ apiVersion: "v1", kind: "Secret", metadata: { name: "s", namespace: "sick" } });
      writeFileSync(join(folder, "secret.json"), secret);
      await run("apply", "-f", "secret.json"); // the webhook cannot be called
      await run("delete", "ns", "stuck", "--wait=false");
      await eventually(async () => {
        const text = await out("get ns stuck -o yaml");
        assert.match(text, /example\.com\/x in 1 resource/);
        const quota = await out("get quota full -n sick -o yaml");
        assert.match(quota, /used:\n +configmaps: "1"/);
      });
      const found = await findings(10 * 60_000);
      const whatOf = (about: string): string => `${found.get(about)?.severity} ${found.get(about)?.what}`;
      assert.match(whatOf("namespace/stuck"), /^problem It is being deleted for .*example\.com\/x in 1 resource/);
      assert.match(
        whatOf("configmap/kept in stuck"),
        /^problem .*waits for whoever removes the finalizer example\.com\/x/,
      );
      assert.match(whatOf("resourcequota/sick/full"), /^problem It has used 1 of 1 for configmaps/);
      assert.match(whatOf("persistentvolumeclaim/sick/data"), /^problem It names no storage class/);
      assert.match(whatOf("RoleBinding sick/lost"), /^warning It gives Role sick\/nothing, which does not exist/);
      assert.match(
        whatOf("webhook hook.example.com of validatingwebhookconfiguration/hook"),
        /^problem It calls the service sick\/gone, which does not exist.* 1 request was refused for that/,
      );
      assert.equal(found.get("server"), undefined);
      assert.ok([...found.values()].every(({ next }) => next !== ""));
      const isYoung = await findings(0);
      assert.equal(isYoung.get("namespace/stuck"), undefined, "a deletion may take a moment");
      const late = await findings(40 * 365 * 24 * 3_600_000);
      assert.match(late.get("server")?.what ?? "", /^Its certificate expired/);
      assert.match(
        late.get("webhook hook.example.com of validatingwebhookconfiguration/hook")?.what ?? "",
        /certificate in its caBundle expired/,
      );
      assert.match(late.get("clock")?.what ?? "", /behind this machine's/);
    });

    const serverCa = (): string => readFileSync(join(folder, "data", "pki", "ca.crt"), "utf8");

    void test("doctor tells of a program that is refused again and again, and not of people", async () => {
      const path = "/api/v1/namespaces/shop/endpoints";
      const account = "system:serviceaccount:shop:controller";
      for (const as of [account, "alice", "system:anonymous"]) {
        await withCluster({ kubeconfig: join(folder, "data", "admin.kubeconfig"), as }, async ({ rest }) => {
          for (let time = 0; time < 12; time++)
            await assert.rejects(rest.get(path), /cannot list resource "endpoints"/);
        });
      }
      const refused = [...(await findings(0)).values()].filter(({ what }) => what.includes("lacks a right"));
      assert.deepEqual(
        refused.map(({ about }) => about),
        ["serviceaccount/controller in shop"],
      );
      assert.match(refused[0]!.what, /^It lacks a right.*list endpoints in namespace shop \(12 times\)/);
      assert.ok(refused[0]!.next.includes(`binnacle why list endpoints -n shop --as=${account}`));
    });

    void test("doctor says what it could not look at, and fails for problems alone", async () => {
      const report = JSON.parse(await out("doctor --as=bob -o json")) as {
        readonly findings: readonly object[];
        readonly unread: readonly string[];
      };
      assert.deepStrictEqual(report.findings, []);
      assert.ok(report.unread.some((text) => text.startsWith("you may not list ") && text.includes("secrets")));
      assert.ok(report.unread.some((text) => text.startsWith("metrics: ")));
    });
  });
}
