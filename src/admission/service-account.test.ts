/** The plugin ServiceAccount: default accounts, token volumes, and refusals. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { apiDomain, kubernetesDomain } from "#meta/api-domain.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";
import { attributesOf, firstRound } from "./attributes-for-tests.ts";
import type { AdmissionAttributes } from "./plugin.ts";
import { serviceAccount } from "./service-account.ts";

const podAttributes = {
  resource: { group: "", version: "v1", resource: "pods" },
  kind: { group: "", version: "v1", kind: "Pod" },
} as const;
const secretEnv = { env: [{ name: "E", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }] };

function world(accounts: readonly Unstructured[], domain = kubernetesDomain) {
  const present = [...accounts];
  const clock = new FakeClock();
  const plugin = serviceAccount({
    domain,
    clock,
    random: seededRandom(1),
    getAccount: (namespace, name) =>
      namespace === "n" ? present.find((one) => one.metadata.name === name) : undefined,
  });
  return { plugin, clock, present };
}

const account = (name: string, more: Record<string, unknown> = {}, annotations = {}): Unstructured => ({
  metadata: { name, annotations },
  ...more,
});
const pod = (spec: Record<string, unknown> = {}, annotations = {}): Unstructured => ({
  metadata: { name: "p", annotations },
  spec: { containers: [{ name: "c" }], ...spec },
});
type Spec = Record<string, unknown>;
const specOf = (object: unknown): Spec => (object as { spec: Spec }).spec;

async function messageOf(run: () => unknown): Promise<string> {
  try {
    await run();
  } catch (error) {
    assert.ok(error instanceof StatusError);
    return error.message.replace('pods "p" is forbidden: ', "");
  }
  return "";
}

test("objects that are no new pods are not read, which large ones would have to be", async () => {
  const { plugin } = world([]);
  for (const [resource, operation, subresource] of [
    ["configmaps", "CREATE", ""],
    ["configmaps", "UPDATE", ""],
    ["pods", "UPDATE", ""],
    ["pods", "UPDATE", "status"],
  ] as const) {
    const attributes = Object.defineProperty(
      {
        ...attributesOf(undefined, { ...podAttributes, operation, subresource }),
        resource: { ...podAttributes.resource, resource },
      },
      "object",
      { get: () => assert.fail(`${operation} of ${resource}/${subresource} reads the object`) },
    );
    assert.equal(await plugin.admit!(attributes, firstRound), undefined);
    assert.equal(await plugin.validate!(attributes), undefined);
  }
});

test("a pod without an account gets the default one, and its files [ASA-11]", async () => {
  for (const [domain, path] of [
    [kubernetesDomain, "/var/run/secrets/kubernetes.io/serviceaccount"],
    [apiDomain("platform.io"), "/var/run/secrets/platform.io/serviceaccount"],
  ] as const) {
    const { plugin } = world([account("default")], domain);
    const object = pod({
      initContainers: [{ name: "i" }],
      containers: [{ name: "c" }, { name: "d", volumeMounts: [{ name: "x", mountPath: path }] }],
    });
    const spec = specOf(await plugin.admit!(attributesOf(object, podAttributes), firstRound));
    assert.equal(spec["serviceAccountName"], "default");
    assert.equal(spec["serviceAccount"], "default");
    const [volume] = spec["volumes"] as { name: string; projected: unknown }[];
    assert.match(volume!.name, /^kube-api-access-[a-z0-9]{5}$/);
    assert.deepEqual(volume!.projected, {
      sources: [
        { serviceAccountToken: { expirationSeconds: 3607, path: "token" } },
        { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
        {
          downwardAPI: {
            items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
          },
        },
      ],
      defaultMode: 420,
    });
    const mount = { name: volume!.name, readOnly: true, mountPath: path };
    assert.deepEqual(spec["initContainers"], [{ name: "i", volumeMounts: [mount] }]);
    assert.deepEqual(spec["containers"], [
      { name: "c", volumeMounts: [mount] },
      { name: "d", volumeMounts: [{ name: "x", mountPath: path }] },
    ]);
  }
});

test("pod and account may do without the files, the pod's word first", async () => {
  const { plugin } = world([account("default"), account("quiet", { automountServiceAccountToken: false })]);
  const volumesOf = async (spec: Spec) =>
    specOf(await plugin.admit!(attributesOf(pod(spec), podAttributes), firstRound))["volumes"];
  assert.equal(await volumesOf({ serviceAccountName: "quiet" }), undefined);
  assert.equal(await volumesOf({ automountServiceAccountToken: false }), undefined);
  assert.notEqual(await volumesOf({ serviceAccountName: "quiet", automountServiceAccountToken: true }), undefined);
  const own = [{ name: "kube-api-access-mine" }];
  assert.deepEqual(await volumesOf({ volumes: own }), own);
  assert.equal(await volumesOf({ containers: null }), undefined);
});

test("the account's pull secrets are taken by pods that name none", async () => {
  const { plugin } = world([account("default", { imagePullSecrets: [{ name: "registry" }] })]);
  const secretsOf = async (spec: Spec) =>
    specOf(await plugin.admit!(attributesOf(pod(spec), podAttributes), firstRound))["imagePullSecrets"];
  assert.deepEqual(await secretsOf({}), [{ name: "registry" }]);
  assert.deepEqual(await secretsOf({ imagePullSecrets: [{ name: "own" }] }), [{ name: "own" }]);
});

test("an account that is missing is a refusal; the default one is waited for", async () => {
  const { plugin, clock, present } = world([]);
  const named = await messageOf(() =>
    plugin.admit!(attributesOf(pod({ serviceAccountName: "x" }), podAttributes), firstRound),
  );
  assert.equal(named, 'error looking up service account n/x: serviceaccount "x" not found');
  for (const [name, problem] of [
    ['x"', 'serviceaccount "x\\"" not found'],
    ["a/b%", `invalid resource name "a/b%": [may not contain '/' may not contain '%']`],
    ["..", `invalid resource name "..": [may not be '..']`],
  ] as const) {
    const message = await messageOf(() =>
      plugin.admit!(attributesOf(pod({ serviceAccountName: name }), podAttributes), firstRound),
    );
    assert.equal(message, `error looking up service account n/${name}: ${problem}`);
  }
  const waiting = plugin.admit!(attributesOf(pod(), podAttributes), firstRound);
  assert.ok(waiting instanceof Promise);
  present.push(account("default"));
  clock.advance(20);
  assert.equal(specOf(await waiting)["serviceAccountName"], "default");
  present.pop();
  const never = messageOf(() => plugin.admit!(attributesOf(pod(), podAttributes), firstRound));
  for (let step = 0; step < 100; step++) {
    clock.advance(20);
    await Promise.resolve();
  }
  assert.equal(await never, 'error looking up service account n/default: serviceaccount "default" not found');
});

test("a mirror pod has neither account nor secrets", async () => {
  const { plugin } = world([]);
  const validateMirror = (spec: Spec) =>
    messageOf(() => plugin.validate!(attributesOf(pod(spec, { "kubernetes.io/config.mirror": "x" }), podAttributes)));
  const mirror = pod({}, { "kubernetes.io/config.mirror": "x" });
  assert.equal(await plugin.admit!(attributesOf(mirror, podAttributes), firstRound), undefined);
  assert.equal(await validateMirror({}), "");
  assert.equal(await validateMirror({ nodeSelector: { secret: "x" } }), "");
  assert.equal(await validateMirror({ serviceAccountName: "a" }), "a mirror pod may not reference service accounts");
  // The same holds before other plugins see the pod.
  const named = pod({ serviceAccountName: "a" }, { "kubernetes.io/config.mirror": "x" });
  assert.equal(
    await messageOf(() => plugin.admit!(attributesOf(named, podAttributes), firstRound)),
    "a mirror pod may not reference service accounts",
  );
  for (const spec of [
    { volumes: [{ name: "v", secret: { secretName: "s" } }] },
    { volumes: [{ name: "v", projected: { sources: [{ secret: { name: "s" } }] } }] },
    { volumes: [{ name: "v", csi: { driver: "d", nodePublishSecretRef: { name: "s" } } }] },
    { containers: [{ name: "c", ...secretEnv }] },
    { imagePullSecrets: [{ name: "s" }] },
  ]) {
    assert.equal(await validateMirror(spec), "a mirror pod may not reference secrets");
  }
  const token = { volumes: [{ name: "v", projected: { sources: [{ serviceAccountToken: { path: "t" } }] } }] };
  assert.equal(await validateMirror(token), "a mirror pod may not use ServiceAccountToken volume projections");
});

test("a marked account allows its own secrets only", async () => {
  const marked = { "kubernetes.io/enforce-mountable-secrets": "true" };
  const more = { secrets: [{ name: "ok" }], imagePullSecrets: [{ name: "pull" }] };
  const { plugin } = world([account("a", more, marked), account("b", more)]);
  const validate = (spec: Spec, name = "a", attributes: Partial<AdmissionAttributes> = {}) =>
    messageOf(() =>
      plugin.validate!(attributesOf(pod({ serviceAccountName: name, ...spec }), { ...podAttributes, ...attributes })),
    );
  const ending = "is not allowed because service account a does not reference that secret";
  assert.equal(await validate({ volumes: [{ name: "v", secret: { secretName: "ok" } }] }), "");
  const volume = { volumes: [{ name: "v", secret: { secretName: "s" } }] };
  assert.equal(await validate(volume), `volume with secret.secretName="s" ${ending}`);
  assert.equal(await validate(volume, "b"), "");
  assert.equal(
    await validate({ containers: [{ name: "c", ...secretEnv }] }),
    `container c with envVar E referencing secret.secretName="s" ${ending}`,
  );
  assert.equal(
    await validate({ initContainers: [{ name: "i", envFrom: [{ secretRef: { name: "s" } }] }] }),
    `init container i with envFrom referencing secret.secretName="s" ${ending}`,
  );
  assert.equal(
    await validate({ imagePullSecrets: [{ name: "s" }] }),
    'imagePullSecrets[0].name="s" is not allowed because service account a does not reference that imagePullSecret',
  );
  const ephemeral = { operation: "UPDATE", subresource: "ephemeralcontainers" } as const;
  assert.equal(
    await validate({ ephemeralContainers: [{ name: "e", ...secretEnv }] }, "a", ephemeral),
    `ephemeral container e with envVar E referencing secret.secretName="s" ${ending}`,
  );
  assert.equal(await validate(volume, "a", { operation: "UPDATE" }), "");
  assert.equal(await validate({}, ""), "no service account specified for pod n/p");
});
