/** DeviceClass, ResourceClaim and ResourceSlice: classes of devices, requests for devices, and available devices. */
import type { ResourceSlice as ResourceSliceV1Alpha3 } from "#api/resource/v1alpha3.ts";
import type { BasicDevice, Device, DeviceClass, ResourceClaim, ResourceSlice } from "#api/resource/v1beta1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, invalid } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import type { Conversion } from "#registry/resource-definition.ts";
import { ageColumn, nameColumn, text } from "../cells.ts";
import type { Errors } from "../checks.ts";
import { editField } from "../edit.ts";
import { expressionWeight } from "../expression-weight.ts";
import { type KindBehaviour, type KindEnvironment, withMetadataOf, keptByStatus } from "../generic.ts";
import { validateClaimStatus, withoutReleasedDevices } from "./claim-status.ts";
import { defaultClaimSpec, expressionsOf, validateClaimSpec } from "./device-claim.ts";
import { checkConfiguration, type CheckExpression, checkList, checkSelectors } from "./device-checks.ts";
import { withExpressionCheck } from "./device-selectors.ts";
import { validateSlice } from "./slice-validation.ts";

const classConfigsMax = 32;

const specPath = FieldPath.of("spec");

export function deviceClasses(): KindBehaviour<DeviceClass> {
  const ofClass = ({ spec: { selectors = [] } }: DeviceClass) => selectors.map(({ cel }) => cel?.expression);
  return {
    returnsDeleted: true,
    columns: [nameColumn, ageColumn],
    strategy: {
      weight: (object) => expressionWeight(ofClass(object)),
      checkRules: (object) => withExpressionCheck(ofClass(object), (check) => validateClass(object, check)),
    },
  };
}

function validateClass({ spec: { selectors, config } }: DeviceClass, checkExpression: CheckExpression): FieldError[] {
  const errors: Errors = [];
  checkSelectors(selectors, checkExpression, specPath.child("selectors"), errors);
  checkList(config, classConfigsMax, checkConfiguration, specPath.child("config"), errors);
  return errors;
}

export function resourceClaims({ gate }: KindEnvironment): KindBehaviour<ResourceClaim> {
  const hasDeviceStatus = gate("DRAResourceClaimDeviceStatus");
  return {
    returnsDeleted: true,
    columns: [nameColumn, text("State", "What has become of the claim.", stateText), ageColumn],
    strategy: {
      defaults: (object) => editField(object, "spec", defaultClaimSpec),
      weight: ({ spec }) => expressionWeight(expressionsOf(spec)),
      validateUpdate: ({ spec }, old) => immutableSpec(spec, old.spec),
      checkRules: ({ spec }) =>
        withExpressionCheck(expressionsOf(spec), (check) => validateClaimSpec(spec, specPath, check)),
      subresources: {
        status: {
          prepareForUpdate: (object, old) => {
            const claim = withMetadataOf(old, object, keptByStatus);
            const isUsed = hasDeviceStatus || (old.status.devices ?? []).length > 0;
            return isUsed ? withoutReleasedDevices(claim, old) : claim;
          },
          validateUpdate: validateClaimStatus,
        },
      },
    },
  };
}

/** Returns the finding about the spec of a claim or template, which never changes. */
export const immutableSpec = (spec: object, old: object): FieldError[] =>
  jsonEquals(spec, old) ? [] : [invalid(specPath, spec, "field is immutable")];

function stateText({ metadata, status: { allocation, reservedFor = [] } }: ResourceClaim): string {
  const isDeleted = metadata.deletionTimestamp !== undefined;
  const states = isDeleted ? ["deleted"] : [];
  if (allocation !== undefined) {
    states.push("allocated");
    if (reservedFor.length > 0) states.push("reserved");
  } else if (!isDeleted) states.push("pending");
  return states.join(",");
}

export const resourceSlices = (): KindBehaviour<ResourceSlice> => slices();

/**
 * Returns the behaviour of the older version, which has capacities as quantities; the stored version has an object for
 * each.
 */
export const resourceSlicesV1Alpha3 = (): KindBehaviour<ResourceSliceV1Alpha3, ResourceSlice> => ({
  ...slices<ResourceSliceV1Alpha3>(),
  conversion: sliceConversion,
});

/** Returns the behaviour that both versions share. */
function slices<T extends ResourceSlice | ResourceSliceV1Alpha3>(): Omit<KindBehaviour<T>, "conversion"> {
  return {
    returnsDeleted: true,
    columns: [
      nameColumn,
      text("Node", "Node that has the devices.", ({ spec }) => spec.nodeName ?? ""),
      text("Driver", "Driver of the devices.", ({ spec }) => spec.driver),
      text("Pool", "Pool that the devices belong to.", ({ spec }) => spec.pool.name),
      ageColumn,
    ],
    strategy: {
      validate: (object) => validateSlice(object, undefined),
      validateUpdate: validateSlice,
      fields: ({ spec }) => ({ "spec.nodeName": spec.nodeName ?? "", "spec.driver": spec.driver }),
    },
  };
}

const sliceConversion: Conversion<ResourceSliceV1Alpha3, ResourceSlice> = {
  toHub: (slice) => {
    const devices = slice.spec.devices?.map((device) => withCapacities(device, (value) => ({ value })));
    return { ...slice, spec: { ...slice.spec, devices: devices ?? null } };
  },
  fromHub: (slice) => {
    const devices = slice.spec.devices?.map((device) => withCapacities(device, ({ value }) => value));
    return { ...slice, spec: { ...slice.spec, devices: devices ?? null } };
  },
};

/** A device of either version. */
interface DeviceWith<Capacity> extends Omit<Device, "basic"> {
  readonly basic?: Omit<BasicDevice, "capacity"> & { readonly capacity?: Readonly<Record<string, Capacity>> };
}

function withCapacities<From, To>(device: DeviceWith<From>, change: (capacity: From) => To): DeviceWith<To> {
  const { basic, ...rest } = device;
  if (basic === undefined) return rest;
  const { capacity, ...attributes } = basic;
  if (capacity === undefined) return { ...rest, basic: attributes };
  const changed = Object.fromEntries(Object.entries(capacity).map(([name, value]) => [name, change(value)]));
  return { ...rest, basic: { ...attributes, capacity: changed } };
}
