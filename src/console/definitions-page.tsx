/** The fields of a kind as its schema describes them, from the server's own OpenAPI documents. */
import { useSignal } from "@preact/signals";
import { failureText } from "./api.ts";
import type { App } from "./app-state.ts";
import { type FieldSchema, readKindSchema, resolved, type Schemas, typeText } from "./field-schema.ts";
import type { ServedKind } from "./kinds.ts";
import { useLoaded } from "./load.ts";
import { asPart, hrefOf, ofPart } from "./routes.ts";
import { plainText, Text } from "./text.tsx";

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

function Definition({ app, kind }: { readonly app: App; readonly kind: ServedKind }) {
  const [loaded] = useLoaded((abort) => readKindSchema(app.api, kind, abort), [kind]);
  const { value: found, error, isLoading } = loaded.value;
  if (error !== undefined) {
    return (
      <p role="alert" class="problem">
        <Text of={failureText(error)} />
      </p>
    );
  }
  if (isLoading) return <p class="dim">Loading …</p>;
  return (
    <>
      <h1>
        {plainText(kind.kind)}{" "}
        <span class="dim">
          {plainText(kind.group)} {kind.version}
        </span>
      </h1>
      {found === undefined ? (
        <p class="dim">The server publishes no schema of this kind.</p>
      ) : (
        <>
          <p>
            <Text of={found.schema.description ?? ""} />
          </p>
          <Members schema={resolved(found.schema, found.schemas)} schemas={found.schemas} />
        </>
      )}
    </>
  );
}

interface SchemaProps {
  readonly schema: FieldSchema;
  readonly schemas: Schemas;
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

/** The maximum lists and maps in each other that are gone through: a schema may be its own item. */
const depthMax = 16;

/** Returns the schema of what is in a list or a map, or the schema itself. */
function innerOf(schema: FieldSchema, schemas: Schemas, depth = 0): FieldSchema {
  const inside =
    schema.items ?? (typeof schema.additionalProperties === "object" ? schema.additionalProperties : undefined);
  return inside === undefined || depth > depthMax ? schema : innerOf(resolved(inside, schemas), schemas, depth + 1);
}
