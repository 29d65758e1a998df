/**
 * Names that clients such as kubectl have in their code: they are understood in every API domain, where what they name
 * is never stored.
 */
import assert from "node:assert/strict";
import { suite } from "../harness.ts";
import { configMap } from "../objects.ts";

const inBothDomains = suite();

const literal = { literal: true } as const;

const parse = (text: string): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>;

inBothDomains("Tables and partial metadata are answered in the group that the client names", async (api) => {
  const { ns } = await api.createNamespace();
  const maps = `/api/v1/namespaces/${ns}/configmaps`;
  (await api.post(maps, configMap("a"))).expect(201);
  for (const group of ["meta.k8s.io", api.name("meta.k8s.io")]) {
    const accept = (kind: string): object => ({
      ...literal,
      accept: `application/json;as=${kind};g=${group};v=v1`,
    });
    const table = parse((await api.get(maps, accept("Table"))).expect(200).text);
    assert.equal(table["apiVersion"], `${group}/v1`);
    const [row] = table["rows"] as { readonly cells: unknown[]; readonly object: Record<string, unknown> }[];
    assert.equal(row!.cells[0], "a");
    assert.equal(row!.object["apiVersion"], `${group}/v1`);
    const partial = parse((await api.get(`${maps}/a`, accept("PartialObjectMetadata"))).expect(200).text);
    assert.deepEqual([partial["kind"], partial["apiVersion"]], ["PartialObjectMetadata", `${group}/v1`]);
    const watch = await api.watch(`${maps}?resourceVersion=0`, accept("Table"));
    (await watch.next()).has({
      "object.kind": "Table",
      "object.apiVersion": (value: unknown) => value === `${group}/v1`,
    });
    watch.close();
  }
  const other = { ...literal, accept: "application/json;as=Table;g=meta.example.com;v=v1" };
  (await api.get(maps, other)).expect(406);
});

const access = (more: object): object => ({ ...more, resourceAttributes: { verb: "get", resource: "pods" } });

/** The reviews, as group and version, resource, kind and spec. */
const reviews: readonly (readonly [string, string, string, object])[] = [
  ["authorization.k8s.io/v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", access({})],
  ["authorization.k8s.io/v1", "subjectaccessreviews", "SubjectAccessReview", access({ user: "eve" })],
  ["authorization.k8s.io/v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview", { namespace: "default" }],
  ["authentication.k8s.io/v1", "selfsubjectreviews", "SelfSubjectReview", {}],
  ["authentication.k8s.io/v1", "tokenreviews", "TokenReview", { token: "x" }],
];

inBothDomains("reviews are answered in the name that the client uses [REVIEW-06] [AUTHRES-13]", async (api) => {
  for (const [apiVersion, resource, kind, spec] of reviews) {
    for (const name of [apiVersion, api.name(apiVersion)]) {
      const answer = await api.post(
        `/apis/${name}/${resource}`,
        JSON.stringify({ apiVersion: name, kind, spec }),
        literal,
      );
      const { status, ...type } = parse(answer.expect(201).text);
      assert.deepEqual([type["apiVersion"], type["kind"]], [name, kind]);
      assert.ok(status !== undefined);
    }
  }
});

inBothDomains("a review needs the same right under both names", async (api) => {
  const review = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec: access({ user: "eve" }) };
  for (const options of [{ as: "nobody" }, { as: "nobody", ...literal }]) {
    const answer = await api.post(
      "/apis/authorization.k8s.io/v1/subjectaccessreviews",
      JSON.stringify(review),
      options,
    );
    assert.ok([401, 403].includes(answer.status), answer.text);
    if (answer.status === 403) assert.ok(answer.text.includes(api.name("authorization.k8s.io")), answer.text);
  }
});

inBothDomains("a token is requested in both names [ASA-10]", async (api) => {
  const { ns } = await api.createNamespace();
  const accounts = `/api/v1/namespaces/${ns}/serviceaccounts`;
  (await api.post(accounts, { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "robot" } })).expect(201);
  for (const apiVersion of ["authentication.k8s.io/v1", api.name("authentication.k8s.io/v1")]) {
    const body = JSON.stringify({ apiVersion, kind: "TokenRequest", spec: {} });
    const answer = await api.post(`${accounts}/robot/token`, body, literal);
    const { kind, apiVersion: answered } = parse(answer.expect(201).text);
    assert.deepEqual([kind, answered], ["TokenRequest", apiVersion]);
  }
});

inBothDomains("discovery has the names of the domain alone", async (api) => {
  const groups = (await api.get("/apis", literal)).expect(200).text;
  assert.equal(groups.includes('"authorization.k8s.io"'), api.domain === "k8s.io");
  const documents = await api.get("/apis/authorization.k8s.io/v1", literal);
  assert.equal(documents.status, api.domain === "k8s.io" ? 200 : 404);
  // A stored kind has one name.
  const roles = await api.get("/apis/rbac.authorization.k8s.io/v1/clusterroles", literal);
  assert.equal(roles.status, api.domain === "k8s.io" ? 200 : 404);
});
