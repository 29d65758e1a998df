/** The fields of a kind as its schema describes them, from the server's own OpenAPI documents. */
import { useSignal } from "@preact/signals";
import { failureText } from "./api.ts";
import type { App } from "./app-state.ts";
import type { ServedKind } from "./kinds.ts";
import { useLoaded } from "./load.ts";
import { asPart, hrefOf, ofPart } from "./routes.ts";
import { plainText, Text } from "./text.tsx";

interface FieldSchema {
  readonly $ref?: string;
  readonly allOf?: readonly FieldSchema[];
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly items?: FieldSchema;
  readonly additionalProperties?: FieldSchema | boolean;
  readonly "x-kubernetes-group-version-kind"?: readonly {
    readonly group: string;
    readonly version: string;
    readonly kind: string;
  }[];
  readonly "x-kubernetes-int-or-string"?: boolean;
  readonly "x-kubernetes-validations"?: readonly { readonly rule: string; readonly message?: string }[];
}

type Schemas = Readonly<Record<string, FieldSchema>>;

export function DefinitionsPage({ app }: { readonly app: App }) {
  const [group, version, name] = app.route.value.parts;
  const kind = app.kinds.value.find(
    (one) => one.group === ofPart(group) && one.version === version && one.kind === name,
  );
  if (kind !== undefined) return <Definition key={`${kind.group} ${kind.kind}`} app={app} kind={kind} />;
  return (
    <>
      <h1>Definitions</h1>
      <ul>
        {app.kinds.value.map((one) => (
          <li key={`${one.group} ${one.kind}`}>
            <a href={hrefOf("definitions", [asPart(one.group), one.version, one.kind])}>{plainText(one.kind)}</a>{" "}
            <span class="dim">
              {plainText(one.group)} {one.version}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

/** Reads the schemas of a group version. */
async function readSchemas(app: App, { group, version }: ServedKind, abort: AbortSignal): Promise<Schemas> {
  const path = group === "" ? `/openapi/v3/api/${version}` : `/openapi/v3/apis/${encodeURIComponent(group)}/${version}`;
  const document = await app.api.get<{ readonly components?: { readonly schemas?: Schemas } }>(path, abort);
  return document.components?.schemas ?? {};
}

function Definition({ app, kind }: { readonly app: App; readonly kind: ServedKind }) {
  const [loaded] = useLoaded((abort) => readSchemas(app, kind, abort), [kind]);
  const { value: schemas, error } = loaded.value;
  if (error !== undefined) {
    return (
      <p role="alert" class="problem">
        <Text of={failureText(error)} />
      </p>
    );
  }
  if (schemas === undefined) return <p class="dim">Loading …</p>;
  const isWanted = (schema: FieldSchema): boolean =>
    schema["x-kubernetes-group-version-kind"]?.some(
      (one) => one.group === kind.group && one.version === kind.version && one.kind === kind.kind,
    ) === true;
  const schema = Object.values(schemas).find(isWanted);
  return (
    <>
      <h1>
        {plainText(kind.kind)}{" "}
        <span class="dim">
          {plainText(kind.group)} {kind.version}
        </span>
      </h1>
      {schema === undefined ? (
        <p class="dim">The server publishes no schema of this kind.</p>
      ) : (
        <>
          <p>
            <Text of={schema.description ?? ""} />
          </p>
          <Members schema={schema} schemas={schemas} />
        </>
      )}
    </>
  );
}

interface SchemaProps {
  readonly schema: FieldSchema;
  readonly schemas: Schemas;
}

/** Returns the schema that a reference leads to, with the description beside the reference. */
function resolved({ $ref, allOf, ...rest }: FieldSchema, schemas: Schemas): FieldSchema {
  const reference = $ref ?? (allOf?.length === 1 ? allOf[0]!.$ref : undefined);
  if (reference === undefined) return rest;
  const name = reference.slice(reference.lastIndexOf("/") + 1);
  return { ...(Object.hasOwn(schemas, name) ? schemas[name] : {}), ...rest };
}

function Members({ schema, schemas }: SchemaProps) {
  const { properties = {}, required = [] } = schema;
  return (
    <div class="schema">
      {Object.entries(properties).map(([name, property]) => (
        <Field
          key={name}
          name={name}
          schema={resolved(property, schemas)}
          schemas={schemas}
          isRequired={required.includes(name)}
        />
      ))}
    </div>
  );
}

function Field({
  name,
  schema,
  schemas,
  isRequired,
}: SchemaProps & { readonly name: string; readonly isRequired: boolean }) {
  const isOpen = useSignal(false);
  const inner = innerOf(schema, schemas);
  const hasMembers = Object.keys(inner.properties ?? {}).length > 0;
  return (
    <details onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary>
        <code>{plainText(name)}</code> <span class="dim">{plainText(typeText(schema, schemas))}</span>
        {isRequired && <b> required</b>}
      </summary>
      {isOpen.value && (
        <>
          <p>
            <Text of={schema.description ?? "No description."} max={3000} />
          </p>
          <Limits schema={schema} />
          {hasMembers && <Members schema={inner} schemas={schemas} />}
        </>
      )}
    </details>
  );
}

function Limits({ schema }: { readonly schema: FieldSchema }) {
  const rules = schema["x-kubernetes-validations"] ?? [];
  return (
    <>
      {schema.default !== undefined && <p>Default: {plainText(JSON.stringify(schema.default).slice(0, 500))}</p>}
      {schema.enum !== undefined && (
        <p>
          One of:{" "}
          {plainText(
            schema.enum
              .map((one) => JSON.stringify(one))
              .join(", ")
              .slice(0, 2000),
          )}
        </p>
      )}
      {rules.map(({ rule, message }) => (
        <p key={rule}>
          Rule: <code>{plainText(rule.slice(0, 1000))}</code> {message !== undefined && plainText(message)}
        </p>
      ))}
    </>
  );
}

/** Returns the schema of what is in a list or a map, or the schema itself. */
function innerOf(schema: FieldSchema, schemas: Schemas): FieldSchema {
  const inside =
    schema.items ?? (typeof schema.additionalProperties === "object" ? schema.additionalProperties : undefined);
  return inside === undefined ? schema : innerOf(resolved(inside, schemas), schemas);
}

function typeText(schema: FieldSchema, schemas: Schemas): string {
  if (schema["x-kubernetes-int-or-string"] === true) return "number or text";
  if (schema.items !== undefined) return `list of ${typeText(resolved(schema.items, schemas), schemas)}`;
  if (typeof schema.additionalProperties === "object") {
    return `map of ${typeText(resolved(schema.additionalProperties, schemas), schemas)}`;
  }
  const { type = "any", format = "" } = schema;
  return format === "" ? type : `${type} (${format})`;
}
