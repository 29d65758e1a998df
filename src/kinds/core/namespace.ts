/**
 * Namespace: its phase, the finalizers of its content, and the label with its name. Emptying it is a controller's;
 * refusing content of one that is missing or ending is admission's.
 */
import { type FieldError, invalid } from "#meta/field-error.ts";
import { qualifiedName } from "#meta/names.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { ageColumn, nameColumn, text } from "../cells.ts";
import { objectField, textField, withField } from "../json-edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";

const finalizer = "kubernetes";
const standardFinalizers: ReadonlySet<string> = new Set([finalizer, "orphan", "foregroundDeletion"]);

export function namespaces(environment: KindEnvironment): KindBehaviour {
  const nameLabel = environment.domain.rename("kubernetes.io/metadata.name");
  const canonicalize = (object: Unstructured): Unstructured => {
    const name = object.metadata.name ?? "";
    if (name === "" || object.metadata.labels?.[nameLabel] === name) return object;
    return { ...object, metadata: { ...object.metadata, labels: { ...object.metadata.labels, [nameLabel]: name } } };
  };
  return {
    metadataRepeats: 1,
    columns: [
      nameColumn,
      text("Status", "Whether the namespace is in use or being deleted.", (object) => phaseOf(object)),
      ageColumn,
    ],
    strategy: {
      defaults(object) {
        const labelled = canonicalize(object);
        return phaseOf(labelled) === "" ? withPhase(labelled, "Active") : labelled;
      },
      canonicalize,
      prepareForCreate(object) {
        const finalizers = finalizersOf(object);
        const complete = finalizers.includes(finalizer) ? object : withFinalizers(object, [...finalizers, finalizer]);
        return withField(complete, "status", { phase: "Active" });
      },
      // Only the finalize subresource writes the finalizers.
      prepareForUpdate: (object, old) => withField(object, "spec", old["spec"]),
      validate: (object) => validateFinalizers(object, false),
      subresources: {
        status: { validateUpdate: validatePhase },
        finalize: {
          prepareForUpdate: (object, old) => withField(object, "status", old["status"]),
          validateUpdate: (object) => validateFinalizers(object, true),
        },
      },
      pendingFinalizers: finalizersOf,
      terminate: (object) => withPhase(object, "Terminating"),
      fields: (object) => ({ "status.phase": phaseOf(object) }),
    },
  };
}

const phaseOf = (object: Unstructured): string => textField(objectField(object, "status"), "phase");

function withPhase(object: Unstructured, phase: string): Unstructured {
  return { ...object, status: { ...objectField(object, "status"), phase } };
}

function finalizersOf(object: Unstructured): readonly string[] {
  const finalizers = objectField(object, "spec")?.["finalizers"];
  return Array.isArray(finalizers) ? (finalizers as readonly string[]) : []; // the schema says so
}

function withFinalizers(object: Unstructured, finalizers: readonly string[]): Unstructured {
  return { ...object, spec: { ...objectField(object, "spec"), finalizers } };
}

/** Upstream: the path has an index on `/finalize` and none on create. */
function validateFinalizers(object: Unstructured, indexed: boolean): FieldError[] {
  const errors: FieldError[] = [];
  for (const [index, name] of finalizersOf(object).entries()) {
    const field = indexed ? `spec.finalizers[${index}]` : "spec.finalizers";
    const messages = qualifiedName(name);
    for (const message of messages) errors.push(invalid(field, name, message));
    if (messages.length === 0 && !name.includes("/") && !standardFinalizers.has(name)) {
      errors.push(invalid(field, name, "name is neither a standard finalizer name nor is it fully qualified"));
    }
  }
  return errors;
}

function validatePhase(object: Unstructured): FieldError[] {
  const phase = phaseOf(object);
  const isEnding = object.metadata.deletionTimestamp !== undefined;
  if (phase === (isEnding ? "Terminating" : "Active")) return [];
  const detail = isEnding
    ? "may only be 'Terminating' if `deletionTimestamp` is not empty"
    : "may only be 'Active' if `deletionTimestamp` is empty";
  return [invalid("status.Phase", phase, detail)];
}
