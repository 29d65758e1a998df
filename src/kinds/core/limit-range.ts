/** LimitRange: limits and defaults for resources of pods and claims in a namespace. Admission enforces them. */
import type { LimitRange, LimitRangeItem } from "#api/core/v1.ts";
import { type FieldError, forbidden, invalid, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { qualifiedName } from "#meta/names.ts";
import { compareQuantities, integerQuantity, parseQuantity, type Quantity } from "#meta/quantity.ts";
import { addAll } from "#std/add-all.ts";
import { editField, editItems, fillAbsent, withField } from "../edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { roundAmounts } from "./amounts.ts";
import {
  isNative,
  type OwnPrefix,
  ownPrefix,
  validateContainerResourceName,
  validateResourceName,
} from "./resource-names.ts";
import { checkUnique } from "../checks.ts";

export function limitRanges({ domain }: KindEnvironment): KindBehaviour<LimitRange> {
  const own = ownPrefix(domain);
  return {
    strategy: {
      defaults: (object) => editField(object, "spec", (spec) => editItems(spec, "limits", defaultItem)),
      validate: (object) => validate(object, own),
      validateUpdate: (object) => validate(object, own),
    },
  };
}

const amounts = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] as const;

/**
 * Rounds the amounts. Default limits of containers default to the maximum, default requests to the default limits and
 * then to the minimum.
 */
function defaultItem(input: LimitRangeItem): LimitRangeItem {
  const item = amounts.reduce((next, name) => editField(next, name, roundAmounts), input);
  if (item.type !== "Container") return item;
  const limits = fillAbsent(item.default ?? {}, item.max ?? {});
  const requests = fillAbsent(fillAbsent(item.defaultRequest ?? {}, limits), item.min ?? {});
  return withField(withField(item, "default", amountsOrNone(limits)), "defaultRequest", amountsOrNone(requests));
}

const amountsOrNone = <T extends object>(amounts: T): T | undefined =>
  Object.keys(amounts).length === 0 ? undefined : amounts;

const limitsPath = FieldPath.of("spec", "limits");
const types = ["Pod", "Container", "PersistentVolumeClaim"];

function validate({ spec: { limits } }: LimitRange, own: OwnPrefix): FieldError[] {
  const seen = new Set<string>();
  return (limits ?? []).flatMap((item, index) => {
    const path = limitsPath.index(index);
    const errors = validateType(item.type, path.child("type"));
    checkUnique(item.type, seen, path.child("type"), errors);
    return [...errors, ...validateItem(item, path, own)];
  });
}

function validateType(type: string, path: FieldPath): FieldError[] {
  const errors = qualifiedName(type).map((message) => invalid(path, type, message));
  if (errors.length > 0 || type.includes("/") || types.includes(type)) return errors;
  return [invalid(path, type, "must be a standard limit type or fully qualified")];
}

function validateItem(item: LimitRangeItem, path: FieldPath, own: OwnPrefix): FieldError[] {
  const { type, min = {}, max = {} } = item;
  const isOfContainers = type === "Pod" || type === "Container";
  const errors: FieldError[] = [];
  const names = new Set<string>();
  const read = (field: Exclude<keyof LimitRangeItem, "type">): void => {
    for (const name of Object.keys(item[field] ?? {})) {
      const at = path.child(field).key(name);
      addAll(errors, isOfContainers ? validateContainerResourceName(name, at, own) : validateResourceName(name, at));
      names.add(name);
    }
  };
  read("max");
  read("min");
  for (const field of ["default", "defaultRequest"] as const) {
    if (type !== "Pod") read(field);
    else if (Object.keys(item[field] ?? {}).length > 0) {
      errors.push(forbidden(path.child(field), "may not be specified when `type` is 'Pod'"));
    }
  }
  if (type === "PersistentVolumeClaim" && min["storage"] === undefined && max["storage"] === undefined) {
    const detail = "either minimum or maximum storage value is required, but neither was provided";
    errors.push(required(path.child("limits"), detail));
  }
  read("maxLimitRequestRatio");
  for (const name of names) addAll(errors, validateBounds(item, name, path, own));
  return errors;
}

/**
 * Returns findings about the bounds of a resource: minimum, default request, default limit and maximum must be in
 * ascending order.
 */
function validateBounds(item: LimitRangeItem, name: string, path: FieldPath, own: OwnPrefix): FieldError[] {
  const isPod = item.type === "Pod";
  const of = (list: Readonly<Record<string, string>> | undefined): Amount | undefined => {
    const text = list !== undefined && Object.hasOwn(list, name) ? list[name] : undefined;
    const quantity = text === undefined ? undefined : parseQuantity(text);
    return text === undefined || quantity === undefined ? undefined : { text, quantity };
  };
  const [min, max, ratio] = [of(item.min), of(item.max), of(item.maxLimitRequestRatio)];
  const limit = isPod ? undefined : of(item.default);
  const request = isPod ? undefined : of(item.defaultRequest);
  const errors: FieldError[] = [];
  const find = (field: string, { text }: Amount, detail: string): void => {
    errors.push(invalid(path.child(field).key(name), text, detail));
  };
  const inOrder = (field: string, shown: Amount | undefined, low: Bound, high: Bound): void => {
    const [[what, less], [other, more]] = [low, high];
    if (shown === undefined || less === undefined || more === undefined || compare(less, more) <= 0) return;
    find(field, shown, `${what} value ${less.text} is greater than ${other} value ${more.text}`);
  };
  inOrder("min", min, ["min", min], ["max", max]);
  inOrder("defaultRequest", request, ["min", min], ["default request", request]);
  inOrder("defaultRequest", request, ["default request", request], ["max", max]);
  inOrder("defaultRequest", request, ["default request", request], ["default limit", limit]);
  inOrder("default", min, ["min", min], ["default", limit]);
  inOrder("default", limit, ["default", limit], ["max", max]);
  if (ratio !== undefined) {
    for (const detail of ratioProblems(ratio, min, max)) find("maxLimitRequestRatio", ratio, detail);
  }
  const isShared = isNative(name, own) && !name.startsWith("hugepages-");
  if (!isShared && limit !== undefined && request !== undefined && compare(limit, request) !== 0) {
    const detail = `default value ${limit.text} must equal to defaultRequest value ${request.text} in ${name}`;
    find("defaultRequest", request, detail);
  }
  return errors;
}

interface Amount {
  /** The text as stored. */
  readonly text: string;
  readonly quantity: Quantity;
}

type Bound = readonly [name: string, value: Amount | undefined];

const compare = (a: Amount, b: Amount): number => compareQuantities(a.quantity, b.quantity);

const one: Quantity = { unscaled: 1n, exponent: 0, format: "decimalSI" };
/** The bound below which numbers can be multiplied by a thousand in 64 bits. */
const milliMax = (1n << 63n) / 1000n - 1n;

function* ratioProblems(ratio: Amount, min: Amount | undefined, max: Amount | undefined): Generator<string> {
  if (compareQuantities(ratio.quantity, one) < 0) yield `ratio ${ratio.text} is less than 1`;
  if (min === undefined || max === undefined) return;
  const isSmall = [ratio, min, max].every(({ quantity }) => integerQuantity(quantity, "whole") < milliMax);
  const valueOf = ({ quantity }: Amount): number => Number(integerQuantity(quantity, isSmall ? "milli" : "whole"));
  const limit = valueOf(max) / valueOf(min);
  const allowed = isSmall ? limit * 1000 : limit;
  if (valueOf(ratio) > allowed) yield `ratio ${ratio.text} is greater than max/min = ${limit.toFixed(6)}`;
}
