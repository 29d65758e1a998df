/** Validates resource slices of both versions. Source: upstream's `pkg/apis/resource/validation`. */
import type { ResourceSlice as ResourceSliceV1Alpha3 } from "#api/resource/v1alpha3.ts";
import type { DeviceAttribute, ResourcePool, ResourceSlice } from "#api/resource/v1beta1.ts";
import { type FieldError, invalid, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { dns1123Label, dns1123Subdomain } from "#meta/names.ts";
import { nearestNumber } from "#std/int64.ts";
import { checkName, type Errors } from "../checks.ts";
import { checkNodeSelectorWithValues } from "../core/pod-validation/scheduling.ts";
import { checkDriverName } from "../core/pod-validation/volume-sources.ts";
import { validateImmutable } from "../immutable.ts";
import { checkAttributeName, checkDistinct, checkLength, checkList, checkPoolName } from "./device-checks.ts";

type Slice = ResourceSlice | ResourceSliceV1Alpha3;
type SliceDevice = NonNullable<Slice["spec"]["devices"]>[number];

const devicesMax = 128;
const propertiesMax = 32;
const valueBytesMax = 64;
const shownKeyMax = 96;
const oneOfNodes = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required";
const oneValue = "exactly one value must be specified";
/** A version by semver.org 2.0.0. */
const semanticVersion =
  /^(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}(?:-(?:0|[1-9]\d*|\d*[a-zA-Z-][\da-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][\da-zA-Z-]*))*)?(?:\+[\da-zA-Z-]+(?:\.[\da-zA-Z-]+)*)?$/;

const specPath = FieldPath.of("spec");

/** Returns findings about a slice; `old` is `undefined` for a create. */
export function validateSlice({ spec }: Slice, old: Slice | undefined): FieldError[] {
  const errors: Errors = [];
  checkDriverName(spec.driver, specPath.child("driver"), errors);
  checkPool(spec.pool, specPath.child("pool"), errors);
  if (old !== undefined) {
    errors.push(...validateImmutable(spec.pool, old.spec.pool, ["name"], specPath.child("pool")));
    errors.push(...validateImmutable(fixedPart(spec), fixedPart(old.spec), ["driver", "nodeName"], specPath));
  }
  checkNodes(spec, errors);
  const at = specPath.child("devices");
  checkList<SliceDevice>(spec.devices, devicesMax, checkDevice, at, errors);
  checkDistinct<SliceDevice>(spec.devices, ({ name }) => name, at, errors, { part: "name" });
  return errors;
}

const fixedPart = ({ driver, nodeName = "" }: Slice["spec"]) => ({ driver, nodeName });

function checkPool({ name, generation, resourceSliceCount }: ResourcePool, path: FieldPath, errors: Errors): void {
  checkPoolName(name, path.child("name"), errors);
  if (nearestNumber(resourceSliceCount) <= 0) {
    errors.push(invalid(path.child("resourceSliceCount"), resourceSliceCount, "must be greater than zero"));
  }
  if (nearestNumber(generation) < 0) {
    errors.push(invalid(path.child("generation"), generation, "must be greater than or equal to zero"));
  }
}

function checkNodes({ nodeName, nodeSelector, allNodes }: Slice["spec"], errors: Errors): void {
  if (nodeName) checkName(nodeName, dns1123Subdomain, specPath.child("nodeName"), errors);
  if (nodeSelector !== undefined) {
    const at = specPath.child("nodeSelector");
    checkNodeSelectorWithValues(nodeSelector, at, errors);
    const terms = nodeSelector.nodeSelectorTerms ?? [];
    if (terms.length !== 1) {
      errors.push(invalid(at.child("nodeSelectorTerms"), terms, "must have exactly one node selector term"));
    }
  }
  const count = Number(Boolean(nodeName)) + Number(nodeSelector !== undefined) + Number(allNodes === true);
  if (count === 0) errors.push(required(specPath, oneOfNodes));
  if (count > 1) errors.push(invalid(specPath, null, oneOfNodes));
}

function checkDevice({ name, basic }: SliceDevice, path: FieldPath, errors: Errors): void {
  checkName(name, dns1123Label, path.child("name"), errors);
  const at = path.child("basic");
  if (basic === undefined) {
    errors.push(required(at));
    return;
  }
  const { attributes = {}, capacity = {} } = basic;
  for (const [key, attribute] of Object.entries(attributes)) {
    const keyPath = at.child("attributes").key(shownKey(key));
    checkAttributeName(key, keyPath, errors);
    checkAttribute(attribute, keyPath, errors);
  }
  for (const key of Object.keys(capacity)) {
    checkAttributeName(key, at.child("capacity").key(shownKey(key)), errors);
  }
  const count = Object.keys(attributes).length + Object.keys(capacity).length;
  if (count > propertiesMax) {
    const detail = `the total number of attributes and capacities must not exceed ${propertiesMax}`;
    errors.push(invalid(at, count, detail));
  }
}

/** Returns a key as paths show it: of a long one the beginning and the end. */
function shownKey(key: string): string {
  const bytes = Buffer.from(key);
  if (bytes.length <= shownKeyMax) return key;
  const left = shownKeyMax - 3;
  return `${bytes.subarray(0, Math.ceil(left / 2)).toString()}...${bytes.subarray(-Math.floor(left / 2)).toString()}`;
}

function checkAttribute(attribute: DeviceAttribute, path: FieldPath, errors: Errors): void {
  const { bool, int, string, version } = attribute;
  checkLength(string, valueBytesMax, path.child("string"), errors);
  if (version !== undefined && !semanticVersion.test(version)) {
    const detail = "must be a string compatible with semver.org spec 2.0.0";
    errors.push(invalid(path.child("version"), version, detail));
  }
  checkLength(version, valueBytesMax, path.child("version"), errors);
  const count = [bool, int, string, version].filter((value) => value !== undefined).length;
  if (count === 0) errors.push(required(path, oneValue));
  if (count > 1) errors.push(invalid(path, attribute, oneValue));
}
