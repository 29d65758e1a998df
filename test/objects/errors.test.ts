/** Status codes, the form of errors, and limits of requests. */
import assert from "node:assert/strict";
import { gated, suite, withOwnServer } from "../harness.ts";
import { attributesClass, attributesClasses, claim, claimTemplate, configMap } from "../objects.ts";
import { absent } from "../view.ts";

const inBothDomains = suite();

inBothDomains("success is 200, 201 or 202 [ERR-01]", async (api) => {
  const { claims } = await api.createNamespace();
  (await api.post(claims, claim("c1"))).expect(201);
  (await api.get(`${claims}/c1`)).expect(200);
  (await api.delete(`${claims}/c1`)).expect([200, 202]);
});

inBothDomains("a body that is no object is refused with 400 [ERR-02]", async (api) => {
  const { claims } = await api.createNamespace();
  for (const body of [
    "no json",
    "{",
    "[]",
    "5",
    '"text"',
    "null",
    "{}",
    '{"kind":"PersistentVolumeClaim"}',
    '{"apiVersion":"v1"}',
  ]) {
    const answer = await api.post(claims, body);
    assert.ok([400, 422].includes(answer.status), answer.title);
    answer.expectClientError();
  }
  (await api.post(claims, "no json")).expectFailure(400, "BadRequest");
  (await api.get(claims)).expect(200, { items: [] });
});

inBothDomains("an object of another kind is refused [ERR-02]", async (api) => {
  const { claims } = await api.createNamespace();
  (await api.post(claims, configMap("m1"))).expectFailure(400, "BadRequest", /ConfigMap/);
  (await api.post(claims, { ...claim("c1"), apiVersion: "v2" })).expectClientError();
  (await api.post(claims, { ...claim("c1"), kind: "Nothing" })).expectClientError();
  (await api.get(claims)).expect(200, { items: [] });
});

withOwnServer(
  "a request without credentials is refused when anonymous ones are [ERR-03] [AANON-05]",
  { ...gated, anonymousAuth: false },
  async (api) => {
    (await api.get("/api/v1/namespaces/default/persistentvolumeclaims", { as: "nobody" })).expectFailure(
      401,
      "Unauthorized",
      "Unauthorized",
    );
    (await api.get("/api/v1/namespaces/default/persistentvolumeclaims")).expect(200);
  },
);

inBothDomains(
  "a missing required field is an error [ERR-04]",
  async (api) => {
    const { claims } = await api.createNamespace();
    (await api.post(claims, { ...claim("c1"), spec: undefined })).expectFailure(422, "Invalid", /spec/);
    (await api.post(claims, { ...claim("c1"), spec: {} })).expectFailure(
      422,
      "Invalid",
      /spec\.accessModes: Required value/,
    );
    (await api.get(claims)).expect(200, { items: [] });
  },
  { differs: "the reference does not validate claims" },
);

inBothDomains("a wrong type is an error at every level of validation [ERR-05]", async (api) => {
  const { claims } = await api.createNamespace();
  for (const level of ["Ignore", "Warn", "Strict"]) {
    for (const spec of [
      { volumeName: 5 },
      { accessModes: "ReadWriteOnce" },
      { accessModes: [5] },
      { resources: [] },
      { selector: "x" },
    ]) {
      (await api.post(`${claims}?fieldValidation=${level}`, claim("c1", spec))).expectFailure(400, "BadRequest");
    }
  }
  (await api.get(claims)).expect(200, { items: [] });
});

inBothDomains(
  "a patch of what cannot change is refused [ERR-08]",
  async (api) => {
    const { templates } = await api.createNamespace();
    const name = api.unique();
    (await api.post(attributesClasses, attributesClass(name))).expect(201);
    (await api.post(templates, claimTemplate("r1"))).expect(201);
    (await api.patch(`${attributesClasses}/${name}`, { driverName: "other.example.com" })).expectFailure(
      422,
      "Invalid",
    );
    (await api.patch(`${attributesClasses}/${name}`, { parameters: { iops: "200" } })).expectFailure(422, "Invalid");
    (await api.patch(`${templates}/r1`, { spec: { metadata: { labels: { a: "1" } } } })).expectFailure(422, "Invalid");
  },
  { differs: "the reference does not validate these kinds" },
);

inBothDomains("a failure is a Status with code, reason, message and details [ERR-09] [ERR-10]", async (api) => {
  const { claims } = await api.createNamespace();
  const answers = [
    (await api.get(`${claims}/none`)).expectFailure(404, "NotFound"),
    (await api.post(claims, claim("Bad_Name"))).expectFailure(422, "Invalid"),
    (await api.post(`${claims}/x`, claim("x"))).expectFailure(405, "MethodNotAllowed"),
    (await api.post(claims, "{}", { type: "text/plain" })).expectFailure(415, "UnsupportedMediaType"),
    (await api.get(claims, { as: "bob" })).expectFailure(403, "Forbidden"),
    (await api.get(claims, { as: "no-such-token" })).expectFailure(401, "Unauthorized"),
    (await api.get(claims, { accept: "text/plain" })).expectFailure(406, "NotAcceptable"),
  ];
  for (const answer of answers) {
    assert.match(String(answer.headers["content-type"]), /^application\/json/);
    answer.has({ "metadata.name": absent, message: /./ });
  }
  answers[1]!.has({
    "details.name": "Bad_Name",
    "details.kind": "PersistentVolumeClaim",
    "details.causes.0.reason": "FieldValueInvalid",
    "details.causes.0.field": "metadata.name",
    "details.causes.0.message": /^Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain/,
  });
  (await api.get(`${attributesClasses}/none`)).has({ "details.group": "storage.k8s.io" });
});

inBothDomains("paths that are not served are not found [ERR-10]", async (api) => {
  for (const path of [
    "/nothing",
    "/api/v1/nothing",
    "/apis/none.example.com/v1/things",
    "/apis/apps/v9/deployments",
    "/apis/apps/v1/nothing",
    "/api/v1/watch",
    "/api/v1/proxy/nodes/n1",
    "/api/v1/proxy/namespaces/default/services/s1/path",
  ]) {
    (await api.get(path)).expect(404);
  }
  (await api.post("/api/v1/proxy/nodes/n1", configMap("m1"))).expectFailure(404, "NotFound");
  (await api.get("/api/v1/nothing")).expectFailure(404, "NotFound", "the server could not find the requested resource");
});

inBothDomains("a body beyond 3 MiB is refused with 413 [LIMIT-08]", async (api) => {
  const { configMaps } = await api.createNamespace();
  (await api.post(configMaps, configMap("m1"))).expect(201);
  const big = configMap("big", { text: "x".repeat(3 * 1024 * 1024 + 1) });
  (await api.post(configMaps, big)).expectFailure(413, "RequestEntityTooLarge", /limit is 3145728/);
  (await api.put(`${configMaps}/m1`, big)).expectFailure(413, "RequestEntityTooLarge");
  (await api.patch(`${configMaps}/m1`, big)).expectFailure(413, "RequestEntityTooLarge");
  (await api.delete(`${configMaps}/m1`, big)).expectFailure(413, "RequestEntityTooLarge", /limit is 3145728$/);
  (await api.delete(configMaps, big)).expectFailure(413, "RequestEntityTooLarge", /limit is 3145728$/);
  const token = "/api/v1/namespaces/default/serviceaccounts/default/token";
  (await api.post(token, big)).expectFailure(413, "RequestEntityTooLarge", /limit is 3145728$/);
  // Shorter bodies exceed the limits of their own kind.
  const some = configMap("some", { text: "x".repeat(300_000) });
  (await api.delete(`${configMaps}/m1`, some)).expectFailure(413, "RequestEntityTooLarge", /limit is 65536$/);
  (await api.post(token, some)).expectFailure(413, "RequestEntityTooLarge", /limit is 262144$/);
  (await api.get(configMaps)).expect(200, { "items.length": 1 });
});

inBothDomains("every answer has an audit id of its own and may not be cached [ERR-09]", async (api) => {
  const { claims } = await api.createNamespace();
  const ids = new Set<unknown>();
  for (const answer of [await api.get(claims), await api.get(claims), await api.get(`${claims}/none`)]) {
    assert.match(String(answer.headers["audit-id"]), /^[0-9a-f-]{36}$/);
    ids.add(answer.headers["audit-id"]);
    assert.equal(answer.headers["cache-control"], "no-cache, private");
  }
  assert.equal(ids.size, 3);
});
