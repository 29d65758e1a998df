/** Derives types from declarations, on demand: expressions use few parts of a large schema. */
import { type CelType, listOf, mapOf, type ObjectField, type ObjectType, string } from "../types.ts";
import type { Declaration, FieldDeclaration, ObjectDeclaration } from "./declaration.ts";

/**
 * Returns the type of a declaration. `name` is the name of the whole type; objects inside are named by their path, such
 * as `self.spec` or `self.items.@idx`.
 */
export function typeOfDeclaration(declaration: Declaration, name: string): CelType {
  switch (declaration.kind) {
    case "scalar":
      return declaration.type;
    case "list": {
      const list = listOf(typeOfDeclaration(declaration.element, `${name}.@idx`));
      return declaration.uniqueBy === undefined ? list : { ...list, uniqueBy: declaration.uniqueBy };
    }
    case "map":
      return mapOf(string, typeOfDeclaration(declaration.element, `${name}.@elem`));
    default:
      return new DeclaredObjectType(name, declaration);
  }
}

class DeclaredObjectType implements ObjectType {
  readonly kind = "object";
  readonly name: string;
  readonly #declaration: ObjectDeclaration;
  readonly #fields = new Map<string, ObjectField>();
  #converted: readonly ObjectField[] | undefined;

  constructor(name: string, declaration: ObjectDeclaration) {
    this.name = name;
    this.#declaration = declaration;
  }

  field(name: string): ObjectField | undefined {
    const cached = this.#fields.get(name);
    if (cached !== undefined) return cached;
    const declared = this.#declaration.fields.get(name);
    return declared === undefined ? undefined : this.#remember(name, declared);
  }

  #remember(name: string, { key, declaration }: FieldDeclaration): ObjectField {
    const field = { key, type: typeOfDeclaration(declaration, `${this.name}.${name}`) };
    this.#fields.set(name, field);
    return field;
  }

  get converted(): readonly ObjectField[] {
    this.#converted ??= [...this.#declaration.fields]
      .filter(([, { declaration }]) => !declaration.isPlain)
      .map(([name]) => this.field(name)!);
    return this.#converted;
  }
}
