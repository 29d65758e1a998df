/**
 * Failure and recovery of the custom resource controller: writers of definitions wait exactly until it has recovered.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { loadDefinitions } from "#api/definitions.ts";
import { CustomResourceController } from "#extensions/custom-resource-controller.ts";
import { builtInDefinitions } from "#kinds/built-in.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { testContext } from "#meta/context-for-tests.ts";
import { waitForSync } from "#registry/informer.ts";
import { Store } from "#registry/store.ts";
import { StoredObjects } from "#registry/stored-object.ts";
import type { ResourceDefinition, WriteAttributes } from "#registry/resource-definition.ts";
import { ResourceTable } from "#registry/resource-table.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { silentLog } from "#std/log.ts";
import { seededRandom } from "#std/random.ts";
import { openMemoryStore } from "#storage/memory.ts";

const tables = loadDefinitions(kubernetesDomain);
const [definition] = builtInDefinitions(
  tables,
  {
    domain: kubernetesDomain,
    gate: () => false,
    eventTtlSeconds: 0,
    allowsPrivileged: true,
    now: () => 0,
    decodeJson: JSON.parse,
  },
  ({ resource }) => resource === "customresourcedefinitions",
);

const write: WriteAttributes = { context: testContext(), subresource: "", dryRun: false };

const widgets = (plural: string, group = "example.com") => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    names: {
      plural,
      singular: plural.slice(0, -1),
      kind: plural.toUpperCase(),
      listKind: `${plural.toUpperCase()}List`,
    },
    scope: "Namespaced",
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
  },
  status: { conditions: null, acceptedNames: { plural: "", kind: "" }, storedVersions: ["v1"] },
});

/** Returns a started controller, whose listener fails as often as `failures` says, and which cannot read while `isCut`. */
async function startController() {
  const clock = new FakeClock();
  const cache = await openMemoryStore({ clock });
  const objects = new StoredObjects();
  const on = { failures: 0, isCut: false, errors: [] as string[], inForceEverywhere: () => Promise.resolve() };
  const cut = new Proxy(cache, {
    get(target, name: keyof typeof cache) {
      if (name === "fresh" && on.isCut) return () => Promise.reject(new Error("the store cannot be read"));
      const member = target[name];
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  const options = { cache, objects, clock, random: seededRandom(1), objectBytesMax: 2 ** 20 };
  const waiting: ResourceDefinition = waitForSync(definition!, () => controller);
  const controller: CustomResourceController = new CustomResourceController({
    ...options,
    cache: cut,
    definition: definition!,
    builtIn: new ResourceTable([waiting], 1),
    reserved: [],
    metadata: tables.schema("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")!,
    domain: kubernetesDomain,
    convert: () => Promise.reject(new Error("there are no conversion webhooks here")),
    log: { ...silentLog, error: (_fields: object, message: string) => void on.errors.push(message) },
    inForceEverywhere: () => on.inForceEverywhere(),
    changed() {
      if (on.failures-- > 0) throw new Error("a bug in a listener");
    },
  });
  await controller.start();
  /** Advances the clock until a condition holds. */
  const until = async (isDone: () => boolean): Promise<void> => {
    for (let i = 0; i < 40 && !isDone(); i++) {
      await turn();
      clock.advance(100);
    }
    assert.ok(isDone());
  };
  return {
    on,
    controller,
    until,
    /** The writers of clients, who wait until a definition is in force. */
    store: new Store({ ...options, definition: waiting }),
    /** The same without waiting. */
    direct: new Store({ ...options, definition: definition! }),
    cache,
    storeOf: (found: ResourceDefinition) => new Store({ ...options, definition: found }),
  };
}

test("a controller that fails while it takes a definition in tries again until it is in force", async () => {
  const { on, controller, store, until } = await startController();
  const isServed = (plural: string): boolean => controller.table.find("example.com", "v1", plural) !== undefined;

  await store.create(widgets("apples"), write);
  assert.ok(isServed("apples"), "alive");

  on.failures = 3;
  let isAnswered = false;
  const pears = store.create(widgets("pears"), write).then(() => (isAnswered = true));
  await until(() => isAnswered);
  await pears;
  assert.ok(isServed("pears"));
  assert.ok(on.errors.length > 0);

  await store.create(widgets("plums"), write);
  assert.ok(isServed("plums"), "alive again: later writers do not wait for ever");
  controller.close();
});

test("a definition made anew under its name, which the controller did not see, gets its conditions anew", async () => {
  const { on, controller, store, direct, cache, until } = await startController();
  const ofGroup = widgets("apples", "apples.k8s.io");
  const annotations = { "api-approved.kubernetes.io": "unapproved, a test" };
  const name = "apples.apples.k8s.io";
  const unapproved = { ...ofGroup, metadata: { name, annotations } };
  const reason = (): string | undefined => {
    const stored = direct.peek("", name);
    const { status } = (stored === undefined ? {} : direct.object(stored)) as typeof ofGroup; // by its schema
    const conditions = (status?.conditions ?? []) as readonly { readonly type: string; readonly reason: string }[];
    return conditions.find(({ type }) => type === "KubernetesAPIApprovalPolicyConformant")?.reason;
  };
  await store.create(unapproved, write);
  await until(() => reason() === "UnapprovedAnnotation");

  Object.assign(on, { failures: 1, isCut: true });
  const pears = store.create(widgets("pears"), write);
  await until(() => on.errors.some((error) => error.includes("is not followed")));
  const { key, revision } = direct.peek("", name)!;
  assert.ok((await cache.remove(key, revision)).ok);
  await direct.create(unapproved, write);
  assert.equal(reason(), undefined);
  on.isCut = false;
  await until(() => reason() === "UnapprovedAnnotation");
  await pears;
  controller.close();
});

test("a definition made anew while its end was waited for keeps its objects, and is not finished", async () => {
  const { on, controller, store, direct, cache, until, storeOf } = await startController();
  const name = "apples.example.com";
  const inForce = Promise.withResolvers<void>();
  let isWaiting = false;
  on.inForceEverywhere = () => {
    isWaiting = true;
    return inForce.promise;
  };
  await store.create(widgets("apples"), write);
  await direct.delete("", name, { dryRun: false });
  await until(() => isWaiting);
  // Another server has finished, and a client makes everything anew.
  const { key, revision } = direct.peek("", name)!;
  assert.ok((await cache.remove(key, revision)).ok);
  await store.create(widgets("apples"), write);
  const apples = storeOf(controller.table.find("example.com", "v1", "apples")!);
  const metadata = { name: "a", namespace: "default" };
  await apples.create({ apiVersion: "example.com/v1", kind: "APPLES", metadata }, write);
  inForce.resolve();
  for (let turns = 0; turns < 100; turns++) await turn();
  assert.equal(apples.count(), 1);
  assert.doesNotMatch(JSON.stringify(direct.object(direct.peek("", name)!)), /Terminating/);
  controller.close();
});
