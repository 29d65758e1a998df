/** The status of resource claims: the allocated devices and their users. Source: upstream's `pkg/apis/resource`. */
import type {
  AllocatedDeviceStatus,
  AllocationResult,
  DeviceAllocationConfiguration,
  DeviceRequestAllocationResult,
  NetworkDeviceData,
  ResourceClaim,
  ResourceClaimConsumerReference,
} from "#api/resource/v1beta1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, forbidden, GoSyntax, invalid, tooMany } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { cidr, parseIpRange } from "#meta/ip-range.ts";
import { parseIp, printIp } from "#meta/ip-address.ts";
import { dns1123Label } from "#meta/names.ts";
import { addAll } from "#std/add-all.ts";
import { checkName, checkRequiredOneOf, type Errors } from "../checks.ts";
import { validateConditions } from "../conditions.ts";
import { checkDriverName } from "../core/pod-validation/volume-sources.ts";
import { checkNodeSelectorWithValues } from "../core/pod-validation/scheduling.ts";
import { withField } from "../edit.ts";
import { checkRequestNames, checkRequestReference, requestNames } from "./device-claim.ts";
import {
  checkAllRequired,
  checkConfiguration,
  checkData,
  checkDistinct,
  checkLength,
  checkList,
  checkPoolName,
} from "./device-checks.ts";

const usersMax = 256;
const resultsMax = 32;
const configsMax = 64;
const conditionsMax = 8;
const addressesMax = 16;
const interfaceBytesMax = 256;
const hardwareAddressBytesMax = 128;
const configSources = ["FromClaim", "FromClass"];

const statusPath = FieldPath.of("status");

type DeviceReference = Pick<AllocatedDeviceStatus, "driver" | "pool" | "device">;

const idOf = ({ driver, pool, device }: DeviceReference): string => `${driver}/${pool}/${device}`;

const idsOf = (allocation: AllocationResult | undefined): ReadonlySet<string> =>
  new Set((allocation?.devices.results ?? []).map(idOf));

/** Returns the claim without the status of devices that were allocated before and are not any more. */
export function withoutReleasedDevices(claim: ResourceClaim, old: ResourceClaim): ResourceClaim {
  const { devices, allocation } = claim.status;
  if (devices === undefined) return claim;
  const before = idsOf(old.status.allocation);
  const now = idsOf(allocation);
  const kept = devices.filter((device) => now.has(idOf(device)) || !before.has(idOf(device)));
  if (kept.length === devices.length && kept.length > 0) return claim;
  return { ...claim, status: withField(claim.status, "devices", kept.length === 0 ? undefined : kept) };
}

export function validateClaimStatus(claim: ResourceClaim, old: ResourceClaim): FieldError[] {
  const { allocation, reservedFor = [], devices } = claim.status;
  const errors: Errors = [];
  const usersPath = statusPath.child("reservedFor");
  const checkUser = ({ resource, name, uid }: ResourceClaimConsumerReference, path: FieldPath): void =>
    checkAllRequired({ resource, name, uid }, path, errors);
  checkList(reservedFor, usersMax, checkUser, usersPath, errors);
  checkDistinct(reservedFor, ({ uid }) => uid, usersPath, errors, { part: "uid" });
  const allocated = idsOf(allocation);
  const checkDevice = (device: AllocatedDeviceStatus, path: FieldPath): void =>
    checkDeviceStatus(device, allocated, path, errors);
  checkList(devices, Number.POSITIVE_INFINITY, checkDevice, statusPath.child("devices"), errors);
  checkDistinct(devices, idOf, statusPath.child("devices"), errors, {
    part: "deviceID",
    shown: (id) => new GoSyntax(id),
  });
  if (reservedFor.length > 0) checkReservation(claim, old, usersPath, errors);
  checkAllocation(claim, old, errors);
  return errors;
}

function checkReservation(claim: ResourceClaim, old: ResourceClaim, path: FieldPath, errors: Errors): void {
  const { allocation, reservedFor = [] } = claim.status;
  if (allocation === undefined) {
    errors.push(forbidden(path, "may not be specified when `allocated` is not set"));
  } else if (claim.metadata.deletionTimestamp !== undefined) {
    const before = old.status.reservedFor ?? [];
    if (reservedFor.every((user) => before.some((one) => jsonEquals(one, user)))) return;
    const detail = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set";
    errors.push(forbidden(path, detail));
  }
}

function checkAllocation(claim: ResourceClaim, old: ResourceClaim, errors: Errors): void {
  const { allocation } = claim.status;
  const before = old.status.allocation;
  if (allocation === undefined) return;
  const path = statusPath.child("allocation");
  if (before !== undefined) {
    if (!jsonEquals(allocation, before)) errors.push(invalid(path, allocation, "field is immutable"));
    return;
  }
  const names = requestNames(claim.spec);
  const { devices, nodeSelector } = allocation;
  const at = path.child("devices");
  const checkResult = (result: DeviceRequestAllocationResult, resultPath: FieldPath): void => {
    checkRequestReference(result.request, names, resultPath.child("request"), errors);
    checkDeviceReference(result, resultPath, errors);
  };
  checkList(devices.results, resultsMax, checkResult, at.child("results"), errors);
  const checkConfig = (config: DeviceAllocationConfiguration, configPath: FieldPath): void => {
    checkRequiredOneOf(config.source, configSources, configPath.child("source"), errors);
    checkRequestNames(config.requests, names, configPath.child("requests"), errors);
    checkConfiguration(config, configPath, errors);
  };
  checkList(devices.config, configsMax, checkConfig, at.child("config"), errors);
  if (nodeSelector !== undefined) checkNodeSelectorWithValues(nodeSelector, path.child("nodeSelector"), errors);
}

function checkDeviceReference({ driver, pool, device }: DeviceReference, path: FieldPath, errors: Errors): void {
  checkDriverName(driver, path.child("driver"), errors);
  checkPoolName(pool, path.child("pool"), errors);
  checkName(device, dns1123Label, path.child("device"), errors);
}

function checkDeviceStatus(
  device: AllocatedDeviceStatus,
  allocated: ReadonlySet<string>,
  path: FieldPath,
  errors: Errors,
): void {
  checkDeviceReference(device, path, errors);
  const id = idOf(device);
  if (!allocated.has(id)) errors.push(invalid(path, new GoSyntax(id), "must be an allocated device in the claim"));
  const conditions = device.conditions ?? [];
  const at = path.child("conditions");
  if (conditions.length > conditionsMax) errors.push(tooMany(at, conditions.length, conditionsMax));
  addAll(errors, validateConditions(conditions, at));
  if (device.data !== undefined && device.data !== null) checkData(device.data, path.child("data"), errors);
  if (device.networkData !== undefined) checkNetworkData(device.networkData, path.child("networkData"), errors);
}

function checkNetworkData(data: NetworkDeviceData, path: FieldPath, errors: Errors): void {
  checkLength(data.interfaceName, interfaceBytesMax, path.child("interfaceName"), errors);
  checkLength(data.hardwareAddress, hardwareAddressBytesMax, path.child("hardwareAddress"), errors);
  const at = path.child("ips");
  checkList(data.ips, addressesMax, (text, ipPath) => checkName(text, cidr, ipPath, errors), at, errors);
  checkDistinct(data.ips, canonicalAddress, at, errors);
}

/** Returns an address and the length of its prefix in one form; invalid ones are all empty. */
function canonicalAddress(text: string): string {
  if (parseIpRange(text) === undefined) return "";
  const slash = text.indexOf("/");
  return `${printIp(parseIp(text.slice(0, slash))!)}${text.slice(slash)}`; // the range has an address
}
