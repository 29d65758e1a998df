/** Definitions of kinds for the tests of this folder, with writes as the store does them. */
import { type ApiTables, loadDefinitions } from "#api/definitions.ts";
import { type ApiDomain, apiDomain, kubernetesDomain } from "#meta/api-domain.ts";
import { testContext } from "#meta/context-for-tests.ts";
import { type FieldError, printFieldError } from "#meta/field-error.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { type ResourceDefinition, updateStrategy, type WriteAttributes } from "#registry/resource-definition.ts";
import { DecodeError } from "#schema/decode-error.ts";
import { decodeTyped } from "#schema/typed.ts";
import { isLate, type MaybePromise } from "#std/maybe-promise.ts";
import { builtInDefinitions } from "./built-in.ts";

interface KindUnderTest {
  readonly definition: ResourceDefinition;
  /** Decodes a body by its type. The result has the fields that are always present. */
  decode(object: Unstructured): Unstructured;
  /** Decodes a body and fills in the defaults. */
  defaults(object: Unstructured): Unstructured;
  /** Returns the object as a create would store it, without the names, times and uid that the server generates. */
  create(object: Unstructured): Unstructured;
  /** Returns the object as an update would store it. */
  update(object: Unstructured, old: Unstructured, subresource?: string): Unstructured;
  /** Loads the modules that check rules, with any object; findings are complete afterwards. */
  loadRules(object: Unstructured): Promise<void>;
  /** Returns the printed findings about a create. */
  refuseCreate(object: Unstructured): string[];
  /** Returns the printed findings about an update. */
  refuseUpdate(object: Unstructured, old: Unstructured, subresource?: string): string[];
  /** Returns the warnings about a create. */
  warnCreate(object: Unstructured): readonly string[];
  /** Returns the warnings about an update. */
  warnUpdate(object: Unstructured, old: Unstructured, subresource?: string): readonly string[];
  /** Returns the cells of the object's row by the names of the columns. */
  row(object: Unstructured, nowMs?: number): Record<string, unknown>;
}

/** Decodes the JSON text of an annotation, without the exact numbers of a server. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new DecodeError("this is no JSON", { cause });
  }
}

const tables = new WeakMap<ApiDomain, ApiTables>();

/**
 * Makes a kind for tests. Groups have Kubernetes' names. `gates` are the gates that are on; by default the default ones
 * of the release.
 */
export function kindUnderTest(
  of: { readonly group: string; readonly version: string; readonly kind: string },
  options: { readonly gates?: readonly string[]; readonly domain?: string; readonly allowsPrivileged?: boolean } = {},
): KindUnderTest {
  const domain = options.domain === undefined ? kubernetesDomain : apiDomain(options.domain);
  let known = tables.get(domain);
  if (known === undefined) tables.set(domain, (known = loadDefinitions(domain)));
  const gates = options.gates ?? known.gates.filter((gate) => gate.default).map(({ name }) => name);
  const [definition] = builtInDefinitions(
    known,
    {
      domain,
      gate: (name) => gates.includes(name),
      allowsPrivileged: options.allowsPrivileged ?? true,
      eventTtlSeconds: 3600,
      now: () => 1_700_000_000_000,
      decodeJson: parseJson,
    },
    (facts) => facts.kubernetesGroup === of.group && facts.version === of.version && facts.kind === of.kind,
  );
  if (definition === undefined) throw new Error(`no kind ${of.kind}`);
  return definitionUnderTest(definition);
}

export function definitionUnderTest(definition: ResourceDefinition): KindUnderTest {
  const { strategy } = definition;
  // The object is decoded by its type, and without members that are undefined, since hooks never get other objects.
  const decode = (object: Unstructured): Unstructured => {
    const body: unknown = JSON.parse(JSON.stringify(object));
    const findings = { keys: 0, unknown: false, keepsEmptyLists: true };
    return freeze(decodeTyped(definition.schema, body, findings) as Unstructured); // its schema has metadata
  };
  const applyDefaults = (given: Unstructured): Unstructured => {
    const object = decode(given);
    return strategy.defaults?.(object) ?? object;
  };
  const prepareCreate = (object: Unstructured): Unstructured => {
    const first = applyDefaults(object);
    const prepared = strategy.prepareForCreate?.(freeze(first), writeAttributes("")) ?? first;
    return freeze(strategy.canonicalize?.(freeze(prepared), false) ?? prepared);
  };
  const prepareUpdate = (object: Unstructured, old: Unstructured, subresource: string): Unstructured => {
    const first = applyDefaults(object);
    const hooks = updateStrategy(strategy, subresource);
    return freeze(hooks.prepareForUpdate?.(freeze(first), decode(old), writeAttributes(subresource)) ?? first);
  };
  return {
    definition,
    decode,
    defaults: applyDefaults,
    create: prepareCreate,
    update: (object, old, subresource = "") => prepareUpdate(object, old, subresource),
    async loadRules(object) {
      await strategy.checkRules?.(prepareCreate(object), undefined, [], writeAttributes(""));
    },
    refuseCreate(object) {
      const created = prepareCreate(object);
      const errors = strategy.validate?.(created, writeAttributes("")) ?? [];
      return printFindings(errors, strategy.checkRules?.(created, undefined, errors, writeAttributes("")));
    },
    refuseUpdate(object, old, subresource = "") {
      const hooks = updateStrategy(strategy, subresource);
      const given = [prepareUpdate(object, old, subresource), decode(old)] as const;
      const found = hooks.validateUpdate?.(...given, writeAttributes(subresource)) ?? [];
      return printFindings(found, hooks.checkRules?.(...given, found, writeAttributes(subresource)));
    },
    warnCreate: (object) => strategy.warningsOnCreate?.(prepareCreate(object), writeAttributes("")) ?? [],
    warnUpdate: (object, old, subresource = "") =>
      updateStrategy(strategy, subresource).warningsOnUpdate?.(
        prepareUpdate(object, old, subresource),
        decode(old),
        writeAttributes(subresource),
      ) ?? [],
    row: (object, nowMs = 0) =>
      Object.fromEntries(definition.columns.map((column) => [column.name, column.cell(decode(object), nowMs)])),
  };
}

function printFindings(findings: readonly FieldError[], late: MaybePromise<readonly FieldError[]> = []): string[] {
  if (isLate(late)) throw new Error("the rules of this kind are loaded by loadRules");
  return [...findings, ...late].map(printFieldError);
}

/** Returns the attributes of a write for hooks. */
export function writeAttributes(subresource = "", dryRun = false): WriteAttributes {
  return { context: testContext(), subresource, dryRun };
}

/** Freezes a value, since stored objects are shared: a hook that changes one throws. */
function freeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(freeze);
  }
  return value;
}
