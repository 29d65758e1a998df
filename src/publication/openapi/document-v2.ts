/**
 * Builds the OpenAPI 2.0 ("swagger") document of everything served. Shared parameters are defined once and referenced
 * by name and hash, as upstream does; otherwise they would be half of the document.
 */
import { createHash } from "node:crypto";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import { answerTexts, apiInfo, bearerToken } from "./info.ts";
import { addRemoteV2, inParts, type RemoteDocumentV2 } from "./merge-v2.ts";
import type { OpenApiOperation, Parameter, PathItem } from "./operations.ts";
import type { MutableJson } from "./published-schema.ts";
import { TypeCollection, type TypeSource } from "./types.ts";

/** Builds the document in parts, so that other work can run between them. */
export class DocumentV2 {
  readonly #types: TypeCollection;
  readonly #shared: SharedParameters;
  /** The JSON of each path. Each is encoded when it is added, since encoding all at once would take long. */
  readonly #paths = new Map<string, string>();

  constructor(source: TypeSource, definitions: readonly ResourceDefinition[]) {
    this.#types = new TypeCollection(source, 2, definitions);
    this.#shared = new SharedParameters([
      this.#types.reference(source.tables.domain.rename(`${metaPackage}.DeleteOptions`)),
      this.#types.reference(source.tables.domain.rename(`${metaPackage}.Patch`)),
    ]);
  }

  add(paths: readonly PathItem[]): void {
    for (const { path, parameters, operations } of paths) {
      const item: MutableJson = {};
      for (const operation of operations) item[operation.method] = this.#describe(operation);
      if (parameters.length > 0) item["parameters"] = parameters.map((of) => this.#shared.use(describeParameter(of)));
      this.#paths.set(path, JSON.stringify(item));
    }
  }

  /** Returns the encoded document, with the parts of other servers. `pause` is awaited between large parts. */
  async finish(pause: () => Promise<void>, remote: readonly RemoteDocumentV2[]): Promise<Buffer> {
    let paths = [...this.#paths].sort(([a], [b]) => (a < b ? -1 : 1)).map(([path, item]) => member(path, item));
    let parameters = this.#shared.finish();
    let definitions = await this.#types.finish(pause);
    if (remote.length > 0) {
      await pause();
      const parsed = JSON.parse(`{${paths.join(",")}}`) as MutableJson; // the text was written above
      await pause();
      // The text was written above.
      const own = { paths: parsed, parameters, definitions: JSON.parse(definitions) as MutableJson };
      for (const document of remote) {
        await pause();
        await addRemoteV2(own, document, pause);
      }
      paths = await encodeTable(sortedTable(own.paths), pause);
      parameters = sortedTable(own.parameters);
      definitions = `{${(await encodeTable(sortedTable(own.definitions), pause)).join(",")}}`;
    }
    const head = JSON.stringify({ swagger: "2.0", info: apiInfo });
    const pieces = [Buffer.from(`${head.slice(0, -1)},"paths":{`)];
    for (let at = 0; at < paths.length; at += pathsPerPiece) {
      await pause();
      pieces.push(Buffer.from((at === 0 ? "" : ",") + paths.slice(at, at + pathsPerPiece).join(",")));
    }
    const rest = {
      parameters,
      securityDefinitions: { BearerToken: bearerToken },
      security: [{ BearerToken: [] }],
    };
    await pause();
    pieces.push(Buffer.from(`},"definitions":${definitions},${JSON.stringify(rest).slice(1)}`));
    await pause();
    return Buffer.concat(pieces);
  }

  #describe(operation: OpenApiOperation): MutableJson {
    const { consumes, produces, tag, id, body, answers, action, kind } = operation;
    const text = operation.description === undefined ? {} : { description: operation.description };
    const read = consumes.length === 0 ? {} : { consumes };
    const described: MutableJson = { ...text, ...read, produces, schemes: ["https"], tags: [tag], operationId: id };
    const parameters = operation.parameters.map(describeParameter);
    if (body !== undefined) {
      const required = body.required ? { required: true } : {};
      parameters.push({ name: "body", in: "body", ...required, schema: this.#types.reference(body.type) });
    }
    if (parameters.length > 0) {
      described["parameters"] = parameters.sort(byName).map((parameter) => this.#shared.use(parameter));
    }
    const responses: MutableJson = {};
    for (const [code, type] of answers) {
      const schema = type === "" ? { type: "string" } : this.#types.reference(type);
      responses[code] = { description: answerTexts[code], schema };
    }
    responses["401"] = { description: answerTexts[401] };
    described["responses"] = responses;
    if (action !== undefined) described["x-kubernetes-action"] = action;
    if (kind !== undefined) described["x-kubernetes-group-version-kind"] = kind;
    return described;
  }
}

const sortedTable = (table: MutableJson): MutableJson =>
  Object.fromEntries(Object.entries(table).sort(([a], [b]) => (a < b ? -1 : 1)));

/** The number of paths that are converted to bytes in one piece. */
const pathsPerPiece = 1000;

const member = (name: string, json: string): string => `${JSON.stringify(name)}:${json}`;

/** Returns the members of a table, each encoded. */
async function encodeTable(table: MutableJson, pause: () => Promise<void>): Promise<string[]> {
  const members: string[] = [];
  for await (const [name, value] of inParts(table, pause)) members.push(member(name, JSON.stringify(value)));
  return members;
}

const metaPackage = "io.k8s.apimachinery.pkg.apis.meta.v1";

function byName(a: MutableJson, b: MutableJson): number {
  return String(a["name"]) < String(b["name"]) ? -1 : 1;
}

function describeParameter({ name, in: location, type, description }: Parameter): MutableJson {
  const text = description === undefined ? {} : { description };
  const parameter: MutableJson = { uniqueItems: true, type, ...text, name, in: location };
  if (location === "path") parameter["required"] = true;
  return parameter;
}

/** The parameters that are defined once: all except bodies of single kinds. */
class SharedParameters {
  readonly #bodies: ReadonlySet<string>;
  readonly #shared = new Map<string, { readonly key: string; readonly parameter: MutableJson }>();

  /** `bodies` are the references to types that the bodies of many operations have. */
  constructor(bodies: readonly MutableJson[]) {
    this.#bodies = new Set(bodies.map((reference) => String(reference["$ref"])));
  }

  /** Returns the parameter, or a reference to it if it is shared. */
  use(parameter: MutableJson): MutableJson {
    const schema = parameter["schema"] as MutableJson | undefined; // the schema is a reference, see `#describe`
    if (schema !== undefined && !this.#bodies.has(String(schema["$ref"]))) return parameter;
    const text = JSON.stringify(parameter);
    let entry = this.#shared.get(text);
    if (entry === undefined) {
      const hash = createHash("sha256").update(text).digest("base64url").slice(0, 8);
      entry = { key: `${String(parameter["name"])}-${hash}`, parameter };
      this.#shared.set(text, entry);
    }
    return { $ref: `#/parameters/${entry.key}` };
  }

  finish(): MutableJson {
    const entries = [...this.#shared.values()].map(({ key, parameter }) => [key, parameter] as const);
    return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}
