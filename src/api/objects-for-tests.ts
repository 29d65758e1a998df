/** Makes objects of built-in kinds for tests from a few fields; the decoder adds the other ones. */
import { kubernetesDomain } from "#meta/api-domain.ts";
import { parseApiVersion } from "#meta/group-version.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { decodeTyped } from "#schema/typed.ts";
import { loadDefinitions } from "./definitions.ts";

/** Makes an object of a kind whose type is `T`. Throws for fields that the kind does not have. */
type MakeObject = <T extends ApiObject>(apiVersion: string, kind: string, object: object) => T;

export function objectMaker(): MakeObject {
  const tables = loadDefinitions(kubernetesDomain);
  return <T extends ApiObject>(apiVersion: string, kind: string, object: object) => {
    const schema = tables.schemaOf({ ...parseApiVersion(apiVersion)!, kind });
    if (schema === undefined) throw new Error(`no kind ${kind} in ${apiVersion}`);
    const findings = { keys: 0, unknown: false };
    const body: unknown = JSON.parse(JSON.stringify({ apiVersion, kind, metadata: {}, ...object }));
    const decoded = decodeTyped(schema, body, findings, { defaults: false });
    if (findings.unknown) throw new Error(`a field that ${kind} does not have: ${JSON.stringify(object)}`);
    return decoded as T; // by its schema
  };
}
