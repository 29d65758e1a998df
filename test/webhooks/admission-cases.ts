/** Cases of admission webhooks: the requests of upstream's AdmissionWebhook tests, and similar ones. */
import { patchTypes } from "../client.ts";
import { custom, definition } from "../crds.ts";
import { configMap, pod } from "../objects.ts";
import type { WebhookAnswer } from "../webhook-server.ts";
import { type Case, configurations, coreRule, denies, ownMaps, type Session, sets } from "./session.ts";

const asked = ["operation", "options"];

const preserving = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const structural = {
  type: "object",
  properties: { data: { type: "object", properties: { a: { type: "string" }, known: { type: "string" } } } },
};

/** Defines custom resources with two versions without a converter. */
async function twoVersions(on: Session, storage: string, schema: object = preserving): Promise<string> {
  const version = (name: string) => ({
    name,
    served: true,
    storage: name === storage,
    schema: { openAPIV3Schema: schema },
    subresources: { status: {}, scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" } },
  });
  const body = definition(on.group, { scope: "Namespaced", versions: [version("v1"), version("v2")] });
  await on.define(body, on.path(`${on.group}/v1/widgets`));
  return on.path(`${on.group}/v1/widgets`);
}

const customRule = (on: Session, ...resources: readonly string[]): object => ({
  apiGroups: [on.group],
  apiVersions: ["*"],
  operations: ["*"],
  resources: resources.length === 0 ? ["widgets"] : resources,
});

export const admissionCases: readonly Case[] = [
  {
    name: "discovery shows the resources of admission",
    run: async (on) => {
      const group = "admissionregistration.k8s.io";
      await on.send("GET", `/apis/${group}`, undefined, { show: ["preferredVersion.version"] });
      const { value } = await on.send("GET", `/apis/${group}/v1`);
      const { resources } = value as { resources: { name: string; verbs: string[] }[] };
      on.note(resources.map(({ name, verbs }) => `${name}: ${verbs.join(" ")}`).join("; "));
    },
  },
  {
    name: "creation, replacement, patches and deletion are refused with the message of the webhook",
    run: async (on) => {
      const [maps, pods] = [on.path("configmaps"), on.path("pods")];
      await on.prepare("POST", maps, configMap("kept", { a: "1" }));
      await on.prepare("POST", pods, pod("kept"));
      await on.hook("validating", "deny", denies("not today"), { rules: [coreRule("configmaps", "pods")] }, asked);
      await on.post(maps, configMap("new", { a: "1" }));
      await on.post(pods, pod("new"));
      await on.edit(`${maps}/kept`, (map) => ({ ...map, data: { a: "2" } }));
      for (const [type, body] of [
        [patchTypes.merge, { data: { a: "2" } }],
        [patchTypes.strategic, { data: { a: "2" } }],
        [patchTypes.json, [{ op: "replace", path: "/data/a", value: "2" }]],
        [patchTypes.apply, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "kept" }, data: { b: "2" } }],
      ] as const) {
        await on.patch(`${maps}/kept?fieldManager=me&fieldValidation=Ignore`, body, { type });
      }
      const applied = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "applied" }, data: { b: "2" } };
      await on.patch(`${maps}/applied?fieldManager=me`, applied, { type: patchTypes.apply });
      await on.send("DELETE", `${maps}/kept?gracePeriodSeconds=0`);
      await on.send("DELETE", `${pods}/kept`, { propagationPolicy: "Background", gracePeriodSeconds: 0 });
      await on.send("DELETE", `${maps}?${ownMaps}`, undefined, { isVague: true });
      await on.send("GET", `${maps}/kept`, undefined, { show: ["data"] });
    },
  },
  {
    name: "connections to pods, services and nodes are admitted as CONNECT",
    run: async (on) => {
      await on.prepare("POST", on.path("pods"), pod("p"));
      const service = { metadata: { name: "s" }, spec: { ports: [{ port: 80 }] } };
      await on.prepare("POST", on.path("services"), service);
      const rules = [{ ...coreRule("pods/*", "services/*", "nodes/proxy"), operations: ["CONNECT"] }];
      const namespaceSelector = {
        matchExpressions: [{ key: "kubernetes.io/metadata.name", operator: "In", values: [on.ns] }],
      };
      await on.hook("mutating", "first", {}, { rules, namespaceSelector }, ["object"]);
      await on.hook("validating", "deny", denies("no visitors"), { rules, namespaceSelector }, [
        "object",
        "requestKind.kind",
      ]);
      for (const path of [
        "pods/p/attach?container=c&stdin=true&stdout=true",
        "pods/p/exec?command=ls&command=-l&container=c&stdout=true",
        "pods/p/attach?stdin=0&stdout=false&stderr=&tty=maybe&unknown=x",
        "pods/p/portforward?ports=80&ports=81",
        "pods/p/portforward",
        "pods/p/portforward?ports=x",
        "pods/p/exec",
        "pods/p/proxy/some/where?x=1",
        "pods/p/proxy",
        "services/s:80/proxy/",
        "services/s/proxy?path=x",
      ]) {
        await on.send("POST", on.path(path));
      }
      await on.send("GET", on.path("pods/p/attach"));
      for (const method of ["GET", "PUT", "PATCH", "DELETE", "HEAD"]) {
        await on.send(method, on.path("pods/p/proxy/proxy/x/?y=z"), undefined, { isVague: true });
      }
      await on.send("GET", "/api/v1/nodes/none/proxy/x");
      await on.send("POST", on.path("pods/none/attach?container=c"));
    },
  },
  {
    name: "creation, change and deletion of custom resources are refused",
    run: async (on) => {
      const widgets = await twoVersions(on, "v1");
      await on.prepare("POST", widgets, custom(on.group, "kept", { spec: { replicas: 1 } }));
      await on.hook(
        "validating",
        "deny",
        denies("no widgets"),
        { rules: [customRule(on, "widgets", "widgets/*")] },
        asked,
      );
      await on.post(widgets, custom(on.group, "new"));
      await on.patch(`${widgets}/kept`, { spec: { replicas: 2 } });
      await on.patch(`${widgets}/kept/status`, { status: { replicas: 2 } });
      await on.patch(`${widgets}/kept/scale`, { spec: { replicas: 2 } });
      await on.send("DELETE", `${widgets}/kept`);
      await on.send("DELETE", widgets);
    },
  },
  {
    name: "namespaces have preconditions when they are deleted, and are not deleted twice",
    run: async (on) => {
      const rules = [coreRule("namespaces")];
      const namespaceSelector = {
        matchExpressions: [{ key: "kubernetes.io/metadata.name", operator: "In", values: [on.name("ending")] }],
      };
      const ending = `/api/v1/namespaces/${on.name("ending")}`;
      await on.prepare("POST", "/api/v1/namespaces", {
        metadata: { name: on.name("ending") },
        spec: { finalizers: ["example.com/kept"] },
      });
      for (const phase of ["mutating", "validating"] as const) {
        await on.hook(phase, phase, {}, { rules, namespaceSelector }, [
          "operation",
          "namespace",
          "options.preconditions",
          "options.propagationPolicy",
        ]);
      }
      await on.send("DELETE", ending, { preconditions: { uid: "other" } });
      await on.send("DELETE", `${ending}?dryRun=All`);
      await on.send("DELETE", ending, { propagationPolicy: "Orphan" });
      await on.send("DELETE", ending, { propagationPolicy: "Foreground" });
      await on.send("DELETE", `${ending}?dryRun=All`);
      await on.send("DELETE", ending, { preconditions: { uid: "other" } });
      await on.prepare("PUT", `${ending}/finalize`, {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: on.name("ending") },
        spec: { finalizers: [] },
      });
    },
  },
  {
    name: "a definition has preconditions when it is deleted",
    run: async (on) => {
      await twoVersions(on, "v1");
      const rules = [{ ...coreRule("customresourcedefinitions"), apiGroups: ["apiextensions.k8s.io"] }];
      await on.hook(
        "validating",
        "definitions",
        {},
        {
          rules,
          matchConditions: [{ name: "own", expression: `oldObject != null && oldObject.spec.group == '${on.group}'` }],
        },
        ["operation", "options.preconditions"],
      );
      const definitions = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.${on.group}`;
      await on.send("DELETE", definitions, { preconditions: { uid: "other" } });
      await on.send("DELETE", `${definitions}?dryRun=All`);
    },
  },
  {
    name: "a namespace with a generated name has no namespace, since its name is not known",
    run: async (on) => {
      const run = { run: on.run };
      const rules = [{ ...coreRule("namespaces"), operations: ["CREATE"] }];
      for (const phase of ["mutating", "validating"] as const)
        await on.hook(phase, phase, {}, { rules, objectSelector: { matchLabels: run }, namespaceSelector: {} }, [
          "namespace",
        ]);
      await on.post("/api/v1/namespaces?dryRun=All", {
        metadata: { name: on.name("both"), generateName: "gen-", labels: run },
      });
      await on.post("/api/v1/namespaces?dryRun=All", { metadata: { generateName: "gen-", labels: run } });
    },
  },
  {
    name: "an eviction is seen in the version that is stored",
    run: async (on) => {
      await on.prepare("POST", on.path("pods"), pod("p"));
      const rules = [coreRule("pods/eviction")];
      for (const phase of ["mutating", "validating"] as const)
        await on.hook(phase, phase, {}, { rules }, ["kind.version", "object.apiVersion", "object.kind"]);
      for (const apiVersion of ["policy/v1", "policy/v1beta1"])
        await on.post(on.path("pods/p/eviction?dryRun=All"), { apiVersion, kind: "Eviction", metadata: { name: "p" } });
    },
  },
  {
    name: "a uid that a webhook changes is immutable, while that of a PUT is a precondition",
    run: async (on) => {
      const maps = on.path("configmaps");
      const template = { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } };
      await on.prepare("POST", maps, configMap("a"));
      await on.prepare("POST", on.path("apps/v1/deployments"), {
        metadata: { name: "d" },
        spec: { selector: { matchLabels: { a: "b" } }, template },
      });
      const widgets = await twoVersions(on, "v1");
      await on.prepare("POST", widgets, custom(on.group, "w", { spec: { replicas: 1 } }));
      const rules = [
        {
          apiGroups: ["", "apps", on.group],
          apiVersions: ["v1"],
          operations: ["UPDATE"],
          resources: ["configmaps", "deployments/*", "widgets", "widgets/*"],
        },
      ];
      await on.hook("mutating", "uid", sets("/metadata/uid", "d9607e19-f88f-11e6-a518-42010a800195"), { rules });
      await on.send("PUT", `${maps}/a`, configMap("a", { b: "1" }));
      await on.edit(`${maps}/a`, (map) => ({ ...map, data: { a: "2" } }));
      await on.send(
        "PUT",
        `${maps}/a`,
        { ...configMap("a"), metadata: { name: "a", uid: "other" } },
        { isVague: true },
      );
      await on.patch(`${maps}/a`, { data: { a: "2" } });
      await on.edit(on.path("apps/v1/deployments/d/scale"), (scale) => ({ ...scale, spec: { replicas: 2 } }));
      await on.patch(on.path("apps/v1/deployments/d/scale"), { spec: { replicas: 2 } });
      await on.edit(`${widgets}/w`, (widget) => ({ ...widget, spec: { replicas: 2 } }));
      await on.edit(`${widgets}/w/scale`, (scale) => ({ ...scale, spec: { replicas: 2 } }));
      await on.patch(`${widgets}/w/scale`, { spec: { replicas: 2 } });
    },
  },
  {
    name: "answers are JSON or YAML, whatever their type says",
    run: async (on) => {
      const yaml = 'kind: AdmissionReview\nresponse:\n  allowed: true\n  warnings: &w ["in YAML"]\nx: *w\n';
      const failure = JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", code: 418 });
      const answers: Readonly<Record<string, WebhookAnswer>> = {
        yaml: { body: yaml, headers: { "content-type": "application/yaml" } },
        frob: { body: yaml, headers: { "content-type": "application/frob" } },
        wrong: { body: yaml.replace("true", "5") },
        two: { body: `${yaml}---\nkind: Other\n` },
        untyped: { body: yaml, headers: { "content-type": ";;;" } },
        wordless: { code: 418, body: failure },
      };
      const webhooks = Object.entries(answers).map(([label, answer]) =>
        on.webhook("validating", label, answer, {
          name: `${label}.hooks.example.com`,
          admissionReviewVersions: ["v1beta1"],
          objectSelector: { matchLabels: { answer: label } },
        }),
      );
      await on.configure("validating", "answers", await Promise.all(webhooks));
      await on.settle();
      for (const answer of Object.keys(answers)) {
        await on.post(`${on.path("configmaps")}?dryRun=All`, { metadata: { name: "a", labels: { answer } } });
      }
    },
  },
  {
    name: "a webhook that cannot be reached refuses or is left out, as its policy says",
    run: async (on) => {
      const closed = { url: "https://127.0.0.1:1/closed" };
      await on.hook("validating", "closed", {}, { clientConfig: closed });
      await on.post(on.path("configmaps"), configMap("a"));
      await on.send("DELETE", `${on.path("configmaps")}?${ownMaps}`, undefined, { isVague: true });
      await on.send("DELETE", on.path("configmaps/none"));
      await on.prepare("DELETE", configurations("validating", on.name("closed")));
      await on.hook("mutating", "closed2", {}, { clientConfig: closed, failurePolicy: "Ignore" });
      await on.post(on.path("configmaps"), configMap("a"));
    },
  },
  {
    name: "two webhooks change a config map one after the other",
    run: async (on) => {
      await on.configure("mutating", "stages", [
        await on.webhook("mutating", "one", sets("/data/one", "1"), {}, ["object.data"]),
        await on.webhook("mutating", "two", { patch: [{ op: "copy", from: "/data/one", path: "/data/two" }] }, {}, [
          "object.data",
        ]),
        await on.webhook("mutating", "three", sets("/metadata/labels", { l: "v" }), {
          rules: [{ ...coreRule(), operations: ["UPDATE"] }],
        }),
      ]);
      await on.hook("validating", "see", {}, {}, ["object.data", "object.metadata.labels", "oldObject.data"]);
      const maps = on.path("configmaps");
      await on.post(`${maps}?fieldManager=me`, configMap("a", { start: "yes" }), { show: ["data"] });
      await on.patch(`${maps}/a?fieldManager=other`, { data: { more: "x" } }, { show: ["data", "metadata.labels"] });
      await on.patch(`${maps}/a/none`, {});
      const applied = {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "a" },
        data: { applied: "x", one: "7" },
      };
      await on.patch(`${maps}/a?fieldManager=applier`, applied, { type: patchTypes.apply, show: ["message"] });
      await on.patch(`${maps}/a?fieldManager=applier&force=true`, applied, { type: patchTypes.apply, show: ["data"] });
      const fresh = { ...applied, metadata: { name: "b" }, data: { applied: "x" } };
      await on.patch(`${maps}/b?fieldManager=applier`, fresh, { type: patchTypes.apply, show: ["data"] });
      await on.edit(`${maps}/a`, (map) => ({ ...map, data: { replaced: "x" } }), { show: ["data"] });
    },
  },
  {
    name: "all operations of a patch work, and one that does not is an error",
    run: async (on) => {
      const maps = on.path("configmaps");
      await on.hook("mutating", "patch", {});
      for (const [at, patch] of [
        [
          { op: "test", path: "/data/a", value: "1" },
          { op: "move", from: "/data/a", path: "/data/moved" },
        ],
        [{ op: "replace", path: "/data", value: { all: "new" } }],
        [{ op: "remove", path: "/data" }],
        [{ op: "add", path: "/metadata/finalizers", value: ["example.com/f"] }],
        [{ op: "add", path: "/metadata/finalizers/-", value: "x" }],
        [{ op: "test", path: "/data/a", value: "2" }],
        [{ op: "replace", path: "/metadata/name", value: "renamed" }],
        [{ op: "replace", path: "/metadata/resourceVersion", value: "7" }],
        [{ op: "add", path: "/metadata/labels", value: { "a b": "c" } }],
        [{ op: "add", path: "/data/b", value: 5 }],
        [
          { op: "add", path: "/metadata/annotations", value: { a: "b" } },
          { op: "replace", path: "/metadata/annotations/a", value: "c" },
        ],
      ].entries()) {
        await on.client("patch", { patch });
        await on.post(maps, configMap(`m${at}`, { a: "1" }), {
          show: ["data", "metadata.finalizers", "metadata.annotations"],
          // The messages of the servers differ.
          isVague: at === 4,
        });
      }
      await on.client("patch", { response: { patchType: "JSONPatch" } });
      await on.post(maps, configMap("no-patch"));
      await on.client("patch", {
        response: { patch: Buffer.from('[{"op":"add","path":"/data/x","value":"y"}]').toString("base64") },
      });
      await on.post(maps, configMap("no-type"));
      await on.client("patch", { response: { patchType: "MergePatch", patch: "e30=" } });
      await on.post(maps, configMap("other-type"), { isVague: true });
    },
  },
  {
    name: "an answer with a member of another type is a failure, and what is no patch is an error where failures are ignored",
    run: async (on) => {
      const maps = on.path("configmaps");
      const base64 = (text: string): string => Buffer.from(text).toString("base64");
      await on.hook("mutating", "odd", {});
      for (const failurePolicy of ["Fail", "Ignore"]) {
        const policy = [{ op: "replace", path: "/webhooks/0/failurePolicy", value: failurePolicy }];
        await on.prepare("PATCH", configurations("mutating", on.name("odd")), policy, { type: patchTypes.json });
        await on.settle();
        for (const [at, status] of [
          { code: "403" },
          { code: 403.5 },
          { code: 2 ** 31 },
          { reason: 5 },
          { message: true },
          { metadata: "x" },
          { metadata: { remainingItemCount: "x" } },
          { details: "x" },
          { details: { uid: 5 } },
          { details: { retryAfterSeconds: "x" } },
          { details: { causes: "x" } },
          { details: { causes: [5] } },
          { details: { causes: [{ reason: [] }] } },
          "x",
        ].entries()) {
          await on.client("odd", { response: { allowed: false, status } });
          await on.post(maps, configMap(`s${at}-${failurePolicy.toLowerCase()}`));
        }
        for (const [at, response] of [
          { patchType: "JSONPatch", patch: base64("  ") },
          { patchType: "MergePatch", patch: base64("{}") },
          { patchType: "MergePatch", patch: base64("[]") },
          { patchType: "MergePatch", patch: base64('[{"op":"add","path":"/data","value":{}}]') },
          { patchType: "JSONPatch", patch: 5 },
          { uid: 5 },
        ].entries()) {
          await on.client("odd", { response });
          await on.post(maps, configMap(`p${at}-${failurePolicy.toLowerCase()}`));
        }
      }
      const metadata = { resourceVersion: "1", continue: "x", remainingItemCount: 3 };
      await on.client("odd", { response: { allowed: false, status: { metadata, message: "no" } } });
      await on.post(maps, configMap("refused"), { show: ["metadata.remainingItemCount"] });
      await on.client("odd", { code: 406, body: "{}" });
      await on.prepare(
        "PATCH",
        configurations("mutating", on.name("odd")),
        [{ op: "replace", path: "/webhooks/0/failurePolicy", value: "Fail" }],
        { type: patchTypes.json },
      );
      await on.settle();
      await on.post(maps, configMap("not-acceptable"));
    },
  },
  {
    name: "a request keeps its name when a webhook gives the object another one",
    run: async (on) => {
      await on.hook("mutating", "rename", { patch: [{ op: "add", path: "/metadata/name", value: "renamed" }] });
      await on.hook("validating", "then", {}, {}, ["object.metadata.name"]);
      const maps = on.path("configmaps");
      await on.post(maps, configMap("named"), { show: ["metadata.name"] });
      await on.post(`${maps}?dryRun=All`, { metadata: { generateName: "made-" } }, { show: ["metadata.name"] });
    },
  },
  {
    name: "managers that a webhook spoils are those from before it, with a warning",
    run: async (on) => {
      const entry = { manager: "m", operation: "Update", apiVersion: "v1", fieldsType: "FieldsV1", fieldsV1: {} };
      for (const [at, managedFields] of [
        [{ ...entry, fieldsType: "FieldsV2" }],
        [entry, { ...entry, manager: "n", fieldsType: "" }],
        [{ ...entry, operation: "Other" }],
        [{ ...entry, apiVersion: "" }],
        [{ ...entry, fieldsV1: undefined }],
        [{ ...entry, fieldsV1: { "x:y": {} } }],
        [{}],
      ].entries()) {
        await on.hook("mutating", `spoil-${at}`, sets("/metadata/managedFields", managedFields));
        await on.post(on.path("configmaps"), configMap(`m${at}`), { show: ["metadata.managedFields.length"] });
        await on.prepare("DELETE", configurations("mutating", on.name(`spoil-${at}`)));
        await on.settle();
      }
    },
  },
  {
    name: "a pod that a webhook completes has the defaults of what was added",
    run: async (on) => {
      const init = [{ op: "add", path: "/spec/initContainers", value: [{ name: "i", image: "added" }] }];
      await on.hook("mutating", "init", { patch: init }, { rules: [{ ...coreRule("pods"), operations: ["CREATE"] }] }, [
        "object.status",
      ]);
      await on.hook("validating", "see", {}, { rules: [coreRule("pods")] }, ["object.spec.initContainers"]);
      await on.post(on.path("pods"), pod("p"), { show: ["spec.initContainers", "status"] });
      await on.client("init", { patch: [{ op: "remove", path: "/spec/containers/0/image" }] });
      await on.post(on.path("pods"), pod("q"));
    },
  },
  {
    name: "custom resources are changed, also where another version is stored",
    run: async (on) => {
      const widgets = await twoVersions(on, "v1");
      const second = on.path(`${on.group}/v2/widgets`);
      await on.hook(
        "mutating",
        "change",
        sets("/data/changed", "yes"),
        { rules: [{ ...customRule(on), operations: ["CREATE", "UPDATE"] }] },
        ["object.apiVersion", "object.metadata.creationTimestamp", "oldObject.apiVersion"],
      );
      await on.post(widgets, custom(on.group, "a", { data: { start: "1" } }), { show: ["data"] });
      const spec = [
        { op: "replace", path: "/spec/versions/0/storage", value: false },
        { op: "replace", path: "/spec/versions/1/storage", value: true },
      ];
      const crd = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.${on.group}`;
      await on.prepare("PATCH", crd, spec, { type: patchTypes.json });
      await on.patch(`${widgets}/a`, { data: { more: "2" } }, { show: ["apiVersion", "data"] });
      await on.patch(`${second}/a`, { data: { more: "3" } }, { show: ["apiVersion", "data"] });
      await on.post(
        second,
        { ...custom(on.group, "b", { data: { start: "1" } }), apiVersion: `${on.group}/v2` },
        { show: ["data"] },
      );
      const applied = { ...custom(on.group, "c", { data: { applied: "1" } }), apiVersion: `${on.group}/v2` };
      await on.patch(`${second}/c?fieldManager=me`, applied, { type: patchTypes.apply, show: ["data"] });
      await on.send("GET", `${widgets}/b`, undefined, { show: ["apiVersion", "data"] });
    },
  },
  {
    name: "custom resources that are changed are pruned",
    run: async (on) => {
      const widgets = await twoVersions(on, "v1", structural);
      await on.configure("mutating", "stages", [
        await on.webhook("mutating", "known", sets("/data/known", "yes"), { rules: [customRule(on)] }),
        await on.webhook("mutating", "unknown", sets("/data/unknown", "yes"), { rules: [customRule(on)] }),
      ]);
      await on.settle();
      await on.post(widgets, custom(on.group, "a", { data: { a: "1", pruned: "x" } }), { show: ["data"] });
      await on.client("known", sets("/data/known", 5));
      await on.post(widgets, custom(on.group, "b", { data: { a: "1" } }));
    },
  },
  {
    name: "configurations of webhooks are not admitted by webhooks",
    run: async (on) => {
      const rules = [
        { apiGroups: ["admissionregistration.k8s.io"], apiVersions: ["*"], operations: ["*"], resources: ["*"] },
      ];
      const objectSelector = { matchLabels: { run: on.run } };
      const more = { rules, objectSelector, namespaceSelector: {} };
      await on.hook("validating", "deny", denies("stays"), more);
      await on.hook("mutating", "change", sets("/metadata/labels/changed", "yes"), more);
      for (const phase of ["mutating", "validating"] as const) {
        const name = on.name(`dummy-${phase}`);
        const webhooks = [await on.webhook(phase, "dummy", {}, { rules: [coreRule("none")] })];
        const kind = phase === "mutating" ? "MutatingWebhookConfiguration" : "ValidatingWebhookConfiguration";
        const body = {
          apiVersion: "admissionregistration.k8s.io/v1",
          kind,
          metadata: { name, labels: { run: on.run } },
          webhooks,
        };
        await on.post(configurations(phase), body, { show: ["metadata.labels"] });
        await on.patch(
          configurations(phase, name),
          { metadata: { annotations: { a: "b" } } },
          { show: ["metadata.labels"] },
        );
        await on.send("DELETE", configurations(phase, name));
      }
      // Policies are not admitted by webhooks either.
      const policy = {
        apiVersion: "admissionregistration.k8s.io/v1",
        kind: "ValidatingAdmissionPolicy",
        metadata: { name: on.name("policy"), labels: { run: on.run } },
        spec: { matchConstraints: { resourceRules: [coreRule("none")] }, validations: [{ expression: "true" }] },
      };
      await on.post("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies", policy);
    },
  },
  {
    name: "definitions of custom resources are refused",
    run: async (on) => {
      const rule = {
        apiGroups: ["apiextensions.k8s.io"],
        apiVersions: ["*"],
        operations: ["*"],
        resources: ["customresourcedefinitions"],
      };
      const objectSelector = { matchLabels: { run: on.run } };
      await on.hook(
        "validating",
        "deny",
        denies("no definitions"),
        { rules: [rule], objectSelector, namespaceSelector: {} },
        ["namespace"],
      );
      const body = definition(on.group);
      await on.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
        ...body,
        metadata: { name: `widgets.${on.group}`, labels: { run: on.run } },
      });
      await on.send("GET", `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.${on.group}`);
    },
  },
  {
    name: "a webhook that is slower than its time refuses, or is left out",
    run: async (on) => {
      const maps = on.path("configmaps");
      await on.hook("validating", "slow", { hangs: true }, { timeoutSeconds: 1 });
      await on.post(maps, configMap("a"));
      await on.prepare(
        "PATCH",
        configurations("validating", on.name("slow")),
        [{ op: "replace", path: "/webhooks/0/failurePolicy", value: "Ignore" }],
        { type: patchTypes.json },
      );
      await on.settle();
      await on.post(maps, configMap("a"));
      await on.client("slow", {});
      await on.prepare(
        "PATCH",
        configurations("validating", on.name("slow")),
        [
          { op: "replace", path: "/webhooks/0/failurePolicy", value: "Fail" },
          { op: "remove", path: "/webhooks/0/timeoutSeconds" },
        ],
        { type: patchTypes.json },
      );
      await on.settle();
      await on.post(maps, configMap("b"));
    },
  },
  {
    name: "webhooks are called again where they ask for it",
    run: async (on) => {
      const again = { reinvocationPolicy: "IfNeeded" };
      await on.configure("mutating", "chain", [
        await on.webhook("mutating", "again", {}, again, ["object.data"]),
        await on.webhook("mutating", "never", {}, {}, ["object.data"]),
        await on.webhook("mutating", "changes", sets("/data/x", "1"), again, ["object.data"]),
        await on.webhook("mutating", "last", sets("/data/y", "1"), again, ["object.data"]),
      ]);
      await on.settle();
      await on.post(on.path("configmaps"), configMap("a", { a: "1" }), { show: ["data"] });
      await on.client("again", sets("/data/again", "1"));
      await on.post(on.path("configmaps"), configMap("b", { a: "1" }), { show: ["data"] });
      await on.client("last", {});
      await on.client("again", {});
      await on.client("changes", {});
      await on.post(on.path("configmaps"), configMap("c", { a: "1" }), { show: ["data"] });
    },
  },
  {
    name: "an object without a name is shown without one",
    run: async (on) => {
      await on.hook("mutating", "first", sets("/metadata/labels", { l: "v" }), {}, ["object.metadata.generateName"]);
      await on.hook("validating", "then", {}, {}, ["object.metadata.generateName"]);
      await on.post(on.path("configmaps"), { metadata: { generateName: "made-" } }, { show: ["metadata.labels"] });
      await on.client("first", { patch: [{ op: "add", path: "/metadata/name", value: "given" }] });
      await on.post(on.path("configmaps"), { metadata: { generateName: "made-" } }, { show: ["metadata.name"] });
      await on.post(on.path("configmaps"), { metadata: {} });
    },
  },
  {
    name: "eviction, binding, scale, tokens and other subresources are admitted as what their bodies are",
    run: async (on) => {
      const rules = [{ apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*/*"] }];
      await on.hook("mutating", "first", {}, { rules }, ["requestKind.kind", "requestSubResource"]);
      await on.hook("validating", "see", {}, { rules }, ["object.kind", "oldObject.kind", "options.kind"]);
      const pods = on.path("pods");
      for (const name of ["p", "q", "r"]) await on.post(pods, pod(name));
      await on.patch(`${pods}/p/status`, { status: { phase: "Running" } });
      const ephemeral = { spec: { ephemeralContainers: [{ name: "e", image: "i" }] } };
      await on.patch(`${pods}/p/ephemeralcontainers`, ephemeral, { type: patchTypes.strategic });
      await on.post(`${pods}/p/eviction`, { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "p" } });
      const target = { apiVersion: "v1", kind: "Node", name: "n" };
      await on.post(`${pods}/q/binding`, { metadata: { name: "q" }, target });
      await on.post(on.path("bindings"), { metadata: { name: "r" }, target });
      const template = { metadata: { labels: { a: "b" } }, spec: pod("t")["spec"] };
      const deployment = { metadata: { name: "d" }, spec: { selector: { matchLabels: { a: "b" } }, template } };
      const deployments = on.path("apps/v1/deployments");
      await on.post(deployments, deployment);
      await on.patch(`${deployments}/d/scale`, { spec: { replicas: 3 } }, { show: ["spec.replicas"] });
      await on.edit(`${deployments}/d/scale`, (scale) => ({ ...scale, spec: { replicas: 4 } }), {
        show: ["spec.replicas"],
      });
      await on.patch(`${deployments}/d/status`, { status: { replicas: 1 } });
      const controller = { metadata: { name: "c" }, spec: { selector: { a: "b" }, template } };
      await on.post(on.path("replicationcontrollers"), controller);
      await on.patch(on.path("replicationcontrollers/c/scale"), { spec: { replicas: 2 } });
      await on.prepare("POST", on.path("serviceaccounts"), { metadata: { name: "robot" } });
      const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
      await on.post(on.path("serviceaccounts/robot/token"), request, { show: ["kind"] });
      const widgets = await twoVersions(on, "v1");
      await on.post(widgets, custom(on.group, "w", { spec: { replicas: 1 } }));
      await on.patch(`${widgets}/w/scale`, { spec: { replicas: 3 } }, { show: ["spec.replicas"] });
      await on.patch(`${widgets}/w/status`, { status: { replicas: 3 } });
      await on.patch(`/api/v1/namespaces/${on.ns}/status`, { metadata: { annotations: { a: "b" } } });
    },
  },
  {
    name: "a scale and a status can be changed by webhooks",
    run: async (on) => {
      const widgets = await twoVersions(on, "v1");
      await on.prepare("POST", widgets, custom(on.group, "w", { spec: { replicas: 1 } }));
      await on.hook("mutating", "scale", sets("/spec/replicas", 7), { rules: [customRule(on, "widgets/scale")] }, [
        "object.spec",
        "oldObject.spec",
      ]);
      await on.hook("mutating", "status", sets("/status/set", "yes"), { rules: [customRule(on, "widgets/status")] });
      await on.patch(`${widgets}/w/scale`, { spec: { replicas: 3 } }, { show: ["spec.replicas"] });
      await on.edit(`${widgets}/w/scale`, (scale) => ({ ...scale, spec: { replicas: 4 } }), {
        show: ["spec.replicas"],
      });
      await on.patch(`${widgets}/w/status`, { status: { replicas: 3 } }, { show: ["status"] });
      await on.send("GET", `${widgets}/w`, undefined, { show: ["spec", "status", "metadata.generation"] });
    },
  },
  {
    name: "warnings of all webhooks reach the client, and those of refusals",
    run: async (on) => {
      const maps = on.path("configmaps");
      await on.hook("mutating", "first", { response: { warnings: ["from the first", 'with "quotes" and ü'] } });
      await on.hook("validating", "then", {
        response: { warnings: ["from the first", "from the second", "a\nb", ""] },
      });
      await on.post(maps, configMap("a"));
      await on.send("DELETE", `${maps}/a`);
      await on.client("then", {
        response: {
          allowed: false,
          warnings: ["look"],
          status: { code: 418, reason: "Teapot", message: "short and stout" },
        },
      });
      await on.post(maps, configMap("b"));
      for (const status of [
        {},
        {
          code: 409,
          reason: "Conflict",
          message: "busy",
          details: { causes: [{ reason: "FieldValueInvalid", field: "data", message: "bad" }] },
        },
        { status: "Success", message: "odd" },
        { code: 201, message: "odd" },
        { reason: "Forbidden" },
        { message: "m", details: { name: "n", kind: "k", retryAfterSeconds: 3 } },
      ]) {
        await on.client("then", { response: { allowed: false, status } });
        await on.post(maps, configMap("c"), { show: ["details", "code", "status"] });
      }
      await on.client("then", {
        response: { allowed: true, status: { message: "ignored" }, auditAnnotations: { a: "b" } },
      });
      await on.post(maps, configMap("d"));
    },
  },
  {
    name: "a dry run is told of",
    run: async (on) => {
      const maps = on.path("configmaps");
      await on.configure("mutating", "all", [
        await on.webhook("mutating", "none", sets("/data/n", "1"), {}, ["dryRun", "options"]),
        await on.webhook("mutating", "on-dry-run", {}, { sideEffects: "NoneOnDryRun" }, ["dryRun"]),
      ]);
      await on.settle();
      await on.post(`${maps}?dryRun=All`, configMap("a", { a: "1" }), { show: ["data"] });
      await on.post(maps, configMap("b", { a: "1" }));
      await on.patch(`${maps}/b?dryRun=All`, { data: { a: "2" } }, { show: ["data"] });
      await on.send("DELETE", `${maps}/b?dryRun=All`);
      await on.send("DELETE", `${maps}/b`, { dryRun: ["All"] });
      await on.send("DELETE", `${maps}?dryRun=All&${ownMaps}`);
      await on.send("GET", `${maps}/b`, undefined, { show: ["data"] });
      for (const sideEffects of ["Some", "Unknown", "Other", undefined]) {
        const webhook = await on.webhook("validating", "side", {}, { sideEffects });
        const body = {
          apiVersion: "admissionregistration.k8s.io/v1",
          kind: "ValidatingWebhookConfiguration",
          metadata: { name: on.name("side") },
          webhooks: [webhook],
        };
        await on.post(configurations("validating"), body);
      }
    },
  },
  {
    name: "writes that fail for another reason are admitted before or after it",
    run: async (on) => {
      const maps = on.path("configmaps");
      await on.prepare("POST", maps, configMap("there", { a: "1" }, { resourceVersion: "" }));
      await on.hook("mutating", "first", {});
      await on.hook("validating", "then", {}, {}, ["object.data"]);
      await on.post(maps, configMap("there"));
      await on.post(maps, configMap("Not_valid"));
      await on.post(maps, { ...configMap("a"), data: { "not valid": "x" } });
      await on.post(`${maps}?fieldValidation=Strict`, { ...configMap("a"), unknown: 1 });
      await on.post(maps, { ...configMap("a"), data: 5 });
      await on.post(maps, { ...configMap("a"), metadata: { name: "a", namespace: "other" } });
      await on.send("PUT", `${maps}/there`, configMap("there", {}, { resourceVersion: "1" }));
      await on.send("PUT", `${maps}/there`, configMap("there", {}, { uid: "d9607e19-f88f-11e6-a518-42010a800195" }), {
        isVague: true,
      });
      await on.send("PUT", `${maps}/none`, configMap("none"));
      await on.patch(`${maps}/none`, { data: {} });
      await on.patch(`${maps}/there`, { metadata: { resourceVersion: "1" }, data: { a: "2" } });
      await on.patch(`${maps}/there`, { data: { a: "1" } });
      await on.send("DELETE", `${maps}/none`);
      await on.send("DELETE", `${maps}/there`, { preconditions: { uid: "d9607e19-f88f-11e6-a518-42010a800195" } });
      await on.post(`/api/v1/namespaces/none-${on.run}/configmaps`, configMap("a"));
    },
  },
  {
    name: "an object that an update creates is admitted as created",
    run: async (on) => {
      const rules = [
        { apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["leases", "endpoints", "roles"] },
      ];
      await on.hook("mutating", "first", sets("/metadata/labels", { l: "v" }), { rules });
      await on.hook("validating", "then", {}, { rules }, ["object.metadata.labels", "oldObject", "options"]);
      const lease = { metadata: { name: "l" }, spec: { holderIdentity: "me" } };
      await on.send("PUT", on.path("coordination.k8s.io/v1/leases/l?fieldManager=me"), lease, {
        show: ["metadata.labels"],
      });
      await on.send("PUT", on.path("endpoints/e"), { metadata: { name: "e" } });
      await on.send("PUT", on.path("rbac.authorization.k8s.io/v1/roles/r"), {
        metadata: { name: "r" },
        rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }],
      });
    },
  },
  {
    name: "deletions are admitted once, with finalizers and grace, and each object of a collection",
    run: async (on) => {
      const [maps, pods] = [on.path("configmaps"), on.path("pods")];
      await on.prepare("POST", maps, configMap("held", {}, { finalizers: ["example.com/f"] }));
      for (const name of ["a", "b"]) await on.prepare("POST", maps, configMap(name, {}, { labels: { set: "yes" } }));
      await on.prepare("POST", pods, pod("p"));
      await on.prepare("POST", `${pods}/p/binding`, { metadata: { name: "p" }, target: { kind: "Node", name: "n" } });
      await on.hook("mutating", "first", {}, { rules: [coreRule("configmaps", "pods")] }, [
        "oldObject.metadata.name",
        "options",
      ]);
      await on.hook("validating", "then", {}, { rules: [coreRule("configmaps", "pods")] }, ["oldObject.metadata.name"]);
      await on.send("DELETE", `${maps}/held?propagationPolicy=Background`, undefined, {
        show: ["metadata.finalizers"],
      });
      await on.send("DELETE", `${maps}/held`);
      await on.patch(`${maps}/held`, { metadata: { finalizers: null } });
      await on.send("DELETE", `${maps}?labelSelector=set%3Dyes`, undefined, { isVague: true });
      await on.send("DELETE", `${pods}/p?gracePeriodSeconds=5`);
    },
  },
  {
    name: "other kinds: fields that the server gives are seen by validating webhooks",
    run: async (on) => {
      const rules = [
        { apiGroups: ["*"], apiVersions: ["*"], operations: ["CREATE"], resources: ["*"], scope: "Namespaced" },
      ];
      await on.hook("mutating", "first", {}, { rules });
      await on.hook("validating", "then", {}, { rules });
      await on.post(on.path("services"), { metadata: { name: "s" }, spec: { ports: [{ port: 80 }] } });
      await on.post(on.path("secrets"), { metadata: { name: "s" }, stringData: { a: "b" } });
      await on.post(on.path("serviceaccounts"), { metadata: { name: "s" } });
      await on.post(on.path("authorization.k8s.io/v1/localsubjectaccessreviews"), {
        metadata: { namespace: on.ns },
        spec: { user: "bob", resourceAttributes: { namespace: on.ns, verb: "get", resource: "pods" } },
      });
      await on.post(on.path("networking.k8s.io/v1/networkpolicies"), {
        metadata: { name: "n" },
        spec: { podSelector: {} },
      });
      await on.post(on.path("policy/v1/poddisruptionbudgets"), {
        metadata: { name: "b" },
        spec: { maxUnavailable: 1 },
      });
    },
  },
];
