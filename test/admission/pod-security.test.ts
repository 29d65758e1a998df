/** PodSecurity over HTTP: levels of namespaces, controllers, existing pods, exemptions and defaults of a configuration. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { StartError } from "#std/start-error.ts";
import { type Answer, patchTypes } from "../client.ts";
import {
  type Api,
  type Domain,
  domains,
  file,
  openServer,
  renamer,
  suite,
  temporaryFolder,
  usingObserved,
} from "../harness.ts";
import { namespace, namespaces, pod } from "../objects.ts";

const inBothDomains = suite();

const securityLabels = (labels: object): object => ({
  labels: Object.fromEntries(
    Object.entries(labels).map(([key, value]) => [`pod-security.kubernetes.io/${key}`, value as unknown]),
  ),
});

interface NamespacePaths {
  readonly ns: string;
  readonly path: string;
  readonly pods: string;
  readonly deployments: string;
}

/** Creates a namespace with labels. */
async function createLabeled(api: Api, labels: object, name = api.unique("ns")): Promise<NamespacePaths> {
  (await api.post(namespaces, namespace(name, securityLabels(labels)))).expect(201);
  return pathsIn(name);
}

const pathsIn = (ns: string): NamespacePaths => ({
  ns,
  path: `${namespaces}/${ns}`,
  pods: `/api/v1/namespaces/${ns}/pods`,
  deployments: `/apis/apps/v1/namespaces/${ns}/deployments`,
});

const secure = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
  runAsNonRoot: true,
  seccompProfile: { type: "RuntimeDefault" },
};
const restrictedPod = (name: string): object =>
  pod(name, { containers: [{ name: "c", image: "i", securityContext: secure }] });
const hostPidPod = (name: string, more: object = {}): object => pod(name, { hostPID: true, ...more });

function deployment(spec: object = {}): object {
  const labels = { app: "a" };
  const template = { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }], ...spec } };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "d" },
    spec: { replicas: 0, selector: { matchLabels: labels }, template },
  };
}

const expectWarnings = (answer: Answer, ...texts: readonly string[]): void =>
  assert.deepEqual(
    answer.warnings.map((text) => text.replace(/: (?:allowPrivilege|host names).*/, "")),
    texts,
  );

const restricted =
  'violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "c" must set ' +
  'securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "c" must set ' +
  'securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "c" must set ' +
  'securityContext.runAsNonRoot=true), seccompProfile (pod or container "c" must set ' +
  'securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")';

inBothDomains("pods must meet the enforced level", async (api) => {
  const { pods } = await createLabeled(api, { enforce: "restricted" });
  (await api.post(pods, restrictedPod("good"))).expect(201);
  const text = `pods "bad" is forbidden: ${restricted}`;
  for (const query of ["", "?dryRun=All"]) {
    (await api.post(`${pods}${query}`, pod("bad"))).expectFailure(403, "Forbidden", text, {
      details: { name: "bad", kind: "pods" },
    });
  }
  const debug = { spec: { ephemeralContainers: [{ name: "e", image: "i" }] } };
  (await api.patch(`${pods}/good/ephemeralcontainers`, debug, patchTypes.strategic)).expectFailure(
    403,
    "Forbidden",
    /"restricted:latest": allowPrivilegeEscalation != false \(container "e" must/,
  );
});

inBothDomains("a level is that of a version", async (api) => {
  const { pods } = await createLabeled(api, { enforce: "restricted", "enforce-version": "v1.7" });
  const container = { name: "c", image: "i", securityContext: { runAsNonRoot: true } };
  (await api.post(pods, pod("old", { containers: [container] }))).expect(201);
  (await api.post(pods, pod("bad"))).expectFailure(403, "Forbidden", /"restricted:v1\.7": runAsNonRoot != true \(/);
});

inBothDomains("pods that exist may change, unless their images do", async (api) => {
  const { pods, path } = await createLabeled(api, {});
  (await api.post(pods, hostPidPod("p"))).expect(201);
  (await api.patch(path, { metadata: securityLabels({ enforce: "baseline" }) })).expect(200);
  (await api.patch(`${pods}/p`, { metadata: { labels: { a: "b" } } })).expect(200);
  (await api.patch(`${pods}/p/status`, { status: { phase: "Running" } })).expect(200);
  const image = { spec: { containers: [{ name: "c", image: "other" }] } };
  (await api.patch(`${pods}/p`, image, patchTypes.strategic)).expectFailure(
    403,
    "Forbidden",
    'pods "p" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostPID=true)',
  );
});

inBothDomains("a level that only warns refuses nothing; controllers are warned about the enforced one", async (api) => {
  const lax = await createLabeled(api, { warn: "baseline" });
  expectWarnings(await api.post(lax.pods, hostPidPod("p")), 'would violate PodSecurity "baseline:latest"');
  expectWarnings(await api.post(lax.pods, pod("q")));
  const strict = await createLabeled(api, { enforce: "baseline" });
  const answer = await api.post(strict.deployments, deployment({ hostPID: true }));
  answer.expect(201);
  expectWarnings(answer, 'would violate PodSecurity "baseline:latest"');
  const response = await api.patch(`${strict.deployments}/d`, { metadata: { labels: { a: "b" } } });
  expectWarnings(response, 'would violate PodSecurity "baseline:latest"');
  expectWarnings(await api.patch(`${strict.deployments}/d/scale`, { spec: { replicas: 0 } }));
});

inBothDomains("a pod in a worker thread is checked as others", async (api) => {
  const { pods } = await createLabeled(api, { enforce: "baseline", warn: "restricted" });
  const annotations = { large: "x".repeat(100_000) };
  (await api.post(pods, pod("p", { hostPID: true }, { annotations }))).expectFailure(403, "Forbidden", /hostPID=true/);
  expectWarnings(await api.post(pods, pod("p", {}, { annotations })), 'would violate PodSecurity "restricted:latest"');
});

inBothDomains("labels that cannot be read are refused", async (api) => {
  const ns = api.unique("ns");
  const text = (list: string): string => api.name(`Namespace "${ns}" is invalid: ${list}`);
  const level =
    'metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "x": must be one of privileged, baseline, restricted';
  const version =
    'metadata.labels[pod-security.kubernetes.io/warn-version]: Invalid value: "1.2": must be "latest" or "v1.x"';
  const bad = { enforce: "x", "warn-version": "1.2" };
  (await api.post(namespaces, namespace(ns, securityLabels(bad)))).expectFailure(
    422,
    "Invalid",
    text(`[${level}, ${version}]`),
  );
  (await api.post(namespaces, namespace(ns))).expect(201);
  (await api.patch(`${namespaces}/${ns}`, { metadata: securityLabels({ enforce: "x" }) })).expectFailure(
    422,
    "Invalid",
    text(level),
  );
});

inBothDomains("a stricter level warns about pods that exist", async (api) => {
  const { ns, pods, path } = await createLabeled(api, {});
  for (const name of ["a", "b"]) (await api.post(pods, hostPidPod(name))).expect(201);
  (await api.post(pods, pod("c"))).expect(201);
  const relabel = async (labels: object, query = ""): Promise<readonly string[]> =>
    (await api.patch(`${path}${query}`, { metadata: securityLabels(labels) })).expect(200).warnings;
  const violate = `existing pods in namespace "${ns}" violate the new PodSecurity enforce level`;
  const others = "allowPrivilegeEscalation != false, unrestricted capabilities, runAsNonRoot != true, seccompProfile";
  assert.deepEqual(await relabel({ enforce: "restricted" }, "?dryRun=All"), [
    `${violate} "restricted:latest"`,
    `a (and 1 other pod): host namespaces, ${others}`,
    `c: ${others}`,
  ]);
  assert.deepEqual(await relabel({ enforce: "baseline" }), [
    `${violate} "baseline:latest"`,
    "a (and 1 other pod): host namespaces",
  ]);
  assert.deepEqual(await relabel({ enforce: "baseline", audit: "restricted" }), []);
  assert.deepEqual(await relabel({ enforce: null }), []);
});

const configFile = (domain: Domain, configuration: object): string => {
  const rename = renamer(domain);
  const head = { apiVersion: rename("pod-security.admission.config.k8s.io/v1"), kind: "PodSecurityConfiguration" };
  const plugins = [{ name: "PodSecurity", configuration: { ...head, ...configuration } }];
  const apiVersion = rename("apiserver.config.k8s.io/v1");
  return file("admission.json", JSON.stringify({ apiVersion, kind: "AdmissionConfiguration", plugins }));
};

interface AuditEvent {
  readonly requestURI: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

for (const domain of domains) {
  test(`${domain}: a configuration has defaults and exemptions; the audit log and metrics tell`, async () => {
    const rename = renamer(domain);
    const auditLogPath = join(temporaryFolder(), "audit.log");
    const settings = {
      admissionControlConfigFile: configFile(domain, {
        defaults: { enforce: "baseline", audit: "restricted", "audit-version": "v1.7" },
        exemptions: { usernames: ["exempt"], namespaces: ["free"], runtimeClasses: ["vm"] },
      }),
      auditLogPath,
      auditPolicyFile: file(
        "policy.json",
        rename(JSON.stringify({ apiVersion: "audit.k8s.io/v1", kind: "Policy", rules: [{ level: "Metadata" }] })),
      ),
    };
    await usingObserved(domain, settings, ({ api }) => askConfigured(api));
    const prefix = rename("pod-security.kubernetes.io/");
    const readAuditAnnotations = (manager: string): object =>
      annotationsOf(auditLogPath, `fieldManager=${manager}`, prefix);
    const nonRoot = 'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true)';
    assert.deepEqual(readAuditAnnotations("bad"), {
      "enforce-policy": "baseline:latest",
      "audit-violations": `would violate PodSecurity "restricted:v1.7": host namespaces (hostPID=true), ${nonRoot}`,
    });
    assert.deepEqual(readAuditAnnotations("good"), {
      "enforce-policy": "baseline:latest",
      "audit-violations": `would violate PodSecurity "restricted:v1.7": ${nonRoot}`,
    });
    assert.deepEqual(readAuditAnnotations("vm"), { exempt: "runtimeClass" });
    assert.deepEqual(readAuditAnnotations("free"), { exempt: "namespace" });
  });
}

/** Sends requests that each name a field manager, and returns the metrics about them. */
async function askConfigured(api: Api): Promise<void> {
  const { pods } = await createLabeled(api, {});
  const free = await createLabeled(api, {}, "free");
  const vm = { apiVersion: "node.k8s.io/v1", kind: "RuntimeClass", metadata: { name: "vm" }, handler: "h" };
  (await api.post("/apis/node.k8s.io/v1/runtimeclasses", vm)).expect(201);
  (await api.post(`${pods}?fieldManager=bad`, hostPidPod("p"))).expectFailure(
    403,
    "Forbidden",
    /"baseline:latest": host/,
  );
  (await api.post(`${pods}?fieldManager=good`, pod("good"))).expect(201);
  (await api.post(`${pods}?fieldManager=vm`, hostPidPod("vm", { runtimeClassName: "vm" }))).expect(201);
  (await api.post(`${free.pods}?fieldManager=free`, hostPidPod("free"))).expect(201);
  expectWarnings(
    await api.patch(free.path, { metadata: securityLabels({ enforce: "restricted" }) }),
    `namespace "free" is exempt from Pod Security, and the policy (enforce=restricted:latest) will be ignored`,
  );
  const metrics = (await api.get("/metrics")).text;
  assert.match(
    metrics,
    /^pod_security_exemptions_total\{request_operation="create",resource="pod",subresource=""\} 2$/m,
  );
  assert.match(
    metrics,
    /^pod_security_evaluations_total\{decision="deny",mode="enforce",policy_level="baseline",policy_version="latest",request_operation="create",resource="pod",subresource=""\} 1$/m,
  );
}

/** Returns the plugin's annotations of a request in the audit log. */
function annotationsOf(path: string, part: string, prefix: string): Readonly<Record<string, string>> {
  const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n") : [];
  const events = lines.filter((line) => line.includes(part)).map((line) => JSON.parse(line) as AuditEvent);
  const entries = events.flatMap(({ annotations }) => Object.entries(annotations ?? {}));
  return Object.fromEntries(
    entries.filter(([key]) => key.startsWith(prefix)).map(([key, value]) => [key.slice(prefix.length), value]),
  );
}

test("without the plugin the labels are ignored", async () => {
  await usingObserved("k8s.io", { disableAdmissionPlugins: ["PodSecurity"] }, async ({ api }) => {
    const { pods } = await createLabeled(api, { enforce: "restricted", audit: "x" });
    (await api.post(pods, hostPidPod("p"))).expect(201);
  });
});

test("an invalid configuration stops the start", async () => {
  for (const [configuration, message] of [
    [
      { defaults: { enforce: "x", "warn-version": "1" } },
      'failed to initialize admission plugin "PodSecurity": PodSecurity configuration error: [enforce: must be one of privileged, baseline, restricted, warn-version: must be "latest" or "v1.x"]',
    ],
    [
      { exemptions: { usernames: [""], namespaces: ["a.b", "c", "c"] } },
      'failed to initialize admission plugin "PodSecurity": PodSecurity invalid: [exemptions.namespaces[0]: Invalid value: "a.b": must not contain dots, exemptions.namespaces[2]: Duplicate value: "c", exemptions.usernames[0]: Invalid value: "": username must not be empty]',
    ],
    [
      { defaults: { Enforce: "baseline" } },
      `couldn't init admission plugin "PodSecurity": strict decoding error: unknown field "defaults.Enforce"`,
    ],
  ] as const) {
    const admissionControlConfigFile = configFile("k8s.io", configuration);
    await assert.rejects(openServer("k8s.io", { admissionControlConfigFile }), (error) => {
      assert.ok(error instanceof StartError);
      assert.equal(error.message, message);
      return true;
    });
  }
});
