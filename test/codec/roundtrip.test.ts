/**
 * Tests that objects of every kind pass the typed decoder unchanged: objects generated from the tables, and, if
 * present, objects recorded from a 1.32 server; JSON byte for byte and YAML by value.
 */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { loadDefinitions } from "#api/definitions.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { parseApiVersion } from "#meta/group-version.ts";
import { encodePrettyJson } from "#codec/json.ts";
import { decodeObject } from "#codec/object.ts";
import type { BodyEncoding } from "#codec/encoding.ts";
import { cborEncoding } from "#codec/cbor-encoding.ts";
import { jsonEncoding } from "#codec/json-encoding.ts";
import { protobufBodies, protobufEncoding } from "#codec/protobuf-encoding.ts";
import { yamlEncoding } from "#codec/yaml-encoding.ts";
import { encodeYaml } from "#codec/yaml.ts";
import type { Schema } from "#schema/schema.ts";
import { type SampleObject, sampleObjects } from "./sample-objects.ts";

const folder = join(dirname(fileURLToPath(import.meta.url)), "../../../shared/facts/roundtrip");
const skip = existsSync(folder) ? false : "the recorded objects are not on this machine";
const tables = loadDefinitions(kubernetesDomain);

function decode(bytes: Buffer, encoding: BodyEncoding, name: string) {
  const { apiVersion, kind } = JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8"));
  const gvk = { ...parseApiVersion(apiVersion)!, kind };
  const schema = tables.schemaOf(gvk);
  assert.ok(schema !== undefined, `no schema for ${apiVersion} ${kind}`);
  return decodeObject({ bytes, encoding, schema, gvk, fieldValidation: "Strict" }).object;
}

const samples = sampleObjects(tables);

/** Returns a body after decoding. */
function reread({ gvk, schema }: SampleObject, bytes: Buffer, encoding: BodyEncoding): unknown {
  const { object } = decodeObject({ bytes, encoding, schema, gvk, fieldValidation: "Strict" });
  return JSON.parse(JSON.stringify(object));
}

/** Returns the sample with the metadata that every decoded object has. */
function whole({ object }: SampleObject): Readonly<Record<string, unknown>> {
  return { ...object, metadata: { creationTimestamp: null, ...(object["metadata"] as object) } };
}

test("an object of every kind with every field set is the same after JSON [MEDIA-04, VER-13]", () => {
  assert.ok(samples.length > 70);
  for (const sample of samples) {
    const once = reread(sample, Buffer.from(JSON.stringify(sample.object)), jsonEncoding);
    assert.deepEqual(once, whole(sample), sample.gvk.kind);
    assert.deepEqual(reread(sample, Buffer.from(JSON.stringify(once, undefined, 2)), jsonEncoding), once);
  }
});

test("an object of every kind with every field set is the same after YAML [MEDIA-02, MEDIA-03, VER-13]", () => {
  for (const sample of samples) {
    assert.deepEqual(reread(sample, encodeYaml(sample.object), yamlEncoding), whole(sample), sample.gvk.kind);
  }
});

test("an object of every kind with every field set is the same from protobuf as from JSON [MEDIA-06, VER-13]", () => {
  for (const sample of samples) {
    const object = reread(sample, sample.protobuf, protobufBodies);
    assert.deepEqual(object, reread(sample, Buffer.from(JSON.stringify(sample.object)), jsonEncoding));
  }
});

test("an object of every kind with every field set is the same after CBOR [MEDIA-17, VER-13]", () => {
  const cbor = cborEncoding();
  for (const sample of samples) {
    for (const schema of [sample.schema, undefined]) {
      const bytes = cbor.object({ json: undefined, value: sample.object, schema });
      assert.deepEqual(reread(sample, bytes, cbor), whole(sample), sample.gvk.kind);
    }
  }
});

const recordedProtobuf = (): string[] =>
  readdirSync(folder).filter(
    (name) =>
      name.endsWith(".pb") && existsSync(join(folder, name.replace(/pb$/, "json"))) && !name.includes("WatchEvent"),
  );

const names =
  skip === false ? readdirSync(folder).filter((name) => name.endsWith(".json") && !name.includes("WatchEvent")) : [];

test("recorded JSON objects decode and encode to the same bytes", { skip }, () => {
  assert.ok(names.length > 50);
  for (const file of names) {
    const bytes = readFileSync(join(folder, file));
    const object = decode(bytes, jsonEncoding, file.slice(0, -5));
    assert.equal(encodePrettyJson(object).toString(), bytes.toString().trimEnd(), file);
  }
});

test("recorded YAML objects are the recorded JSON objects, and so is what we write", { skip }, () => {
  for (const file of names) {
    const bytes = readFileSync(join(folder, file.replace(/json$/, "yaml")));
    const object = decode(bytes, yamlEncoding, file.slice(0, -5));
    const plain = readFileSync(join(folder, file)).toString().trimEnd();
    assert.equal(encodePrettyJson(object).toString(), plain, file);
    const again = decode(encodeYaml(object), yamlEncoding, file.slice(0, -5));
    assert.equal(encodePrettyJson(again).toString(), plain, file);
  }
});

test("recorded protobuf objects are the recorded JSON objects", { skip }, () => {
  assert.ok(recordedProtobuf().length > 40);
  for (const file of recordedProtobuf()) {
    const name = file.slice(0, -3);
    const json = decode(readFileSync(join(folder, `${name}.json`)), jsonEncoding, name);
    const object = decode(readFileSync(join(folder, file)), protobufBodies, name);
    assert.deepEqual(object, json, file);
  }
});

test("recorded protobuf objects are written byte by byte [MEDIA-05, MEDIA-07, MEDIA-10, MEDIA-11]", { skip }, () => {
  const metaType = (name: string): Schema => tables.schema(`io.k8s.apimachinery.pkg.apis.meta.v1.${name}`)!;
  const encoding = protobufEncoding({
    Status: metaType("Status"),
    ListMeta: metaType("ListMeta"),
    PartialObjectMetadata: metaType("PartialObjectMetadata"),
  });
  const differing: string[] = [];
  for (const file of recordedProtobuf()) {
    const name = file.slice(0, -3);
    const { apiVersion, kind } = JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8"));
    const schema = tables.schemaOf({ ...parseApiVersion(apiVersion)!, kind });
    const value = decode(readFileSync(join(folder, `${name}.json`)), jsonEncoding, name);
    const bytes = encoding.object({ json: undefined, value, schema });
    if (!bytes.equals(readFileSync(join(folder, file)))) differing.push(name);
  }
  assert.deepEqual(differing, []);
});
