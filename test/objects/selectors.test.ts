/** Lists and watches by selectors that are asked for again and again, over enough objects that an index answers them. */
import assert from "node:assert/strict";
import type { Answer } from "../client.ts";
import { type Api, suite } from "../harness.ts";

const inBothDomains = suite();

const count = 150;
/** The number of times that each selector is asked for: an index is made after the second. */
const times = 5;

const name = (at: number): string => `s${String(at).padStart(3, "0")}`;

const secret = (at: number, labels: Readonly<Record<string, string>> = {}): object => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: name(at), labels: { app: at % 30 === 0 ? "rare" : "most", ...labels } },
  type: at % 50 === 0 ? "example.com/key" : "Opaque",
});

/** Creates secrets, and returns the path of their collection. */
async function withSecrets(api: Api): Promise<string> {
  const { secrets } = await api.createNamespace();
  const all = Array.from({ length: count }, (_, at) => at);
  await Promise.all(all.map(async (at) => (await api.post(secrets, secret(at))).expect(201)));
  return secrets;
}

const namesOf = (answer: Answer): readonly string[] =>
  (answer.expect(200).at("items") as readonly { readonly metadata: { readonly name: string } }[]).map(
    ({ metadata }) => metadata.name,
  );

/** Asks several times, and checks that the answer is the same each time. */
async function expectAgain(api: Api, path: string, wanted: readonly string[]): Promise<void> {
  for (let time = 0; time < times; time++) assert.deepEqual(namesOf(await api.get(path)), wanted, `time ${time}`);
}

inBothDomains("a list by a selector is the same however often it is asked for [QP-04] [QP-05]", async (api) => {
  const path = await withSecrets(api);
  const rare = [0, 30, 60, 90, 120].map(name);
  await expectAgain(api, `${path}?labelSelector=app%3Drare`, rare);
  await expectAgain(api, `${path}?labelSelector=app%20in%20(rare,none)`, rare);
  await expectAgain(api, `${path}?fieldSelector=type%3Dexample.com/key`, [0, 50, 100].map(name));
  await expectAgain(api, `${path}?fieldSelector=type%3Dexample.com/key&labelSelector=app%3Drare`, [name(0)]);
  await expectAgain(api, `${path}?labelSelector=app%3Drare,app%3Dmost`, []);
  await expectAgain(api, `${path}?labelSelector=app!%3Dmost`, rare);
  await expectAgain(api, `${path}?labelSelector=other%3Dx`, []);
});

inBothDomains("a list by a selector sees each write at once [QP-05]", async (api) => {
  const path = await withSecrets(api);
  const selected = `${path}?labelSelector=app%3Drare`;
  await expectAgain(api, selected, [0, 30, 60, 90, 120].map(name));
  (await api.patch(`${path}/${name(31)}`, { metadata: { labels: { app: "rare" } } })).expect(200);
  assert.deepEqual(namesOf(await api.get(selected)), [0, 30, 31, 60, 90, 120].map(name));
  (await api.patch(`${path}/${name(30)}`, { metadata: { labels: { app: null } } })).expect(200);
  assert.deepEqual(namesOf(await api.get(selected)), [0, 31, 60, 90, 120].map(name));
  (await api.delete(`${path}/${name(60)}`)).expect(200);
  (await api.post(path, secret(count * 30))).expect(201);
  assert.deepEqual(
    namesOf(await api.get(selected)),
    [name(0), name(31), name(count * 30), name(90), name(120)].toSorted(),
  );
});

inBothDomains("pages of a selection continue as long as objects follow, without a count [LIST-07]", async (api) => {
  const path = await withSecrets(api);
  const selected = `${path}?labelSelector=app%3Drare`;
  await expectAgain(api, selected, [0, 30, 60, 90, 120].map(name));
  const pages: (readonly string[])[] = [];
  let token = "";
  do {
    const page = (await api.get(`${selected}&limit=2&continue=${token}`)).expect(200);
    assert.equal(page.at("metadata.remainingItemCount"), undefined);
    pages.push(namesOf(page));
    token = page.at("metadata.continue") === undefined ? "" : encodeURIComponent(page.string("metadata.continue"));
    // Later pages show the collection as it was.
    (await api.patch(`${path}/${name(121 + pages.length)}`, { metadata: { labels: { app: "rare" } } })).expect(200);
  } while (token !== "");
  assert.deepEqual(pages, [[name(0), name(30)], [name(60), name(90)], [name(120)]]);
});

inBothDomains("objects enter and leave the watch of a selection [WATCH-09]", async (api) => {
  const path = await withSecrets(api);
  const byLabel = await api.watch(`${path}?labelSelector=app%3Drare&resourceVersion=0`);
  const byField = await api.watch(`${path}?fieldSelector=type%3Dexample.com/key`);
  const isOld = new Set([0, 30, 60, 90, 120].map(name));
  for (const event of await byLabel.take(isOld.size))
    assert.deepEqual([event.type, isOld.delete(event.name)], ["ADDED", true]);
  await byField.take(3);
  const relabel = async (at: number, app: string): Promise<void> => {
    (await api.patch(`${path}/${name(at)}`, { metadata: { labels: { app } } })).expect(200);
  };
  await relabel(50, "rare");
  await relabel(50, "most");
  await relabel(51, "other");
  await relabel(50, "rare");
  (await api.delete(`${path}/${name(50)}`)).expect(200);
  const told = (events: Awaited<ReturnType<typeof byLabel.take>>): string[] =>
    events.map((event) => `${event.type} ${event.name}`);
  assert.deepEqual(told(await byLabel.take(4)), ["ADDED s050", "DELETED s050", "ADDED s050", "DELETED s050"]);
  assert.deepEqual(told(await byField.take(4)), ["MODIFIED s050", "MODIFIED s050", "MODIFIED s050", "DELETED s050"]);
});
