/**
 * Variables with the type of a schema, such as `self` of a rule. The schema is converted to declarations once
 * (`schema/declaration.ts`); each node with rules makes types of them, and cost estimates read their sizes
 * (`schema/sizes.ts`).
 */
import type { JsonSchemaProps } from "#schema/structural.ts";
import { declare, type Declaration, type KnownDeclarations } from "./schema/declaration.ts";
import { typeOfDeclaration } from "./schema/types.ts";
import type { CelType } from "./types.ts";

export type { Declaration, FieldDeclaration, KnownDeclarations } from "./schema/declaration.ts";
export { fieldName } from "./schema/field-name.ts";
export { cardinality, requestTextMax } from "./schema/sizes.ts";

/** A value that rules can be about. */
export interface SchemaVariable {
  readonly type: CelType;
  /** Its sizes and those of its parts. */
  readonly declaration: Declaration;
}

/**
 * The variable of a schema that `checkStructural` found right. `isWhole`: it is of a custom resource, or of an object
 * embedded in one. `typeName` is that of an object in errors (`selfType1`), and different for each node.
 * `undefined`: the schema leaves the type open, and there can be no rules. `known` is shared by the nodes of a schema.
 */
export function schemaVariable(
  props: JsonSchemaProps,
  typeName: string,
  isWhole: boolean,
  known: KnownDeclarations = new Map(),
): SchemaVariable | undefined {
  const declaration = declare(props, isWhole, known);
  return declaration === undefined ? undefined : { type: typeOfDeclaration(declaration, typeName), declaration };
}
