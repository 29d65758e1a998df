/** Namespaces that are made, changed and deleted on one server while another one creates objects in them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Answer, patchTypes } from "../client.ts";
import { eventually, ownObjectsOnly } from "../harness.ts";
import { configMap, namespace, namespaces } from "../objects.ts";
import { openServers, type SharingServer } from "./two-servers.ts";

const configMaps = (ns: string): string => `${namespaces}/${ns}/configmaps`;

/** Creates objects in a namespace in every way, while the server knows the namespace as it was before. */
async function createLate(server: SharingServer, ns: string, change: () => Promise<void>): Promise<readonly Answer[]> {
  const { api, store } = server;
  server.deafen();
  await change();
  // A thread handles this one, once it has heard everything.
  const large = api.post(configMaps(ns), configMap("large", { large: "x".repeat(70_000) }));
  const creating = [
    api.post(configMaps(ns), configMap("posted")),
    api.patch(`${configMaps(ns)}/applied?fieldManager=test`, configMap("applied"), patchTypes.apply),
    api.post(configMaps(ns), { ...configMap(""), metadata: { generateName: "generated-" } }),
  ];
  const commits = (): number => store.commits.filter((key) => key.includes(`/configmaps/${ns}/`)).length;
  await eventually(() => Promise.resolve(assert.ok(commits() >= creating.length)));
  store.isDeaf = false;
  return Promise.all([large, ...creating]);
}

test("nothing is created in a namespace that ends or has gone on another server [DELST-01] [META-14]", async () => {
  const settings = { controllers: [...ownObjectsOnly, "-namespace-controller"] };
  const [a, b] = await openServers({ settings, isPatient: true });
  const names = async (ns: string): Promise<readonly string[]> =>
    (await a!.api.get(configMaps(ns))).expect(200).names();
  (await a!.api.post(namespaces, namespace("gone"))).expect(201);
  await eventually(async () => (await b!.api.get(`${namespaces}/gone`)).expect(200));
  const tooLate = await createLate(b!, "gone", async () => {
    (await a!.api.delete(`${namespaces}/gone`)).expect(200);
    const finalized = { ...namespace("gone"), spec: { finalizers: [] } };
    (await a!.api.put(`${namespaces}/gone/finalize`, finalized)).expect(200);
    (await a!.api.get(`${namespaces}/gone`)).expect(404);
  });
  for (const answer of tooLate) answer.expectFailure(404, "NotFound", 'namespaces "gone" not found');
  assert.deepEqual(await names("gone"), []);
  (await a!.api.post(namespaces, namespace("ending"))).expect(201);
  await eventually(async () => (await b!.api.get(`${namespaces}/ending`)).expect(200));
  const refused = await createLate(b!, "ending", async () => {
    (await a!.api.delete(`${namespaces}/ending`)).expect(200);
  });
  const message = /^configmaps ".*" is forbidden: unable to create new content in namespace ending because it is being/;
  for (const answer of refused) {
    answer.expectFailure(403, "Forbidden", message, { "details.causes.0.reason": "NamespaceTerminating" });
  }
  assert.deepEqual(await names("ending"), []);
});

test("a namespace takes objects on every server as soon as it is made [NAME-10]", async () => {
  const [a, b] = await openServers({ latencyMsMax: 20 });
  for (let at = 0; at < 5; at++) {
    (await a!.api.post(namespaces, namespace(`new-${at}`))).expect(201);
    (await b!.api.post(configMaps(`new-${at}`), configMap("c"))).expect(201);
  }
});

test("a namespace that only changes delays what is created in it", async () => {
  const [a, b] = await openServers();
  (await a!.api.post(namespaces, namespace("busy"))).expect(201);
  let changes = 0;
  let isOver = false;
  const changing = (async () => {
    for (; !isOver; changes++) {
      (await a!.api.patch(`${namespaces}/busy`, { metadata: { labels: { at: String(changes) } } })).expect(200);
    }
  })();
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, at) => b!.api.post(configMaps("busy"), configMap(`c-${at}`))),
  );
  isOver = true;
  await changing;
  for (const answer of answers) answer.expect(201);
  assert.ok(changes > 0);
});
