/** The negotiated type of answers, with cases of a 1.32 server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { jsonEncoding } from "#codec/json-encoding.ts";
import { protobufEncoding } from "#codec/protobuf-encoding.ts";
import { yamlEncoding } from "#codec/yaml-encoding.ts";
import { apiDomain, kubernetesDomain } from "#meta/api-domain.ts";
import { StatusError } from "#meta/status-error.ts";
import type { Schema } from "#schema/schema.ts";
import { growsInProportion } from "#std/growth-for-tests.ts";
import {
  bodyMediaType,
  isConsumable,
  type Negotiated,
  type NegotiatedRequest,
  negotiator,
  resourceTransforms,
  wantsPretty,
} from "./negotiation.ts";

const types = negotiator([jsonEncoding, yamlEncoding]);
const any: Schema = { type: "object" };
const protobuf = protobufEncoding({ Status: any, ListMeta: any, PartialObjectMetadata: any });
const withProtobuf = negotiator([jsonEncoding, yamlEncoding, protobuf]);
const transforms = resourceTransforms(kubernetesDomain);

function request(accept: string | undefined, query = "", agent = "test"): NegotiatedRequest {
  return {
    headers: { "user-agent": agent, ...(accept === undefined ? {} : { accept }) },
    url: query === "" ? "/" : `/?${query}`,
    query: new URLSearchParams(query),
  };
}

/** Returns `application/json`, `application/json Table meta.k8s.io/v1`, or code and message. */
function outcome(act: () => Negotiated, isStream = false): string {
  return messageOf(() => {
    const { encoding, transform, group, version } = act();
    const type = isStream ? encoding.stream : encoding.mediaType;
    return transform === "" ? type : `${type} ${transform} ${group}/${version}`;
  });
}

function messageOf(act: () => string): string {
  try {
    return act();
  } catch (error) {
    assert.ok(error instanceof StatusError);
    return `${error.status.code} ${error.status.message}`;
  }
}

function check(accept: string | undefined, expected: string, using = types): void {
  assert.equal(
    outcome(() => using.answer(request(accept), transforms)),
    expected,
    `Accept: ${accept}`,
  );
}

const refused = "406 only the following media types are accepted: application/json, application/yaml";

test("JSON comes when nothing else was asked for [MEDIA-01]", () => {
  for (const accept of [
    undefined,
    "",
    "*/*",
    "*",
    "application/json",
    "application/json, */*",
    "application/json;charset=utf-8",
    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "application/*",
  ]) {
    check(accept, "application/json");
  }
});

test("the highest quality wins, among equals the first, and unknown types are passed over [MEDIA-15]", () => {
  check("application/yaml, application/json", "application/yaml");
  check("application/json, application/yaml", "application/json");
  check("application/json;q=0.1, application/yaml;q=0.9", "application/yaml");
  check("application/yaml;q=0.1, application/json;q=0.9", "application/json");
  check("application/vnd.kubernetes.protobuf, application/json", "application/json");
  check("application/vnd.kubernetes.protobuf, application/json", "application/vnd.kubernetes.protobuf", withProtobuf);
  check("text/plain;q=1, */*;q=0.1", "application/json");
  check("*/*, application/yaml;q=0.1", "application/yaml");
});

test("an unknown media type is refused with the list of known ones [MEDIA-16] [MEDIA-20]", () => {
  check("text/plain", refused);
  check("application/cbor", refused);
  check("nonsense", refused);
  check("a/b/c", refused);
  check(",,,", refused);
});

const table = "application/json;as=Table;g=meta.k8s.io;v=v1";

test("a Table comes for the asked group and version only [MEDIA-22] [MEDIA-23] [TABLE-01]", () => {
  check(table, "application/json Table meta.k8s.io/v1");
  check("application/json;v=v1;g=meta.k8s.io;as=Table", "application/json Table meta.k8s.io/v1");
  check("application/json;as=Table;v=v1beta1;g=meta.k8s.io", "application/json Table meta.k8s.io/v1beta1");
  check(`${table},application/json`, "application/json Table meta.k8s.io/v1");
  check("application/json;as=Table;v=v2;g=meta.k8s.io,application/json", "application/json");
  check(`application/yaml;as=Table;v=v1;g=meta.k8s.io,${table}`, "application/yaml Table meta.k8s.io/v1");
  for (const accept of [
    "application/json;as=Table;g=meta.k8s.io;v=v2",
    "application/json;as=Table;v=v1",
    "application/json;as=Table;g=other.io;v=v1",
    "application/json;as=table;g=meta.k8s.io;v=v1",
    "application/json;as=Foo;g=meta.k8s.io;v=v1",
    "application/json;g=meta.k8s.io",
  ]) {
    check(accept, refused);
  }
  check(
    "application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1",
    `${refused}, application/vnd.kubernetes.protobuf`,
    withProtobuf,
  );
});

test("metadata alone is another transformation, in every encoding [TABLE-07]", () => {
  const partial = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
  check(`application/json;${partial}`, "application/json PartialObjectMetadata meta.k8s.io/v1");
  check(
    `application/vnd.kubernetes.protobuf;${partial},application/json;${partial},application/json`,
    "application/vnd.kubernetes.protobuf PartialObjectMetadata meta.k8s.io/v1",
    withProtobuf,
  );
});

test("transformations are in the group of the domain, and in that of Kubernetes", () => {
  const allows = resourceTransforms(apiDomain("platform.io"));
  assert.equal(allows(jsonEncoding, "Table", "meta.platform.io", "v1"), true);
  assert.equal(allows(jsonEncoding, "Table", "meta.k8s.io", "v1"), true);
  assert.equal(allows(jsonEncoding, "Table", "meta.example.com", "v1"), false);
});

test("a watch has its own types, and YAML has none [EVENT-03]", () => {
  const stream = (accept: string, using = types): string =>
    outcome(() => using.stream(request(accept), transforms), true);
  assert.equal(stream("application/json"), "application/json");
  assert.equal(stream("application/json;stream=watch"), "application/json");
  assert.equal(
    stream("application/vnd.kubernetes.protobuf", withProtobuf),
    "application/vnd.kubernetes.protobuf;stream=watch",
  );
  const none = "406 only the following media types are accepted: application/json;stream=watch";
  assert.equal(stream("application/yaml"), none);
  assert.equal(stream("application/yaml, application/json"), none);
  assert.match(
    stream("application/json;stream=other"),
    /^406 only the following .*: application\/json, application\/yaml/,
  );
  assert.equal(stream("application/yaml;stream=watch, application/json"), "application/json");
});

test("a Status is always written, at worst as indented JSON", () => {
  assert.equal(types.status(request("application/yaml")).mediaType, "application/yaml");
  assert.equal(types.status(request(table)).mediaType, "application/json");
  assert.equal(types.status(request("text/plain")), jsonEncoding.indented);
  assert.equal(types.status(request("application/json")), jsonEncoding);
});

test("routes refuse at first sight what no clause names", () => {
  const refusal = (accept: string, list: boolean): unknown =>
    messageOf(() => {
      types.checkProducible(request(accept), list);
      return "fine";
    });
  assert.equal(refusal("application/json;as=Foo", false), "fine");
  assert.equal(refusal("text/plain, */*;q=0.1", false), "fine");
  assert.equal(
    refusal("text/plain", false),
    "406 406: Not Acceptable\n\nAvailable representations: application/json, application/yaml",
  );
  assert.equal(
    refusal("application/cbor", true),
    "406 406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, " +
      "application/json;stream=watch",
  );
});

test("pretty is asked for by the query, by Accept, or by the kind of client [QP-01]", () => {
  const pretty = (query: string, agent = "test", accept = "application/json"): boolean =>
    types.answer(request(accept, query, agent), transforms).encoding === jsonEncoding.indented;
  assert.equal(pretty(""), false);
  assert.equal(pretty("pretty=true"), true);
  assert.equal(pretty("pretty=1"), true);
  assert.equal(pretty("pretty=false"), false);
  assert.equal(pretty("pretty=yes"), false);
  assert.equal(pretty("pretty=", "curl/8.0"), true);
  assert.equal(pretty("", "curl/8.0"), true);
  assert.equal(pretty("", "Wget/1.0"), true);
  assert.equal(pretty("", "Mozilla/5.0 (X11)"), true);
  assert.equal(pretty("pretty=0", "curl/8.0"), false);
  assert.equal(pretty("", "test", "application/json;pretty=1"), true);
  assert.equal(pretty("pretty=true", "test", "application/yaml"), false);
  assert.equal(wantsPretty(request(undefined, "pretty=t")), true);
});

test("a body without a type is JSON, one of another type is refused with 415 [MEDIA-19] [MEDIA-21]", () => {
  const body = (type: string | undefined): string => messageOf(() => types.body(type).mediaType);
  assert.equal(body(undefined), "application/json");
  assert.equal(body(""), "application/json");
  assert.equal(body("application/json; charset=utf-8"), "application/json");
  assert.equal(body("Application/JSON;foo=bar;"), "application/json");
  assert.equal(body('application/yaml; a="b;c"'), "application/yaml");
  const refusal =
    "415 the body of the request was in an unknown format - accepted media types include: " +
    "application/json, application/yaml";
  for (const type of [
    "text/plain",
    "no-slash",
    "application/x-www-form-urlencoded",
    "application/json;a",
    "application/json;a=1;A=2",
    "application/json, text/plain",
  ]) {
    assert.equal(body(type), refusal, type);
  }
});

test("a patch needs one of its own types", () => {
  const patches = ["application/merge-patch+json"];
  assert.equal(isConsumable("application/merge-patch+json; charset=utf-8", patches), true);
  assert.equal(isConsumable("application/json", patches), false);
  assert.equal(isConsumable(undefined, patches), false);
});

test("long and hostile headers cost no more than their length, each time anew", async () => {
  let seen = 0;
  await growsInProportion(300, (count) => types.status(request(`application/json;x=${seen++}${";a=".repeat(count)}`)));
  await growsInProportion(1000, (count) => bodyMediaType(`application/json${" ;".repeat(count)}${seen++}`));
  await growsInProportion(50_000, (count) => types.status(request(`a/b;q=0,${"x/y,".repeat(count)}`)));
  await growsInProportion(150, (count) => bodyMediaType(`application/json;${'a="\\'.repeat(count)}`));
});
