/**
 * The environment of expressions: variables, constants, object types and functions. A base environment has the
 * libraries; each schema extends it with variables, and copies nothing.
 */
import type { ConstantReference, FunctionReference, Validator, VariableReference } from "./checked.ts";
import type { FunctionDeclaration, Library, Overload } from "./functions.ts";
import type { CelType, ObjectType } from "./types.ts";

/** The declarations that an environment adds to those of its parent. */
export interface Declarations {
  /** The variables by name. Names may contain dots; the variable `a.b` hides the field `b` of `a`. */
  readonly variables?: ReadonlyMap<string, CelType>;
  /** The libraries. Functions with the same name are merged; an overload replaces an earlier one with the same id. */
  readonly libraries?: readonly Library[];
  /** Returns the object type with this name, which `Name{…}` constructs and to which `Name` refers. */
  readonly findType?: (name: string) => ObjectType | undefined;
  /** The validators, which run after those of the parent. */
  readonly validators?: readonly Validator[];
  /** Whether the macro `cel.bind(name, value, expression)` exists; by default as in the parent. */
  readonly hasBindings?: boolean;
}

/** An overload in the form that the checker tries. */
export interface Candidate {
  readonly overload: Overload;
  /**
   * The names of the type parameters. The order in which the reference numbers the parameters of an overload is random.
   */
  readonly parameters: readonly string[];
  /** The reference of a call that is resolved to this overload alone. */
  readonly reference: FunctionReference;
}

/** A function of an environment, with its overloads grouped by call style: plain calls, and calls of a member. */
export interface DeclaredFunction {
  readonly name: string;
  readonly plain: readonly Candidate[];
  readonly members: readonly Candidate[];
}

/**
 * An immutable environment. Its table of functions is made on first use, since a server may start without any
 * expression.
 */
export class Environment {
  readonly validators: readonly Validator[];
  readonly hasBindings: boolean;
  readonly #parent: Environment | undefined;
  readonly #libraries: readonly Library[];
  readonly #names = new Map<string, VariableReference | ConstantReference>();
  readonly #findType: Declarations["findType"];
  #functions: ReadonlyMap<string, DeclaredFunction> | undefined;
  /** The first parts of the names with dots. */
  #prefixes: ReadonlySet<string> | undefined;

  /** Without a `parent`, the environment has the given declarations only. */
  constructor(declarations: Declarations, parent?: Environment) {
    const libraries = declarations.libraries ?? [];
    this.#parent = parent;
    this.#libraries = libraries;
    this.#findType = declarations.findType;
    this.hasBindings = declarations.hasBindings ?? parent?.hasBindings ?? false;
    this.validators = [...(parent?.validators ?? []), ...(declarations.validators ?? [])];
    for (const library of libraries) {
      for (const [name, constant] of library.constants ?? [])
        this.#names.set(name, { kind: "constant", name, ...constant });
    }
    for (const [name, type] of declarations.variables ?? []) {
      this.#names.set(name, { kind: "variable", name, type, isLoop: false });
    }
  }

  /**
   * Returns a new environment with the declarations of this one and more. Later declarations of a name hide earlier
   * ones.
   */
  extend(declarations: Declarations): Environment {
    return new Environment(declarations, this);
  }

  /** All functions by name. */
  get functions(): ReadonlyMap<string, DeclaredFunction> {
    if (this.#functions === undefined) {
      const inherited = this.#parent?.functions ?? new Map<string, DeclaredFunction>();
      this.#functions = this.#libraries.length === 0 ? inherited : joinFunctions(inherited, this.#libraries);
    }
    return this.#functions;
  }

  /** Whether a name with dots may begin with this part. A quick check that makes most look-ups unnecessary. */
  mayBegin(part: string): boolean {
    this.#prefixes ??= this.#ownPrefixes();
    return this.#prefixes.has(part) || this.#findType !== undefined || (this.#parent?.mayBegin(part) ?? false);
  }

  /** Returns the variable, constant or object type with this name. */
  findName(name: string): VariableReference | ConstantReference | undefined {
    return this.#findDeclared(name) ?? this.#findObjectType(name);
  }

  #ownPrefixes(): ReadonlySet<string> {
    const functionNames = this.#libraries.length === 0 ? [] : this.functions.keys();
    const prefixes = new Set<string>();
    for (const name of [...this.#names.keys(), ...functionNames]) {
      const dot = name.indexOf(".");
      if (dot > 0) prefixes.add(name.slice(0, dot));
    }
    return prefixes;
  }

  #findDeclared(name: string): VariableReference | ConstantReference | undefined {
    return this.#names.get(name) ?? (this.#parent === undefined ? undefined : this.#parent.#findDeclared(name));
  }

  #findObjectType(name: string): ConstantReference | undefined {
    const type = this.#findType?.(name);
    if (type === undefined) return this.#parent === undefined ? undefined : this.#parent.#findObjectType(name);
    return { kind: "constant", name, type: { kind: "type", of: type }, value: type };
  }
}

function joinFunctions(
  inherited: ReadonlyMap<string, DeclaredFunction>,
  libraries: readonly Library[],
): ReadonlyMap<string, DeclaredFunction> {
  const functions = new Map(inherited);
  for (const library of libraries) {
    for (const declaration of library.functions) {
      functions.set(declaration.name, withOverloads(functions.get(declaration.name), declaration));
    }
  }
  return functions;
}

function withOverloads(existing: DeclaredFunction | undefined, declaration: FunctionDeclaration): DeclaredFunction {
  const { name } = declaration;
  const overloads = new Map<string, Candidate>();
  for (const candidate of [...(existing?.plain ?? []), ...(existing?.members ?? [])]) {
    overloads.set(candidate.overload.id, candidate);
  }
  for (const overload of declaration.overloads) {
    const parameters = new Set<string>();
    for (const type of [overload.result, ...overload.args]) collectParameters(type, parameters);
    const reference: FunctionReference = { kind: "function", name, overloads: [overload] };
    overloads.set(overload.id, { overload, parameters: [...parameters], reference });
  }
  const all = [...overloads.values()];
  return {
    name,
    plain: all.filter(({ overload }) => !overload.isMember),
    members: all.filter(({ overload }) => overload.isMember),
  };
}

function collectParameters(type: CelType, into: Set<string>): void {
  if (type.kind === "parameter") into.add(type.name);
  else if (type.kind === "list") collectParameters(type.element, into);
  else if (type.kind === "map") {
    collectParameters(type.key, into);
    collectParameters(type.value, into);
  } else if (type.kind === "type" && type.of !== undefined) collectParameters(type.of, into);
  else if (type.kind === "opaque") for (const part of type.parameters) collectParameters(part, into);
}
