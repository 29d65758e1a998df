/** Every recorded object comes back as it went in through the typed decoder: JSON byte for byte, YAML as the same value. */
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
import { encodeYaml } from "#codec/yaml.ts";

const folder = join(dirname(fileURLToPath(import.meta.url)), "../../../shared/facts/roundtrip");
const skip = existsSync(folder) ? false : "the recorded objects are not on this machine";
const tables = loadDefinitions(kubernetesDomain);

function decode(bytes: Buffer, mediaType: string, name: string) {
  const { apiVersion, kind } = JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8"));
  const gvk = { ...parseApiVersion(apiVersion)!, kind };
  const schema = tables.schemaOf(gvk);
  assert.ok(schema !== undefined, `no schema for ${apiVersion} ${kind}`);
  return decodeObject({ bytes, mediaType, schema, gvk, fieldValidation: "Strict" }).object;
}

const names =
  skip === false ? readdirSync(folder).filter((name) => name.endsWith(".json") && !name.includes("WatchEvent")) : [];

test("recorded JSON objects decode and encode to the same bytes [MEDIA-04, VER-13]", { skip }, () => {
  assert.ok(names.length > 50);
  for (const file of names) {
    const bytes = readFileSync(join(folder, file));
    const object = decode(bytes, "application/json", file.slice(0, -5));
    assert.equal(encodePrettyJson(object).toString(), bytes.toString().trimEnd(), file);
  }
});

test("recorded YAML objects are the recorded JSON objects, and so is what we write [MEDIA-02, MEDIA-03, VER-13]", {
  skip,
}, () => {
  for (const file of names) {
    const bytes = readFileSync(join(folder, file.replace(/json$/, "yaml")));
    const object = decode(bytes, "application/yaml", file.slice(0, -5));
    const plain = readFileSync(join(folder, file)).toString().trimEnd();
    assert.equal(encodePrettyJson(object).toString(), plain, file);
    const again = decode(encodeYaml(object), "application/yaml", file.slice(0, -5));
    assert.equal(encodePrettyJson(again).toString(), plain, file);
  }
});

test("recorded protobuf objects are the recorded JSON objects [MEDIA-06, MEDIA-07, MEDIA-08, VER-13]", { skip }, () => {
  const recorded = readdirSync(folder).filter(
    (name) =>
      name.endsWith(".pb") && existsSync(join(folder, name.replace(/pb$/, "json"))) && !name.includes("WatchEvent"),
  );
  assert.ok(recorded.length > 40);
  for (const file of recorded) {
    const name = file.slice(0, -3);
    const json = decode(readFileSync(join(folder, `${name}.json`)), "application/json", name);
    const object = decode(readFileSync(join(folder, file)), "application/vnd.kubernetes.protobuf", name);
    assert.deepEqual(object, json, file);
  }
});
