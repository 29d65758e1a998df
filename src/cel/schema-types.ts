/**
 * Variables with the type of a schema, such as `self` of a rule. A schema is converted to declarations once
 * (`schema/declaration.ts`); each node with rules derives types from them, and cost estimates read their sizes
 * (`schema/sizes.ts`).
 */
import type { JsonSchemaProps } from "#schema/structural.ts";
import { declare, type Declaration, type KnownDeclarations } from "./schema/declaration.ts";
import { typeOfDeclaration } from "./schema/types.ts";
import type { CelType } from "./types.ts";

export type { Declaration, FieldDeclaration, KnownDeclarations } from "./schema/declaration.ts";
export { fieldName } from "./schema/field-name.ts";
export { cardinality, requestTextMax } from "./schema/sizes.ts";

/** A variable whose value rules can check. */
export interface SchemaVariable {
  readonly type: CelType;
  /** The declaration with its size and the sizes of its parts. */
  readonly declaration: Declaration;
}

/**
 * Returns the variable of a schema that passed `checkStructural`, or `undefined` if the schema does not determine its
 * type, so that there can be no rules. `isWhole`: whether it is a custom resource, or an object embedded in one.
 * `typeName` is the name of an object type in errors (`selfType1`); it differs for each node. The nodes of a schema
 * share `declarations`.
 */
export function schemaVariable(
  props: JsonSchemaProps,
  typeName: string,
  isWhole: boolean,
  declarations: KnownDeclarations = new Map(),
): SchemaVariable | undefined {
  const declaration = declare(props, isWhole, declarations);
  return declaration === undefined ? undefined : { type: typeOfDeclaration(declaration, typeName), declaration };
}
