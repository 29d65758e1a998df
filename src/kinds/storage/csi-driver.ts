/** CSIDriver: the capabilities and requirements of a storage driver. */
import type { CSIDriver, CSIDriverSpec, TokenRequest } from "#api/storage/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { duplicate, type FieldError, goTexts, invalid } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { nextGeneration } from "#meta/object-meta.ts";
import { nearestNumber } from "#std/int64.ts";
import { ageColumn, flag, nameColumn, text } from "../cells.ts";
import { checkOneOf, checkOptionalOneOf, type Errors } from "../checks.ts";
import { editField, fillAbsent, withField } from "../edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";

export function csiDrivers({ gate }: KindEnvironment): KindBehaviour<CSIDriver> {
  const hasSeLinuxMount = gate("SELinuxMountReadWriteOncePod");
  return {
    nameRule: "dns1123subdomain",
    generation: false,
    returnsDeleted: true,
    columns: [
      nameColumn,
      flag(
        "AttachRequired",
        "Whether volumes are attached before they are mounted.",
        ({ spec }) => spec.attachRequired ?? true,
      ),
      flag("PodInfoOnMount", "Whether the driver is told about the pod.", ({ spec }) => spec.podInfoOnMount ?? false),
      flag(
        "StorageCapacity",
        "Whether the driver says how much room there is.",
        ({ spec }) => spec.storageCapacity ?? false,
      ),
      text(
        "TokenRequests",
        "For whom the driver gets tokens.",
        ({ spec }) => spec.tokenRequests?.map(({ audience }) => audience).join(",") ?? "<unset>",
      ),
      flag(
        "RequiresRepublish",
        "Whether volumes are published again and again.",
        ({ spec }) => spec.requiresRepublish ?? false,
      ),
      text(
        "Modes",
        "Which lives of volumes the driver supports.",
        ({ spec }) => spec.volumeLifecycleModes?.join(",") || "<none>",
      ),
      ageColumn,
    ],
    strategy: {
      defaults: (object) => editField(object, "spec", (spec) => defaultDriver(spec, hasSeLinuxMount)),
      // Upstream: a new object has no generation, and each change of the spec increases it.
      prepareForUpdate: (object, old) => (jsonEquals(object.spec, old.spec) ? object : withNextGeneration(object)),
      validate: ({ spec }) => validateDriver(spec),
      validateUpdate: ({ spec }, old) => [...validateDriver(spec), ...validateDriverUpdate(spec, old.spec)],
    },
  };
}

function defaultDriver(spec: CSIDriverSpec, hasSeLinuxMount: boolean): CSIDriverSpec {
  const next = fillAbsent(spec, {
    attachRequired: true,
    podInfoOnMount: false,
    storageCapacity: false,
    fsGroupPolicy: "ReadWriteOnceWithFSType",
    requiresRepublish: false,
    ...(hasSeLinuxMount ? { seLinuxMount: false } : {}),
  });
  const { volumeLifecycleModes: modes = [] } = next;
  return modes.length > 0 ? next : withField(next, "volumeLifecycleModes", ["Persistent"]);
}

const withNextGeneration = (object: CSIDriver): CSIDriver => ({
  ...object,
  metadata: { ...object.metadata, generation: nextGeneration(object.metadata) },
});

const specPath = FieldPath.of("spec");
const modesPath = specPath.child("volumeLifecycleModes");
const groupPolicies = ["File", "None", "ReadWriteOnceWithFSType"];
const lifecycleModes = ["Persistent", "Ephemeral"];

function validateDriver({ fsGroupPolicy, tokenRequests, volumeLifecycleModes }: CSIDriverSpec): FieldError[] {
  const errors: FieldError[] = [];
  checkOptionalOneOf(fsGroupPolicy, groupPolicies, specPath.child("fsGroupPolicy"), errors);
  checkTokenRequests(tokenRequests, specPath.child("tokenRequests"), errors);
  for (const mode of volumeLifecycleModes ?? []) checkOneOf(mode, lifecycleModes, modesPath, errors);
  return errors;
}

/** Checks the requested tokens: one for each audience, valid for at least ten minutes. */
function checkTokenRequests(requests: readonly TokenRequest[] = [], path: FieldPath, errors: Errors): void {
  const audiences = new Set<string>();
  for (const [i, { audience, expirationSeconds: seconds }] of requests.entries()) {
    const at = path.index(i);
    if (audiences.has(audience)) {
      errors.push(duplicate(at.child("audience"), audience));
      continue;
    }
    audiences.add(audience);
    if (seconds === undefined) continue;
    if (nearestNumber(seconds) < 600) {
      const detail = "may not specify a duration less than 10 minutes";
      errors.push(invalid(at.child("expirationSeconds"), seconds, detail));
    }
    if (nearestNumber(seconds) > 2 ** 32) {
      const detail = "may not specify a duration larger than 2^32 seconds";
      errors.push(invalid(at.child("expirationSeconds"), seconds, detail));
    }
  }
}

function validateDriverUpdate(spec: CSIDriverSpec, old: CSIDriverSpec): FieldError[] {
  const errors: FieldError[] = [];
  // Upstream: messages have another name for the field.
  if (spec.attachRequired !== old.attachRequired) {
    errors.push(invalid(specPath.child("attachedRequired"), spec.attachRequired, "field is immutable"));
  }
  const { volumeLifecycleModes: modes = [] } = spec;
  if (!jsonEquals(modes, old.volumeLifecycleModes ?? [])) {
    const shown = goTexts(modes, "storage.VolumeLifecycleMode");
    errors.push(invalid(modesPath, shown, "field is immutable"));
  }
  return errors;
}
