/**
 * Metrics are about existing objects: those of deleted definitions, policies, webhooks and flow schemas are dropped.
 */
import assert from "node:assert/strict";
import { openLog } from "#std/log.ts";
import { Api, eventually, openServer, suite } from "../harness.ts";
import { configMap } from "../objects.ts";
import { test } from "node:test";

const inBothDomains = suite();

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

function definition(plural: string, kind: string): object {
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.gone.example.com` },
    spec: {
      group: "gone.example.com",
      scope: "Cluster",
      names: { plural, kind },
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  };
}

async function linesAbout(api: Api, text: RegExp): Promise<readonly string[]> {
  const { text: all } = (await api.get("/metrics")).expect(200);
  return all.split("\n").filter((line) => text.test(line));
}

const custom = "/apis/gone.example.com/v1/widgets";
const widget = { apiVersion: "gone.example.com/v1", kind: "Widget", metadata: { name: "w" } };

inBothDomains(
  "metrics go with the definition, policy, webhook or flow schema that they are about, and come back with it",
  async (api) => {
    const { ns, configMaps: maps } = await api.createNamespace();
    const registration = "admissionregistration.k8s.io/v1";
    const [policies, bindings, webhooks] = [
      "validatingadmissionpolicies",
      "validatingadmissionpolicybindings",
      "validatingwebhookconfigurations",
    ].map((name) => `/apis/${registration}/${name}`);
    const flows = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas";
    const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] };
    const selects = { matchLabels: { "kubernetes.io/metadata.name": ns } };
    const make = async (): Promise<void> => {
      (await api.post(definitions, definition("widgets", "Widget"))).expect(201);
      (await api.post(custom, widget)).expect(201);
      (await api.get(custom)).expect(200);
      const policy = {
        apiVersion: registration,
        kind: "ValidatingAdmissionPolicy",
        metadata: { name: `gone-${ns}` },
        spec: {
          matchConstraints: { namespaceSelector: selects, resourceRules: [rule] },
          validations: [{ expression: "object.metadata.name != 'no'" }],
        },
      };
      (await api.post(policies!, policy)).expect(201);
      const binding = { policyName: `gone-${ns}`, validationActions: ["Deny"] };
      (
        await api.post(bindings!, {
          ...policy,
          kind: "ValidatingAdmissionPolicyBinding",
          spec: binding,
        })
      ).expect(201);
      const hook = {
        name: `gone-${ns}.example.com`,
        clientConfig: { url: "https://127.0.0.1:1/" },
        rules: [rule],
        namespaceSelector: selects,
        failurePolicy: "Ignore",
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        timeoutSeconds: 1,
      };
      (
        await api.post(webhooks!, {
          apiVersion: registration,
          kind: "ValidatingWebhookConfiguration",
          metadata: { name: `gone-${ns}` },
          webhooks: [hook],
        })
      ).expect(201);
      (
        await api.post(flows, {
          apiVersion: "flowcontrol.apiserver.k8s.io/v1",
          kind: "FlowSchema",
          metadata: { name: `gone-${ns}` },
          spec: {
            priorityLevelConfiguration: { name: "workload-low" },
            matchingPrecedence: 5,
            rules: [
              {
                subjects: [{ kind: "User", user: { name: `gone-${ns}` } }],
                nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
              },
            ],
          },
        })
      ).expect(201);
      (await api.post(maps, configMap("no"))).expectFailure(422, "Invalid");
      (await api.post(`${maps}?dryRun=All`, configMap("yes"))).expect(201);
      (await api.get("/version", { headers: { "impersonate-user": `gone-${ns}` } })).expect(200);
    };
    const about = new RegExp(`gone\\.example\\.com|gone-${ns}`);
    const kinds = [/resource="widgets"/, /policy="gone-/, /name="gone-[^"]*"/, /flow_schema="gone-/];
    for (const time of [1, 2]) {
      await make();
      const lines = await linesAbout(api, about);
      for (const kind of kinds)
        assert.ok(
          lines.some((line) => kind.test(line)),
          `${kind} ${time}`,
        );
      const created = lines.filter((line) => /^apiserver_request_total\{verb="POST".*"widgets"/.test(line));
      assert.match(created.join("\n"), /^apiserver_request_total\{[^\n]*code="201"\} 1$/, "they begin again");
      for (const path of [policies!, bindings!, webhooks!, flows]) (await api.delete(`${path}/gone-${ns}`)).expect(200);
      (await api.delete(`${definitions}/widgets.gone.example.com`)).expect(200);
      await eventually(async () => {
        (await api.get(`${definitions}/widgets.gone.example.com`)).expect(404);
        assert.deepEqual(await linesAbout(api, about), []);
      });
    }
  },
);

test("deleting definitions logs no warning", async () => {
  const lines: string[] = [];
  const log = openLog({ format: "json", verbosity: 0, write: (line) => void lines.push(line) });
  const server = await openServer("k8s.io", { controllers: ["garbage-collector-controller"] }, { log });
  const api = new Api(server);
  try {
    const names = Array.from({ length: 6 }, (_, i) => `widgets${i}`);
    for (const [i, name] of names.entries()) {
      (await api.post(definitions, definition(name, `Widget${i}`))).expect(201);
      (await api.post(`/apis/gone.example.com/v1/${name}`, { ...widget, kind: `Widget${i}` })).expect(201);
    }
    // The garbage collector watches all of them.
    await eventually(async () => {
      const watches = await linesAbout(api, /^apiserver_longrunning_requests\{verb="WATCH".*resource="widgets\d".* 1$/);
      assert.equal(watches.length, names.length);
    });
    assert.ok((await linesAbout(api, /^apiserver_selfrequest_total\{.*"widgets\d"/)).length > 0);
    for (const name of names) (await api.delete(`${definitions}/${name}.gone.example.com`)).expect(200);
    await eventually(async () => {
      assert.deepEqual(await linesAbout(api, /^apiserver_selfrequest_total\{.*"widgets\d"/), []);
    });
    await eventually(async () => {
      assert.equal((await linesAbout(api, /gone\.example\.com/)).length, 0);
    });
  } finally {
    api.close();
    await server.close();
  }
  assert.deepEqual(
    lines.filter((line) => /"level":"(?:warn|error)"/.test(line)),
    [],
  );
});
