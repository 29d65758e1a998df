/** Cases of APIServices whose server does not exist: the requests of upstream's aggregation test. */
import { asTable, patchTypes } from "../client.ts";
import { type Case, type Session } from "./session.ts";

const services = "/apis/apiregistration.k8s.io/v1/apiservices";

const apiService = (on: Session, version: string, more: object = {}): object => ({
  apiVersion: "apiregistration.k8s.io/v1",
  kind: "APIService",
  metadata: { name: `${version}.${on.group}`, labels: { run: on.run } },
  spec: {
    group: on.group,
    version,
    service: { namespace: on.ns, name: "api", port: 443 },
    insecureSkipTLSVerify: true,
    groupPriorityMinimum: 2000,
    versionPriority: 200,
    ...more,
  },
});

const priorities = ["spec.groupPriorityMinimum", "spec.versionPriority"];
const available = ["type", "status", "reason", "message"].map((field) => `status.conditions.0.${field}`);

export const apiServiceCases: readonly Case[] = [
  {
    name: "an APIService is written in every way, and says that there is no answer",
    run: async (on) => {
      const path = `${services}/v1.${on.group}`;
      await on.post(`${services}?dryRun=All`, apiService(on, "v2"), { show: priorities });
      await on.prepare("POST", services, apiService(on, "v1"));
      on.removesLater(path);
      await on.shows(path, "status.conditions.0.type");
      await on.send("GET", path, undefined, { show: available });
      await on.post(services, apiService(on, "v1"));
      await on.patch(path, { spec: { versionPriority: 400 } }, { show: priorities });
      await on.patch(path, { spec: { groupPriorityMinimum: 2100 } }, { type: patchTypes.strategic, show: priorities });
      const operation = { op: "replace", path: "/spec/versionPriority", value: 300 };
      await on.patch(path, [operation], { type: patchTypes.json, show: priorities });
      const applied = { apiVersion: "apiregistration.k8s.io/v1", kind: "APIService", spec: { versionPriority: 300 } };
      await on.patch(
        `${path}?fieldManager=me`,
        { ...applied, metadata: { name: `v1.${on.group}` } },
        {
          type: patchTypes.apply,
          show: priorities,
        },
      );
      await on.edit(
        path,
        (object) => ({ ...object, metadata: { ...(object["metadata"] as object), annotations: { a: "b" } } }),
        {
          show: ["metadata.annotations"],
        },
      );
      await on.patch(path, { spec: { group: "other.example.com" } });
      await on.patch(path, { spec: { service: null } });
    },
  },
  {
    name: "the status of an APIService is written apart",
    run: async (on) => {
      const path = `${services}/v1.${on.group}`;
      await on.prepare("POST", services, apiService(on, "v1"));
      on.removesLater(path);
      await on.shows(path, "status.conditions.0.type");
      const condition = { type: "Patched", status: "Unknown", reason: "Test", message: "by a test" };
      const types = ["status.conditions.0.type", "status.conditions.1.type", "spec.versionPriority"];
      await on.patch(
        `${path}/status`,
        { status: { conditions: [condition] }, spec: { versionPriority: 7 } },
        {
          type: patchTypes.strategic,
          show: types,
        },
      );
      await on.edit(
        `${path}/status`,
        (object) => ({ ...object, spec: {}, metadata: { ...(object["metadata"] as object), labels: null } }),
        {
          show: [...types, "metadata.labels"],
        },
      );
      await on.patch(path, { status: null, metadata: { labels: { other: "x" } } }, { show: types });
      await on.send("GET", `${path}/status`, undefined, { show: types });
    },
  },
  {
    name: "a write of the status of a policy or an attachment leaves metadata as it is",
    run: async (on) => {
      const rule = { apiGroups: ["none"], apiVersions: ["v1"], operations: ["*"], resources: ["none"] };
      for (const [collection, spec] of [
        [
          "/apis/storage.k8s.io/v1/volumeattachments",
          { attacher: "a.example.com", nodeName: "n", source: { persistentVolumeName: "p" } },
        ],
        [
          "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
          { matchConstraints: { resourceRules: [rule] }, validations: [{ expression: "true" }] },
        ],
      ] as const) {
        const path = `${collection}/${on.run}`;
        await on.prepare("POST", collection, { metadata: { name: on.run, labels: { old: "x" } }, spec });
        on.removesLater(path);
        const metadata = { labels: { new: "y" }, annotations: { new: "y" }, finalizers: ["example.com/f"] };
        await on.patch(
          `${path}/status`,
          { metadata },
          {
            isVague: true,
            show: ["metadata.labels", "metadata.annotations", "metadata.finalizers"],
          },
        );
      }
    },
  },
  {
    name: "APIServices are listed and deleted by label, and requests to their server fail meanwhile",
    run: async (on) => {
      for (const version of ["v1", "v2"]) {
        await on.prepare("POST", services, apiService(on, version, { versionPriority: version === "v1" ? 100 : 50 }));
        on.removesLater(`${services}/${version}.${on.group}`);
        await on.shows(`${services}/${version}.${on.group}`, "status.conditions.0.type");
      }
      const labelled = `${services}?labelSelector=run%3D${on.run}`;
      const listed = await on.send("GET", labelled, undefined, { isVague: true });
      on.note(`listed ${listed.names().join(" ")}`);
      const table = await on.send("GET", labelled, undefined, { accept: asTable, isVague: true });
      on.note(
        `columns ${table
          .list("columnDefinitions")
          .map((column) => column.string("name"))
          .join(" ")}`,
      );
      for (const path of ["v1", "v1/flunders", "v2/namespaces/default/flunders/a", "v1/none/of/these"]) {
        await on.send("GET", `/apis/${on.group}/${path}`);
      }
      await on.post(`/apis/${on.group}/v1/flunders`, { metadata: { name: "a" } });
      await on.send("DELETE", labelled, undefined, { isVague: true });
      for (const version of ["v1", "v2"]) await on.send("GET", `${services}/${version}.${on.group}`);
    },
  },
  {
    name: "APIServices are checked when they are written",
    run: async (on) => {
      const service = { namespace: on.ns, name: "api" };
      for (const more of [
        { service },
        { service: {} },
        { service: { namespace: on.ns, name: "api", port: 0 } },
        { service: { namespace: on.ns, name: "api", port: 70000 } },
        { service: null },
        { group: "other.example.com" },
        { group: "" },
        { version: "V 1" },
        { version: "" },
        { groupPriorityMinimum: 0 },
        { groupPriorityMinimum: 20001 },
        { versionPriority: 0 },
        { versionPriority: 1001 },
        { caBundle: "YQ==" },
        { insecureSkipTLSVerify: false },
        { insecureSkipTLSVerify: false, caBundle: "YQ==" },
      ]) {
        await on.post(`${services}?dryRun=All`, apiService(on, "v1", more), { show: ["spec.service"] });
      }
    },
  },
];
