/** RuntimeClass: a container runtime configuration. */
import type { RuntimeClass } from "#api/node/v1.ts";
import { ageColumn, nameColumn, text } from "../cells.ts";
import type { KindBehaviour } from "../generic.ts";
import { validateImmutable } from "../immutable.ts";

export function runtimeClasses(): KindBehaviour<RuntimeClass> {
  return {
    anyFinalizers: true,
    metadataRepeats: 1,
    createOnUpdate: true,
    columns: [nameColumn, text("Handler", "Configuration of the node's runtime.", ({ handler }) => handler), ageColumn],
    strategy: { validateUpdate: (object, old) => validateImmutable(object, old, ["handler"]) },
  };
}
