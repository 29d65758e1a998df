/** Finds and removes `optionalOldSelf` in the rules of a schema, at any depth. */

const rulesName = "x-kubernetes-validations";

/** Whether a rule of the schema has `optionalOldSelf`. */
export function hasOptionalOldSelf(schema: unknown): boolean {
  return withoutOptionalOldSelf(schema) !== schema;
}

/** Returns the schema without `optionalOldSelf` in its rules; the same schema if no rule has it. */
export function withoutOptionalOldSelf(schema: unknown): unknown {
  return typeof schema === "object" && schema !== null ? editRules(schema, (name) => name === rulesName) : schema;
}

function editRules(part: object, isRules: (name: string) => boolean): unknown {
  let next: Record<string, unknown> | unknown[] | undefined;
  for (const [name, inner] of Object.entries(part)) {
    if (typeof inner !== "object" || inner === null) continue;
    const changed = isRules(name) && Array.isArray(inner) ? inner.map(dropOptionalOldSelf) : editRules(inner, isRules);
    const isSame = Array.isArray(changed) && changed.every((item, at) => item === (inner as unknown[])[at]);
    if (changed === inner || isSame) continue;
    next ??= Array.isArray(part) ? [...(part as unknown[])] : { ...part };
    (next as Record<string, unknown>)[name] = changed; // the names of a list are its indexes
  }
  return next ?? part;
}

function dropOptionalOldSelf(rule: unknown): unknown {
  if (typeof rule !== "object" || rule === null || !("optionalOldSelf" in rule)) return rule;
  const { optionalOldSelf: _gone, ...rest } = rule;
  return rest;
}
