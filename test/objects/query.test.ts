/** Query parameters: meaning and invalid values. */
import assert from "node:assert/strict";
import { type Answer, patchTypes } from "../client.ts";
import { type Api, suite } from "../harness.ts";
import { claim, configMap } from "../objects.ts";
import { absent } from "../view.ts";

const inBothDomains = suite();

async function some(
  api: Api,
  names: readonly string[],
  labels: (name: string) => object = () => ({}),
): Promise<string> {
  const { configMaps } = await api.createNamespace();
  for (const name of names) (await api.post(configMaps, configMap(name, {}, { labels: labels(name) }))).expect(201);
  return configMaps;
}

const lines = (answer: Answer): number => answer.text.trimEnd().split("\n").length;

inBothDomains("pretty puts line breaks into JSON [QP-01]", async (api) => {
  const maps = await some(api, ["m1"]);
  for (const path of [`${maps}/m1`, maps, "/api/v1", "/version"]) {
    assert.ok(lines((await api.get(`${path}?pretty=true`)).expect(200)) > 3, path);
    if (path !== "/version") assert.equal(lines((await api.get(`${path}?pretty=false`)).expect(200)), 1, path);
  }
  const answer = (await api.post(`${maps}?pretty=true`, configMap("m2"))).expect(201);
  assert.ok(lines(answer) > 3);
  assert.ok(lines((await api.get(`${maps}/none?pretty=true`)).expect(404)) > 3);
  const asCurl = await api.get(`${maps}/m1`, { headers: { "user-agent": "curl/8.0" } });
  assert.ok(lines(asCurl.expect(200)) > 3);
});

inBothDomains("bookmarks are asked for by a boolean [QP-02]", async (api) => {
  const maps = await some(api, ["m1"]);
  for (const value of ["true", "1", "t", "false"]) {
    const stream = await api.watch(`${maps}?allowWatchBookmarks=${value}&timeoutSeconds=1`);
    (await stream.next()).has({ type: "ADDED" });
    stream.close();
  }
});

inBothDomains("continue and limit go with a list and with deleting a collection [QP-03] [QP-07]", async (api) => {
  const maps = await some(api, ["a", "b", "c"]);
  const first = (await api.get(`${maps}?limit=1`)).expect(200, { "items.length": 1 });
  const token = encodeURIComponent(first.string("metadata.continue"));
  (await api.get(`${maps}?limit=1&continue=${token}`)).expect(200, { "items.0.metadata.name": "b" });
  (await api.delete(`${maps}?limit=1&continue=${token}`)).expect(200);
  const left = (await api.get(maps)).expect(200).names();
  assert.ok(left.includes("a") && !left.includes("b"), left.join());
});

inBothDomains("a limit must be a number [QP-07]", async (api) => {
  const maps = await some(api, ["a", "b"]);
  (await api.get(`${maps}?limit=x`)).expectFailure(400, "BadRequest", /strconv\.ParseInt: parsing "x": invalid syntax/);
  (await api.get(`${maps}?limit=99999999999999999999`)).expectClientError();
  (await api.get(`${maps}?limit=0`)).expect(200, { "items.length": 2 });
  (await api.get(`${maps}?limit=`)).expectFailure(400, "BadRequest");
  (await api.get(`${maps}?limit=9223372036854775807`)).expect(200, { "items.length": 2 });
});

inBothDomains("a field selector filters lists and watches [QP-04]", async (api) => {
  const maps = await some(api, ["a", "b", "c"]);
  const listNames = async (selector: string): Promise<string[]> =>
    (await api.get(`${maps}?fieldSelector=${encodeURIComponent(selector)}`)).expect(200).names();
  assert.deepEqual(await listNames("metadata.name=b"), ["b"]);
  assert.deepEqual(await listNames("metadata.name==b"), ["b"]);
  assert.deepEqual(await listNames("metadata.name!=b"), ["a", "c"]);
  assert.deepEqual(await listNames("metadata.name=b,metadata.name!=b"), []);
  assert.deepEqual(await listNames("metadata.namespace!=x,metadata.name=a"), ["a"]);
  assert.deepEqual(await listNames(""), ["a", "b", "c"]);
  const stream = await api.watch(`${maps}?fieldSelector=metadata.name%3Dc`);
  (await stream.next()).has({ type: "ADDED", "object.metadata.name": "c" });
  for (const bad of ["data.a=1", "metadata.uid=x", "status.phase=Bound"]) {
    (await api.get(`${maps}?fieldSelector=${encodeURIComponent(bad)}`)).expectFailure(
      400,
      "BadRequest",
      /field label not supported|is not a known field selector/,
    );
  }
  (await api.get(`${maps}?fieldSelector=${encodeURIComponent("a>b")}`)).expectFailure(400, "BadRequest");
});

inBothDomains("a label selector filters lists and watches [QP-05]", async (api) => {
  const labels: Record<string, object> = {
    a: { color: "red", size: "1" },
    b: { color: "blue", size: "10" },
    c: { color: "red", size: "20", empty: "" },
    d: { size: "big" },
    e: {},
  };
  const maps = await some(api, Object.keys(labels), (name) => labels[name]!);
  const cases: readonly (readonly [string, string])[] = [
    ["color=red", "ac"],
    ["color==red", "ac"],
    ["color!=red", "bde"],
    ["color=red,size=20", "c"],
    ["color in (red,blue)", "abc"],
    ["color in ( red , blue ) , size notin (1)", "bc"],
    ["color notin (red)", "bde"],
    ["color", "abc"],
    ["!color", "de"],
    ["color,!empty", "ab"],
    ["empty=", "c"],
    ["size>5", "bc"],
    ["size<15", "ab"],
    ["", "abcde"],
  ];
  for (const [selector, names] of cases) {
    const list = await api.get(`${maps}?labelSelector=${encodeURIComponent(selector)}`);
    assert.equal(list.expect(200).names().join(""), names, selector);
  }
  const stream = await api.watch(`${maps}?labelSelector=${encodeURIComponent("color=blue")}`);
  (await stream.next()).has({ type: "ADDED", "object.metadata.name": "b" });
  for (const bad of ["a=b=c", "a in (b", "in (a)", "a b", "!a=b", "a>x", "-a=b", "a=-b", ",", "a in ()x"]) {
    (await api.get(`${maps}?labelSelector=${encodeURIComponent(bad)}`)).expectFailure(400, "BadRequest");
  }
});

inBothDomains("selectors choose what deleting a collection deletes [QP-06]", async (api) => {
  const maps = await some(api, ["a", "b", "c"], (name) => (name === "a" ? { x: "1" } : {}));
  (await api.delete(`${maps}?labelSelector=x%3D1`)).expect(200);
  assert.deepEqual((await api.get(maps)).names(), ["b", "c"]);
  (await api.delete(`${maps}?fieldSelector=metadata.name%3Dc`)).expect(200);
  assert.deepEqual((await api.get(maps)).names(), ["b"]);
  (await api.delete(`${maps}?labelSelector=a%3Db%3Dc`)).expectFailure(400, "BadRequest");
  assert.deepEqual((await api.get(maps)).names(), ["b"]);
});

inBothDomains("versions go with get, list, watch and deleting a collection [QP-08] [QP-09]", async (api) => {
  const maps = await some(api, ["a"]);
  const version = (await api.get(maps)).string("metadata.resourceVersion");
  (await api.get(`${maps}/a?resourceVersion=0`)).expect(200);
  (await api.get(`${maps}?resourceVersion=0`)).expect(200);
  (await api.get(`${maps}?resourceVersion=${version}&resourceVersionMatch=Exact`)).expect(200, { "items.length": 1 });
  (await api.get(`${maps}?resourceVersion=${version}&resourceVersionMatch=Foo`)).expectClientError();
  (await api.delete(`${maps}?resourceVersion=${version}&resourceVersionMatch=NotOlderThan`)).expect(200);
  (await api.get(maps)).expect(200, { items: [] });
});

inBothDomains("initial events are asked for of a watch only [QP-10]", async (api) => {
  const maps = await some(api, ["a"]);
  const stream = await api.watch(`${maps}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan`);
  (await stream.next()).has({ type: "ADDED" });
  (await api.get(`${maps}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=0`)).expectFailure(
    422,
    "Invalid",
    /sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list/,
    { "details.causes.0.field": "sendInitialEvents" },
  );
});

inBothDomains("a list and deleting a collection take timeoutSeconds [QP-12]", async (api) => {
  const maps = await some(api, ["a"]);
  (await api.get(`${maps}?timeoutSeconds=5`)).expect(200, { "items.length": 1 });
  (await api.get(`${maps}?timeoutSeconds=x`)).expectClientError();
  (await api.delete(`${maps}?timeoutSeconds=5`)).expect(200);
});

inBothDomains("watch is a boolean [QP-13]", async (api) => {
  const maps = await some(api, ["a"]);
  for (const value of ["true", "1"]) {
    const answer = await api.get(`${maps}?watch=${value}&timeoutSeconds=1`);
    answer.expect(200, { type: "ADDED" });
  }
  for (const value of ["false", "0"]) (await api.get(`${maps}?watch=${value}`)).expect(200, { kind: "ConfigMapList" });
});

inBothDomains("dryRun goes with every write [QP-14]", async (api) => {
  const maps = await some(api, ["a"]);
  const all = "dryRun=All";
  (await api.post(`${maps}?${all}`, configMap("b"))).expect(201);
  (await api.put(`${maps}/a?${all}`, configMap("a", { k: "1" }))).expect(200, { "data.k": "1" });
  (await api.patch(`${maps}/a?${all}`, { data: { k: "1" } })).expect(200, { "data.k": "1" });
  (await api.delete(`${maps}/a?${all}`)).expect(200);
  (await api.delete(`${maps}?${all}`)).expect(200);
  const answer = (await api.get(maps)).expect(200, { "items.0.data.k": absent });
  assert.deepEqual(answer.names(), ["a"]);
});

inBothDomains("fieldManager names the manager of a create, an update and a patch [QP-15]", async (api) => {
  const maps = await some(api, []);
  const managers = (answer: Answer): unknown[] =>
    answer.list("metadata.managedFields").map((each) => each.at("manager"));
  const response = (await api.post(`${maps}?fieldManager=one`, configMap("a", { j: "1" }))).expect(201);
  assert.deepEqual(managers(response), ["one"]);
  const put = (await api.put(`${maps}/a?fieldManager=two`, configMap("a", { k: "1" }))).expect(200);
  assert.ok(managers(put).includes("two"));
  const patched = (await api.patch(`${maps}/a?fieldManager=three`, { data: { l: "1" } })).expect(200);
  assert.ok(managers(patched).includes("three"));
  const long = "x".repeat(129);
  (await api.post(`${maps}?fieldManager=${long}`, configMap("b"))).expectFailure(
    422,
    "Invalid",
    /fieldManager: Too long: may not be more than 128 bytes/,
  );
  (await api.put(`${maps}/a?fieldManager=${long}`, configMap("a"))).expectFailure(422, "Invalid");
  (await api.patch(`${maps}/a?fieldManager=${long}`, {})).expectFailure(422, "Invalid");
  (await api.patch(`${maps}/a?fieldManager=a%00b`, {})).expectFailure(422, "Invalid", /invalid character U\+0000/);
  (await api.post(`${maps}?fieldManager=${"x".repeat(128)}`, configMap("b"))).expect(201);
});

inBothDomains("fieldValidation goes with a create, an update and a patch [QP-16]", async (api) => {
  const maps = await some(api, ["a"]);
  const strict = "fieldValidation=Strict";
  const unknown = { ...configMap("b"), foo: 1 };
  (await api.post(`${maps}?${strict}`, unknown)).expectFailure(400, "BadRequest", /unknown field "foo"/);
  (await api.put(`${maps}/a?${strict}`, { ...configMap("a"), foo: 1 })).expectFailure(
    400,
    "BadRequest",
    /unknown field "foo"/,
  );
  (await api.patch(`${maps}/a?${strict}`, { foo: 1 })).expectClientError(/unknown field "foo"/);
  assert.deepEqual((await api.get(maps)).names(), ["a"]);
});

inBothDomains("force goes with an apply only [QP-17]", async (api) => {
  const maps = await some(api, ["a"]);
  for (const type of [patchTypes.merge, patchTypes.strategic]) {
    (await api.patch(`${maps}/a?force=true`, {}, type)).expectFailure(
      422,
      "Invalid",
      /force: Forbidden: may not be specified for non-apply patch/,
    );
  }
});

inBothDomains("a delete takes its grace period and its policy from the query [QP-18] [QP-19]", async (api) => {
  const maps = await some(api, ["a", "b", "c", "d"]);
  (await api.delete(`${maps}/a?gracePeriodSeconds=0`)).expect(200);
  (await api.delete(`${maps}/b?gracePeriodSeconds=x`)).expectClientError();
  (await api.delete(`${maps}/b?propagationPolicy=Foo`)).expectClientError(/propagationPolicy/);
  (await api.delete(`${maps}/b?propagationPolicy=Background`)).expect(200);
  assert.deepEqual((await api.get(maps)).names(), ["c", "d"]);
  (await api.delete(`${maps}?propagationPolicy=Foo`)).expectClientError(/propagationPolicy/);
  (await api.delete(`${maps}/c?propagationPolicy=Orphan`)).expect([200, 202]);
  (await api.delete(`${maps}?gracePeriodSeconds=0&propagationPolicy=Background`)).expect(200);
});

inBothDomains("unknown parameters are ignored [QP-20]", async (api) => {
  const maps = await some(api, ["a"]);
  (await api.get(`${maps}?foo=1&bar`)).expect(200, { "items.length": 1 });
  (await api.post(`${maps}?foo=1`, configMap("b"))).expect(201);
  (await api.post(maps.replace("configmaps", "persistentvolumeclaims"), claim("c1"))).expect(201);
});

inBothDomains("a boolean parameter without a value is true [QP-10] [QP-13] [QP-17]", async (api) => {
  const maps = await some(api, ["a"]);
  const watched = (await api.get(`${maps}?watch=&timeoutSeconds=1`)).expect(200);
  assert.match(watched.text, /^\{"type":"ADDED"/);
  (await api.get(`${maps}?sendInitialEvents=`)).expectFailure(
    422,
    "Invalid",
    /sendInitialEvents is forbidden for list/,
  );
  (await api.patch(`${maps}/a?force=`, {})).expectFailure(422, "Invalid", /may not be specified for non-apply patch/);
  (await api.delete(`${maps}/a?orphanDependents=`)).expect(200, { "metadata.finalizers": ["orphan"] });
});

inBothDomains("a propagation policy without a value is none there is [QP-19]", async (api) => {
  const maps = await some(api, ["a"]);
  (await api.delete(`${maps}/a?propagationPolicy=`)).expectFailure(422, "Invalid", /Unsupported value: ""/);
  (await api.get(`${maps}/a`)).expect(200, { "metadata.deletionTimestamp": absent });
});

inBothDomains("the export of one object is refused, not passed over", async (api) => {
  const maps = await some(api, ["m1"]);
  const message = "the export parameter, deprecated since v1.14, is no longer supported";
  for (const query of ["export=true", "export", "export=true&exact=true"]) {
    (await api.get(`${maps}/m1?${query}`)).expectFailure(400, "BadRequest", message);
  }
  (await api.get(`${maps}/m1?export=false`)).expect(200);
  (await api.get(`${maps}?export=true`)).expect(200);
});
