/** Validates flow schemas and priority levels. Source: upstream's `apis/flowcontrol/validation`. */
import type {
  ExemptPriorityLevelConfiguration,
  FlowSchema,
  FlowSchemaSpec,
  LimitedPriorityLevelConfiguration,
  LimitResponse,
  NonResourcePolicyRule,
  PolicyRulesWithSubjects,
  PriorityLevelConfiguration,
  PriorityLevelConfigurationSpec,
  QueuingConfiguration,
  ResourcePolicyRule,
  ServiceAccountSubject,
  Subject,
} from "#api/flowcontrol/v1.ts";
import { bootstrapFlowControl, mandatoryNames } from "#api/bootstrap-flow-control.ts";
import { jsonEquals } from "#apply/json-value.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import {
  type FieldError,
  forbidden,
  goQuote,
  GoSyntax,
  goTexts,
  invalid,
  notSupported,
  required,
} from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { dns1123Label, dns1123Subdomain } from "#meta/names.ts";
import { addAll } from "#std/add-all.ts";
import { checkRequiredName, checkUnique } from "../checks.ts";

export type Check<T> = (object: T) => readonly FieldError[];

interface FlowControlChecks {
  readonly schema: Check<FlowSchema>;
  readonly level: Check<PriorityLevelConfiguration>;
  readonly status: Check<FlowSchema | PriorityLevelConfiguration>;
}

export function flowControlChecks(domain: ApiDomain): FlowControlChecks {
  const forbidden = domain.rename(keptZeroAnnotation);
  // The specs are made at the first write, so that they do not delay the start.
  let fixed: FixedSpecs | undefined;
  const mandatory = (): FixedSpecs => (fixed ??= fixedSpecs(domain));
  return {
    schema(object) {
      const { metadata, spec } = object;
      const { name = "" } = metadata;
      const wanted = mandatory().schemas.get(name);
      return [...validateSchema(name, spec), ...validateFixed(name, spec, wanted), ...validateStatus(object)];
    },
    level(object) {
      const { metadata, spec } = object;
      const { name = "" } = metadata;
      const wanted = mandatory().levels.get(name);
      return [
        ...validateAnnotations(object, forbidden),
        ...validateLevel(name, spec),
        ...(name === "exempt" ? validateExempt(spec, wanted) : validateFixed(name, spec, wanted)),
        ...validateStatus(object),
      ];
    },
    status: validateStatus,
  };
}

/** The required specs of mandatory objects, by name. */
interface FixedSpecs {
  readonly schemas: ReadonlyMap<string, object>;
  readonly levels: ReadonlyMap<string, object>;
}

function fixedSpecs(domain: ApiDomain): FixedSpecs {
  const byName = (objects: readonly (FlowSchema | PriorityLevelConfiguration)[]): ReadonlyMap<string, object> =>
    new Map(
      objects
        .filter(({ metadata }) => mandatoryNames.includes(metadata.name ?? ""))
        .map(({ metadata, spec }) => [metadata.name ?? "", spec]),
    );
  const { schemas, levels } = bootstrapFlowControl(domain);
  return { schemas: byName(schemas), levels: byName(levels) };
}

function validateFixed(name: string, spec: object, wanted: object | undefined): readonly FieldError[] {
  if (wanted === undefined || jsonEquals(spec, wanted)) return [];
  return [invalid(FieldPath.of("spec"), spec, `spec of '${name}' must equal the fixed value`)];
}

/** Returns findings about the exempt level: only its shares may change. */
function validateExempt(spec: PriorityLevelConfigurationSpec, wanted: object | undefined): readonly FieldError[] {
  if (wanted === undefined || jsonEquals({ ...spec, exempt: null }, { ...wanted, exempt: null })) return [];
  return [
    invalid(FieldPath.of("spec"), spec, "spec of 'exempt' except the 'spec.exempt' field must equal the fixed value"),
  ];
}

/** Upstream: this annotation distinguished zero shares from absent ones in a beta version. */
const keptZeroAnnotation = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";

function validateAnnotations({ metadata }: PriorityLevelConfiguration, annotation: string): readonly FieldError[] {
  if (metadata.annotations?.[annotation] === undefined) return [];
  return [forbidden(FieldPath.of("metadata", "annotations"), `annotation '${annotation}' is forbidden`)];
}

const conditionsPath = FieldPath.of("status", "conditions");

function validateStatus({ status }: FlowSchema | PriorityLevelConfiguration): readonly FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [index, { type = "" }] of (status.conditions ?? []).entries()) {
    const path = conditionsPath.index(index).child("type");
    checkUnique(type, seen, path, errors);
    if (type === "") errors.push(required(path, "must not be empty"));
  }
  return errors;
}

const precedenceMax = 10_000;

const rulesPath = FieldPath.of("spec", "rules");

function validateSchema(name: string, spec: FlowSchemaSpec): readonly FieldError[] {
  const errors: FieldError[] = [];
  const { matchingPrecedence: precedence, distinguisherMethod: method } = spec;
  const wrong = (detail: string) =>
    errors.push(invalid(FieldPath.of("spec", "matchingPrecedence"), precedence, detail));
  if (precedence <= 0) wrong("must be a positive value");
  if (precedence > precedenceMax) wrong(`must not be greater than ${precedenceMax}`);
  if (precedence === 1 && name !== "exempt") wrong("only the schema named 'exempt' may have matchingPrecedence 1");
  if (method !== undefined) {
    const knownTypes = ["ByNamespace", "ByUser"];
    // Upstream: the message shows the whole method.
    const shown = new GoSyntax(`flowcontrol.FlowDistinguisherMethod{Type:${goQuote(method.type)}}`);
    if (!knownTypes.includes(method.type))
      errors.push(notSupported(FieldPath.of("spec", "distinguisherMethod", "type"), shown, knownTypes));
  }
  const level = spec.priorityLevelConfiguration.name;
  const levelField = FieldPath.of("spec", "priorityLevelConfiguration", "name");
  checkRequiredName(level, dns1123Subdomain, levelField, errors, "must reference a priority level");
  for (const [index, rule] of (spec.rules ?? []).entries()) addAll(errors, validateRule(rule, rulesPath.index(index)));
  return errors;
}

function validateRule(rule: PolicyRulesWithSubjects, path: FieldPath): readonly FieldError[] {
  const errors: FieldError[] = [];
  const subjects = rule.subjects ?? [];
  const subjectsPath = path.child("subjects");
  if (subjects.length === 0) errors.push(required(subjectsPath, "subjects must contain at least one value"));
  for (const [index, subject] of subjects.entries()) {
    addAll(errors, validateSubject(subject, subjectsPath.index(index)));
  }
  const { resourceRules = [], nonResourceRules = [] } = rule;
  if (resourceRules.length + nonResourceRules.length === 0) {
    errors.push(required(path, "at least one of resourceRules and nonResourceRules has to be non-empty"));
  }
  for (const [index, one] of resourceRules.entries()) {
    addAll(errors, validateResourceRule(one, path.child("resourceRules").index(index)));
  }
  for (const [index, one] of nonResourceRules.entries()) {
    addAll(errors, validateNonResourceRule(one, path.child("nonResourceRules").index(index)));
  }
  return errors;
}

/** The members of a subject and their kinds, in upstream's order of checks. */
const members = [
  ["serviceAccount", "ServiceAccount"],
  ["user", "User"],
  ["group", "Group"],
] as const;

function validateSubject(subject: Subject, path: FieldPath): readonly FieldError[] {
  const { kind } = subject;
  const own = members.find(([, name]) => name === kind);
  if (own === undefined) return [notSupported(path.child("kind"), kind, ["Group", "ServiceAccount", "User"])];
  const [member] = own;
  const errors: FieldError[] = [];
  const ownPath = path.child(member);
  if (subject[member] === undefined) {
    errors.push(required(ownPath, `${member} is required when subject kind is '${kind}'`));
  } else if (member === "serviceAccount") addAll(errors, validateAccount(subject[member], ownPath));
  else if (subject[member].name === "") errors.push(required(ownPath.child("name")));
  for (const [other, otherKind] of members) {
    if (other !== member && subject[other] !== undefined) {
      errors.push(forbidden(path.child(other), `${other} is forbidden when subject kind is not '${otherKind}'`));
    }
  }
  return errors;
}

function validateAccount({ name, namespace }: ServiceAccountSubject, path: FieldPath): readonly FieldError[] {
  const errors: FieldError[] = [];
  if (name !== "*") checkRequiredName(name, dns1123Subdomain, path.child("name"), errors);
  const detail = "must specify namespace for service account";
  checkRequiredName(namespace, dns1123Label, path.child("namespace"), errors, detail);
  return errors;
}

const verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];

/** Checks that a list is not empty, and that a star is its only member. */
function validateList(
  list: readonly string[],
  path: FieldPath,
  [missing, others]: readonly [missing: string, others: string],
): FieldError[] {
  if (list.length === 0) return [required(path, missing)];
  if (list.length > 1 && list.includes("*")) {
    return [invalid(path, goTexts(list), `if '*' is present, must not specify other ${others}`)];
  }
  return [];
}

function validateVerbs(list: readonly string[], path: FieldPath): readonly FieldError[] {
  const errors = validateList(list, path, ["verbs must contain at least one value", "verbs"]);
  if (errors.length > 0 || list.includes("*") || list.every((verb) => verbs.includes(verb))) return errors;
  return [notSupported(path, goTexts(list), verbs)];
}

function validateResourceRule(rule: ResourcePolicyRule, path: FieldPath): readonly FieldError[] {
  const errors: FieldError[] = [
    ...validateVerbs(rule.verbs ?? [], path.child("verbs")),
    ...validateList(rule.apiGroups ?? [], path.child("apiGroups"), [
      "resource rules must supply at least one api group",
      "api groups",
    ]),
    ...validateList(rule.resources ?? [], path.child("resources"), [
      "resource rules must supply at least one resource",
      "resources",
    ]),
  ];
  const namespaces = rule.namespaces ?? [];
  const namespacesPath = path.child("namespaces");
  if (namespaces.length === 0) {
    if (rule.clusterScope === true) return errors;
    const detail = "resource rules that are not cluster scoped must supply at least one namespace";
    return [...errors, required(namespacesPath, detail)];
  }
  if (namespaces.includes("*")) {
    if (namespaces.length === 1) return errors;
    const detail = "if '*' is present, must not specify other namespaces";
    return [...errors, invalid(namespacesPath, goTexts(namespaces), detail)];
  }
  for (const [index, name] of namespaces.entries()) {
    for (const message of dns1123Label(name)) {
      const detail = `each member of this list must be '*' or a DNS-1123 label; ${message}`;
      errors.push(invalid(namespacesPath.index(index), name, detail));
    }
  }
  return errors;
}

function validateNonResourceRule(rule: NonResourcePolicyRule, path: FieldPath): readonly FieldError[] {
  const urls = rule.nonResourceURLs ?? [];
  const urlsPath = path.child("nonResourceURLs");
  const errors = [
    ...validateVerbs(rule.verbs ?? [], path.child("verbs")),
    ...validateList(urls, urlsPath, ["nonResourceURLs must contain at least one value", "non-resource URLs"]),
  ];
  if (urls.includes("*")) return errors;
  for (const [index, url] of urls.entries()) {
    const problem = urlProblem(url);
    if (problem !== "") errors.push(invalid(urlsPath.index(index), url, problem));
  }
  return errors;
}

function urlProblem(url: string): string {
  if (url === "") return "must not be empty";
  if (url === "/") return "";
  if (!url.startsWith("/")) return "must start with slash";
  if (url.includes(" ")) return "must not contain white-space";
  if (url.includes("//")) return "must not contain double slash";
  const stars = url.split("*").length - 1;
  return stars > 1 || (stars === 1 && !url.endsWith("/*")) ? "wildcard can only do suffix matching" : "";
}

const exemptPath = FieldPath.of("spec", "exempt");
const limitedPath = FieldPath.of("spec", "limited");

function validateLevel(name: string, { type, exempt, limited }: PriorityLevelConfigurationSpec): readonly FieldError[] {
  const errors: FieldError[] = [];
  if ((name === "exempt") !== (type === "Exempt")) {
    errors.push(invalid(FieldPath.of("spec", "type"), type, "type must be 'Exempt' if and only if name is 'exempt'"));
  }
  if (type === "Exempt") {
    if (limited !== undefined) errors.push(forbidden(limitedPath, "must be nil if the type is not Limited"));
    if (exempt !== undefined)
      errors.push(...validateShares(exempt, exemptPath), ...validateLendable(exempt, exemptPath));
  } else if (type === "Limited") {
    if (exempt !== undefined) errors.push(forbidden(exemptPath, "must be nil if the type is Limited"));
    if (limited === undefined) errors.push(required(limitedPath, "must not be empty when type is Limited"));
    else addAll(errors, validateLimited(limited, limitedPath));
  } else errors.push(notSupported(FieldPath.of("spec", "type"), type, ["Exempt", "Limited"]));
  return errors;
}

type Sharing = ExemptPriorityLevelConfiguration | LimitedPriorityLevelConfiguration;

function validateShares({ nominalConcurrencyShares }: Sharing, path: FieldPath): readonly FieldError[] {
  const shares = nominalConcurrencyShares ?? 0;
  if (shares >= 0) return [];
  return [invalid(path.child("nominalConcurrencyShares"), shares, "must be a non-negative integer")];
}

function validateLendable({ lendablePercent: lendable = 0 }: Sharing, path: FieldPath): readonly FieldError[] {
  if (lendable >= 0 && lendable <= 100) return [];
  return [invalid(path.child("lendablePercent"), lendable, "must be between 0 and 100, inclusive")];
}

function validateLimited(limited: LimitedPriorityLevelConfiguration, path: FieldPath): readonly FieldError[] {
  const errors = [
    ...validateShares(limited, path),
    ...validateResponse(limited.limitResponse, path.child("limitResponse")),
    ...validateLendable(limited, path),
  ];
  const { borrowingLimitPercent: borrowing = 0 } = limited;
  if (borrowing >= 0) return errors;
  const detail = "if specified, must be a non-negative integer";
  return [...errors, invalid(path.child("borrowingLimitPercent"), borrowing, detail)];
}

function validateResponse({ type, queuing }: LimitResponse, path: FieldPath): FieldError[] {
  if (type === "Reject") {
    const detail = "must be nil if limited.limitResponse.type is not Limited";
    return queuing === undefined ? [] : [forbidden(path.child("queuing"), detail)];
  }
  if (type !== "Queue") return [notSupported(path.child("type"), type, ["Queue", "Reject"])];
  if (queuing !== undefined) return validateQueuing(queuing, path.child("queuing"));
  return [required(path.child("queuing"), "must not be empty if limited.limitResponse.type is Limited")];
}

const queuesMax = 10_000_000;
/** The maximum number of bits of a hash that distinguish the hands. */
const entropyMax = 60;

function validateQueuing({ queueLengthLimit, queues, handSize }: QueuingConfiguration, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  if (queueLengthLimit <= 0) errors.push(invalid(path.child("queueLengthLimit"), queueLengthLimit, "must be positive"));
  if (queues <= 0) errors.push(invalid(path.child("queues"), queues, "must be positive"));
  else if (queues > queuesMax) {
    errors.push(invalid(path.child("queues"), queues, `must not be greater than ${queuesMax}`));
  }
  const wrong = (detail: string) => errors.push(invalid(path.child("handSize"), handSize, detail));
  if (handSize <= 0) wrong("must be positive");
  else if (handSize > queues) wrong(`should not be greater than queues (${queues})`);
  else {
    const bits = entropyBits(queues, handSize);
    if (bits > entropyMax) {
      wrong(
        `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${entropyMax}`,
      );
    }
  }
  return errors;
}

function entropyBits(queues: number, handSize: number): number {
  let bits = 0;
  for (let taken = 0; taken < handSize && bits <= entropyMax; taken++) bits += Math.log2(queues - taken);
  return Math.ceil(bits);
}
