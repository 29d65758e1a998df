/**
 * Makes the published schema of a custom kind, without keywords that the format or its readers do not know. Version 2
 * has no alternatives and no defaults, and no structure where `kubectl` would refuse values that the server accepts.
 * Source: upstream's `apiextensions-apiserver`, `controller/openapi` and `apiserver/schema`.
 */
import { isObject } from "#std/is-object.ts";
import { isRawNumber } from "#std/raw-number.ts";

/** A JSON object under construction. */
export type MutableJson = Record<string, unknown>;

export type OpenApiVersion = 2 | 3;

/** The fields that are added to embedded objects, and the names of the required ones. */
export interface EmbeddedFields {
  readonly properties: MutableJson;
  readonly required: readonly string[];
}

/**
 * Returns the published form of `props`, which must have passed the checks of a definition. The schemas to which
 * `embedded` is added share it.
 */
export function publishedSchema(props: MutableJson, version: OpenApiVersion, embedded: EmbeddedFields): MutableJson {
  return new Publication(version, embedded).structure(props);
}

/** Whether the schema preserves unknown fields. Version 2 then shows no fields. */
export const isOpen = (props: MutableJson): boolean => props[preserve] === true;

const preserve = "x-kubernetes-preserve-unknown-fields";
const embeddedMark = "x-kubernetes-embedded-resource";
const intOrString = "x-kubernetes-int-or-string";

const texts = ["description", "title", "format", "pattern"] as const;
/** The keywords with numbers, which are published even if they are 0. */
const numbers = [
  "maximum",
  "minimum",
  "maxLength",
  "minLength",
  "maxItems",
  "minItems",
  "multipleOf",
  "maxProperties",
  "minProperties",
] as const;
const flags = ["exclusiveMaximum", "exclusiveMinimum", "uniqueItems"] as const;
const marks = [preserve, embeddedMark, intOrString] as const;
const lists = ["x-kubernetes-list-map-keys", "x-kubernetes-validations"] as const;
const words = ["x-kubernetes-list-type", "x-kubernetes-map-type"] as const;
const alternatives = ["allOf", "anyOf", "oneOf"] as const;

const eitherType = [{ type: "integer" }, { type: "string" }];

class Publication {
  readonly #version: OpenApiVersion;
  readonly #embedded: EmbeddedFields;

  constructor(version: OpenApiVersion, embedded: EmbeddedFields) {
    this.#version = version;
    this.#embedded = embedded;
  }

  structure(props: MutableJson): MutableJson {
    const plain = this.#version === 2;
    const nullable = props["nullable"] === true;
    const out = this.#values(props);
    if (props["default"] !== undefined && !plain) out["default"] = props["default"];
    if (nullable && !plain) out["nullable"] = true;
    // Upstream: version 2 has no null, and its readers refuse unknown fields of objects with any structure.
    const isVague = plain && (nullable || props[preserve] === true);
    const { items, properties, additionalProperties } = props;
    const hasItems = !isVague && isObject(items);
    if (hasItems) out["items"] = this.structure(items);
    if (!isVague && isObject(properties) && Object.keys(properties).length > 0) {
      out["properties"] = mapObject(properties, (one) => this.structure(one));
    }
    if (isObject(additionalProperties)) out["additionalProperties"] = this.structure(additionalProperties);
    else if (typeof additionalProperties === "boolean") out["additionalProperties"] = additionalProperties;
    if (plain) this.#plainRequired(props, out);
    const { type } = props;
    const hasType =
      !plain || !(nullable || (type === "array" && !hasItems) || (type === "object" && props[preserve] === true));
    if (hasType && typeof type === "string" && type !== "") out["type"] = type;
    if (props[embeddedMark] === true && !(plain && props[preserve] === true)) this.#embed(out);
    return out;
  }

  /** Removes nullable fields from the required ones in version 2, since its readers omit them. */
  #plainRequired(props: MutableJson, out: MutableJson): void {
    const { required } = out;
    if (!Array.isArray(required)) return;
    const { properties, additionalProperties } = props;
    const mayBeNull = (name: unknown): boolean => {
      if (out["properties"] === undefined || !isObject(properties) || typeof name !== "string") return false;
      const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
      return isObject(property) && property["nullable"] === true;
    };
    const isAnyNull = isObject(additionalProperties) && additionalProperties["nullable"] === true;
    const stillRequired = isAnyNull ? [] : required.filter((name) => !mayBeNull(name));
    if (stillRequired.length === 0) delete out["required"];
    else out["required"] = stillRequired;
  }

  #embed(out: MutableJson): void {
    const own = (out["properties"] ?? {}) as MutableJson; // `structure` made this object
    out["properties"] = { ...own, ...this.#embedded.properties };
    const required = (out["required"] ?? []) as readonly string[]; // the author's list was checked
    out["required"] = [...required, ...this.#embedded.required.filter((name) => !required.includes(name))];
  }

  /** Returns the keywords that schemas and the alternatives inside of them share. */
  #values(props: MutableJson): MutableJson {
    const out: MutableJson = {};
    for (const name of texts) if (typeof props[name] === "string" && props[name] !== "") out[name] = props[name];
    for (const name of numbers) if (isNumber(props[name])) out[name] = props[name];
    for (const name of flags) if (props[name] === true) out[name] = true;
    for (const name of marks) if (props[name] === true) out[name] = true;
    for (const name of words) if (typeof props[name] === "string") out[name] = props[name];
    for (const name of [...lists, "required", "enum"]) {
      const list = props[name];
      if (Array.isArray(list) && list.length > 0) out[name] = list;
    }
    if (this.#version === 2) return out;
    for (const name of alternatives) {
      const list = props[name];
      if (Array.isArray(list) && list.length > 0) out[name] = list.map((one: MutableJson) => this.#alternative(one));
    }
    if (isObject(props["not"])) out["not"] = this.#alternative(props["not"]);
    if (props[intOrString] === true) unfold(out);
    return out;
  }

  /** Returns a schema of an alternative. Upstream: its `additionalProperties` are not published. */
  #alternative(props: MutableJson): MutableJson {
    const out = this.#values(props);
    const { items, properties, type, nullable } = props;
    if (isObject(items)) out["items"] = this.#alternative(items);
    if (isObject(properties) && Object.keys(properties).length > 0) {
      out["properties"] = mapObject(properties, (one) => this.#alternative(one));
    }
    if (typeof type === "string" && type !== "") out["type"] = type;
    if (props["default"] !== undefined) out["default"] = props["default"];
    if (nullable === true) out["nullable"] = true;
    return out;
  }
}

/** Adds alternatives for the int-or-string mark, unless the author wrote them. */
function unfold(out: MutableJson): void {
  const { anyOf } = out;
  const allOf = (out["allOf"] ?? []) as readonly MutableJson[]; // `#values` made this list
  if (isEitherType(anyOf) || isEitherType(allOf[0]?.["anyOf"])) return;
  if (anyOf === undefined) out["anyOf"] = eitherType;
  else out["allOf"] = [{ anyOf: eitherType }, ...allOf];
}

function isEitherType(list: unknown): boolean {
  if (!Array.isArray(list) || list.length !== 2) return false;
  return list.every(
    (one, at) => isObject(one) && Object.keys(one).length === 1 && one["type"] === eitherType[at]?.type,
  );
}

const isNumber = (value: unknown): boolean => typeof value === "number" || isRawNumber(value);

function mapObject(object: MutableJson, change: (value: MutableJson) => MutableJson): MutableJson {
  // The values are schemas.
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value as MutableJson)]));
}
