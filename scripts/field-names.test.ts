/** Tests that every name in the paths of findings is a field of a built-in type, or an odd name of upstream. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { loadDefinitions } from "#api/definitions.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { blank, readSources } from "./tidy.ts";

/** The names in upstream's findings that are not fields. */
const oddNames: ReadonlySet<string> = new Set([
  "CSINodeDriver",
  "JSONPath",
  "LoadBalancerSourceRanges",
  "Phase",
  "Spec",
  "[]",
  "allocatedResourceStatus",
  "annotation",
  "attachedRequired",
  // These are fields of configurations.
  "burst",
  "cacheSize",
  "exemptions",
  "podtolerationrestriction",
  "qps",
  "samplingRatePerMillion",
  "whitelist",
  "initiatorname",
  "patch",
  "persistentDisk",
  "persistentvolumesource",
  "storageOS",
  "targetportal",
  "uID",
  "validation",
  "webhookClientConfig",
  "{topologyKey, whenUnsatisfiable}",
]);

function fieldNames(): Set<string> {
  const tables = loadDefinitions(kubernetesDomain);
  return new Set(tables.typeNames().flatMap((name) => [...(tables.schema(name)?.fields?.keys() ?? [])]));
}

test("a path names fields that there are", () => {
  const known = fieldNames();
  const odd = new Set<string>();
  let count = 0;
  for (const [file, text] of readSources()) {
    if (!file.startsWith("src/") || /\.(test|fuzz)\.ts$/.test(file)) continue;
    for (const [, names] of blank(text, false).matchAll(/(?:\.child|FieldPath\.of)\(([^()]*)\)/g)) {
      for (const [, name] of names!.matchAll(/"([^"]*)"/g)) {
        count += 1;
        if (known.has(name!)) continue;
        assert.ok(oddNames.has(name!), `${file}: there is no field ${name}`);
        odd.add(name!);
      }
    }
  }
  assert.ok(count > 500, "the paths were not found");
  assert.deepEqual(odd, oddNames, "a name is not written any more");
});
