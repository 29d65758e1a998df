/**
 * Namespace: its phase, the finalizers of its content, and the label with its name. A controller empties a deleted
 * namespace; admission refuses new content in it, and content in a missing one.
 */
import type { Namespace } from "#api/core/v1.ts";
import { type FieldError, invalid } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { qualifiedName } from "#meta/names.ts";
import { ageColumn, nameColumn, text } from "../cells.ts";
import { withField } from "../edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";

const finalizer = "kubernetes";
const standardFinalizers: ReadonlySet<string> = new Set([finalizer, "orphan", "foregroundDeletion"]);

export function namespaces(environment: KindEnvironment): KindBehaviour<Namespace> {
  const nameLabel = environment.domain.rename("kubernetes.io/metadata.name");
  const canonicalize = (object: Namespace): Namespace => {
    const name = object.metadata.name ?? "";
    if (name === "" || object.metadata.labels?.[nameLabel] === name) return object;
    return { ...object, metadata: { ...object.metadata, labels: { ...object.metadata.labels, [nameLabel]: name } } };
  };
  return {
    columns: [
      nameColumn,
      text("Status", "Whether the namespace is in use or being deleted.", ({ status }) => status.phase ?? ""),
      ageColumn,
    ],
    strategy: {
      defaults(object) {
        const labelled = canonicalize(object);
        return labelled.status.phase ? labelled : withPhase(labelled, "Active");
      },
      canonicalize,
      prepareForCreate(object) {
        const { finalizers = [] } = object.spec;
        const complete = finalizers.includes(finalizer) ? finalizers : [...finalizers, finalizer];
        return { ...object, spec: { ...object.spec, finalizers: complete }, status: { phase: "Active" } };
      },
      // Only the subresource `finalize` changes the finalizers.
      prepareForUpdate: (object, old) => withField(object, "spec", old.spec),
      validate: (object) => validateFinalizers(object, () => finalizersPath),
      subresources: {
        status: { validateUpdate: validatePhase },
        finalize: {
          prepareForUpdate: (object, old) => withField(object, "status", old.status),
          validateUpdate: (object) => validateFinalizers(object, (index) => finalizersPath.index(index)),
        },
      },
      pendingFinalizers: ({ spec }) => spec.finalizers ?? [],
      terminate: (object) => withPhase(object, "Terminating"),
      isEnding: ({ metadata, spec }) => metadata.deletionTimestamp !== undefined && (spec.finalizers ?? []).length > 0,
      fields: ({ status }) => ({ "status.phase": status.phase ?? "" }),
    },
  };
}

const withPhase = (object: Namespace, phase: string): Namespace => ({ ...object, status: { ...object.status, phase } });

const finalizersPath = FieldPath.of("spec", "finalizers");

/** Returns findings about finalizers. Upstream: their path has an index for `/finalize`, and none for creates. */
function validateFinalizers({ spec }: Namespace, pathOf: (index: number) => FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  for (const [index, name] of (spec.finalizers ?? []).entries()) {
    const messages = qualifiedName(name);
    for (const message of messages) errors.push(invalid(pathOf(index), name, message));
    if (messages.length === 0 && !name.includes("/") && !standardFinalizers.has(name)) {
      const detail = "name is neither a standard finalizer name nor is it fully qualified";
      errors.push(invalid(pathOf(index), name, detail));
    }
  }
  return errors;
}

function validatePhase({ metadata, status: { phase = "" } }: Namespace): FieldError[] {
  const isEnding = metadata.deletionTimestamp !== undefined;
  if (phase === (isEnding ? "Terminating" : "Active")) return [];
  const detail = isEnding
    ? "may only be 'Terminating' if `deletionTimestamp` is not empty"
    : "may only be 'Active' if `deletionTimestamp` is empty";
  return [invalid(FieldPath.of("status", "Phase"), phase, detail)];
}
