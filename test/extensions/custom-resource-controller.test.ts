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

const widgets = (plural: string) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.example.com` },
  spec: {
    group: "example.com",
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

test("a controller that fails while it takes a definition in tries again until it is in force", async () => {
  const clock = new FakeClock();
  const cache = await openMemoryStore({ clock });
  const objects = new StoredObjects();
  const errors: string[] = [];
  let failures = 0;
  const options = { cache, objects, clock, random: seededRandom(1), objectBytesMax: 2 ** 20 };
  const waiting: ResourceDefinition = waitForSync(definition!, () => controller);
  const controller: CustomResourceController = new CustomResourceController({
    ...options,
    definition: definition!,
    builtIn: [waiting],
    reserved: [],
    metadata: tables.schema("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")!,
    domain: kubernetesDomain,
    convert: () => Promise.reject(new Error("there are no conversion webhooks here")),
    log: { ...silentLog, error: (_fields: object, message: string) => void errors.push(message) },
    changed() {
      if (failures-- > 0) throw new Error("a bug in a listener");
    },
  });
  const store = new Store({ ...options, definition: waiting });
  const isServed = (plural: string): boolean => controller.table.find("example.com", "v1", plural) !== undefined;
  await controller.start();

  await store.create(widgets("apples"), write);
  assert.ok(isServed("apples"), "alive");

  failures = 3;
  let isAnswered = false;
  const pears = store.create(widgets("pears"), write).then(() => (isAnswered = true));
  for (let i = 0; i < 20 && !isAnswered; i++) {
    await turn();
    clock.advance(100);
  }
  await pears;
  assert.ok(isServed("pears"));
  assert.ok(errors.length > 0);

  await store.create(widgets("plums"), write);
  assert.ok(isServed("plums"), "alive again: later writers do not wait for ever");
  controller.close();
});
