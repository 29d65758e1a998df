/** Reads the declared types in the tests of the specification, which are JSON of its `Type` messages. */
import {
  bool,
  bytes,
  type CelType,
  double,
  duration,
  dyn,
  int,
  listOf,
  mapOf,
  nullType,
  opaque,
  parameter,
  string,
  timestamp,
  uint,
} from "./types.ts";

export interface DeclaredType {
  readonly primitive?: string;
  readonly wellKnown?: string;
  readonly listType?: { readonly elemType: DeclaredType };
  readonly mapType?: { readonly keyType: DeclaredType; readonly valueType: DeclaredType };
  readonly abstractType?: { readonly name: string; readonly parameterTypes: readonly DeclaredType[] };
  readonly typeParam?: string;
  readonly null?: null;
}

const named: Readonly<Record<string, CelType>> = {
  BOOL: bool,
  INT64: int,
  UINT64: uint,
  DOUBLE: double,
  STRING: string,
  BYTES: bytes,
  TIMESTAMP: timestamp,
  DURATION: duration,
};

export function declaredType(type: DeclaredType): CelType {
  const simple = type.primitive ?? type.wellKnown;
  if (simple !== undefined) return named[simple]!;
  if (type.listType !== undefined) return listOf(declaredType(type.listType.elemType));
  if (type.mapType !== undefined)
    return mapOf(declaredType(type.mapType.keyType), declaredType(type.mapType.valueType));
  if (type.typeParam !== undefined) return parameter(type.typeParam);
  if (type.null === null) return nullType;
  if (type.abstractType === undefined) return dyn;
  return opaque(type.abstractType.name, ...type.abstractType.parameterTypes.map(declaredType));
}
