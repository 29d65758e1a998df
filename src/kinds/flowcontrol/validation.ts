/** What a flow schema and a priority level must say. Source: upstream's `apis/flowcontrol/validation`. */
import { bootstrapFlowControl, mandatoryNames } from "#api/bootstrap-flow-control.ts";
import { jsonEquals } from "#apply/json-value.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import {
  duplicate,
  type FieldError,
  forbidden,
  goQuote,
  GoSyntax,
  goTexts,
  invalid,
  notSupported,
  required,
} from "#meta/field-error.ts";
import { dns1123Label, dns1123Subdomain } from "#meta/names.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { isAbsent, type Json, listField, noFields, numberField, objectField, textField } from "../json-edit.ts";

export type Check = (object: Unstructured) => readonly FieldError[];

export interface FlowControlChecks {
  readonly schema: Check;
  readonly level: Check;
  /** Of either kind. */
  readonly status: Check;
}

export function flowControlChecks(domain: ApiDomain): FlowControlChecks {
  const forbidden = domain.rename(keptZeroAnnotation);
  // Made when the first object is written, which is after the start.
  let fixed: { readonly schemas: ReadonlyMap<string, Json>; readonly levels: ReadonlyMap<string, Json> } | undefined;
  const mandatory = () => {
    if (fixed === undefined) {
      const { schemas, levels } = bootstrapFlowControl(domain);
      fixed = { schemas: specsByName(schemas), levels: specsByName(levels) };
    }
    return fixed;
  };
  return {
    schema(object) {
      const spec = objectField(object, "spec") ?? noFields;
      const name = object.metadata.name ?? "";
      const wanted = mandatory().schemas.get(name);
      return [...validateSchema(name, spec), ...validateFixed(name, spec, wanted), ...validateStatus(object)];
    },
    level(object) {
      const spec = objectField(object, "spec") ?? noFields;
      const name = object.metadata.name ?? "";
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

const specsByName = (objects: readonly Unstructured[]): ReadonlyMap<string, Json> =>
  new Map(
    objects
      .filter(({ metadata }) => mandatoryNames.includes(metadata.name ?? ""))
      .map((object) => [object.metadata.name ?? "", objectField(object, "spec") ?? noFields]),
  );

function validateFixed(name: string, spec: Json, wanted: Json | undefined): readonly FieldError[] {
  if (wanted === undefined || jsonEquals(spec, wanted)) return [];
  return [fixedError(spec, `spec of '${name}' must equal the fixed value`)];
}

/** The shares of the exempt level may be changed. */
function validateExempt(spec: Json, wanted: Json | undefined): readonly FieldError[] {
  if (wanted === undefined || jsonEquals({ ...spec, exempt: null }, { ...wanted, exempt: null })) return [];
  return [fixedError(spec, "spec of 'exempt' except the 'spec.exempt' field must equal the fixed value")];
}

const fixedError = (spec: Json, detail: string): FieldError => invalid("spec", spec, detail);

/** Upstream: told a beta version's shares of zero from none. */
const keptZeroAnnotation = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";

function validateAnnotations({ metadata }: Unstructured, annotation: string): readonly FieldError[] {
  if (metadata.annotations?.[annotation] === undefined) return [];
  return [forbidden("metadata.annotations", `annotation '${annotation}' is forbidden`)];
}

function validateStatus(object: Unstructured): readonly FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [index, condition] of listField(objectField(object, "status") ?? noFields, "conditions").entries()) {
    const type = textField(condition, "type");
    const field = `status.conditions[${index}].type`;
    if (seen.has(type)) errors.push(duplicate(field, type));
    seen.add(type);
    if (type === "") errors.push(required(field, "must not be empty"));
  }
  return errors;
}

const precedenceMax = 10_000;

function validateSchema(name: string, spec: Json): readonly FieldError[] {
  const errors: FieldError[] = [];
  const precedence = numberField(spec, "matchingPrecedence");
  const wrong = (detail: string) => errors.push(invalid("spec.matchingPrecedence", precedence, detail));
  if (precedence <= 0) wrong("must be a positive value");
  if (precedence > precedenceMax) wrong(`must not be greater than ${precedenceMax}`);
  if (precedence === 1 && name !== "exempt") wrong("only the schema named 'exempt' may have matchingPrecedence 1");
  const method = objectField(spec, "distinguisherMethod");
  if (method !== undefined) {
    const type = textField(method, "type");
    const known = ["ByNamespace", "ByUser"];
    // Upstream: shows all of it.
    const shown = new GoSyntax(`flowcontrol.FlowDistinguisherMethod{Type:${goQuote(type)}}`);
    if (!known.includes(type)) errors.push(notSupported("spec.distinguisherMethod.type", shown, known));
  }
  const level = textField(objectField(spec, "priorityLevelConfiguration"), "name");
  const levelField = "spec.priorityLevelConfiguration.name";
  if (level === "") errors.push(required(levelField, "must reference a priority level"));
  else errors.push(...dns1123Subdomain(level).map((message) => invalid(levelField, level, message)));
  for (const [index, rule] of listField(spec, "rules").entries()) {
    errors.push(...validateRule(rule, `spec.rules[${index}]`));
  }
  return errors;
}

function validateRule(rule: Json, field: string): readonly FieldError[] {
  const errors: FieldError[] = [];
  const subjects = listField(rule, "subjects");
  if (subjects.length === 0) errors.push(required(`${field}.subjects`, "subjects must contain at least one value"));
  for (const [index, subject] of subjects.entries()) {
    errors.push(...validateSubject(subject, `${field}.subjects[${index}]`));
  }
  const resourceRules = listField(rule, "resourceRules");
  const nonResourceRules = listField(rule, "nonResourceRules");
  if (resourceRules.length + nonResourceRules.length === 0) {
    errors.push(required(field, "at least one of resourceRules and nonResourceRules has to be non-empty"));
  }
  for (const [index, one] of resourceRules.entries()) {
    errors.push(...validateResourceRule(one, `${field}.resourceRules[${index}]`));
  }
  for (const [index, one] of nonResourceRules.entries()) {
    errors.push(...validateNonResourceRule(one, `${field}.nonResourceRules[${index}]`));
  }
  return errors;
}

/** Members of a subject and the kinds they belong to, in the order in which upstream looks at others'. */
const members: readonly (readonly [member: string, kind: string])[] = [
  ["serviceAccount", "ServiceAccount"],
  ["user", "User"],
  ["group", "Group"],
];

function validateSubject(subject: Json, field: string): readonly FieldError[] {
  const kind = textField(subject, "kind");
  const own = members.find(([, name]) => name === kind);
  if (own === undefined) return [notSupported(`${field}.kind`, kind, ["Group", "ServiceAccount", "User"])];
  const [member] = own;
  const errors: FieldError[] = [];
  const content = objectField(subject, member);
  const path = `${field}.${member}`;
  if (content === undefined) errors.push(required(path, `${member} is required when subject kind is '${kind}'`));
  else if (member === "serviceAccount") errors.push(...validateAccount(content, path));
  else if (textField(content, "name") === "") errors.push(required(`${path}.name`));
  for (const [other, otherKind] of members) {
    if (other !== member && !isAbsent(subject[other])) {
      errors.push(forbidden(`${field}.${other}`, `${other} is forbidden when subject kind is not '${otherKind}'`));
    }
  }
  return errors;
}

function validateAccount(account: Json, field: string): readonly FieldError[] {
  const errors: FieldError[] = [];
  const name = textField(account, "name");
  if (name === "") errors.push(required(`${field}.name`));
  else if (name !== "*") {
    errors.push(...dns1123Subdomain(name).map((message) => invalid(`${field}.name`, name, message)));
  }
  const namespace = textField(account, "namespace");
  if (namespace === "") errors.push(required(`${field}.namespace`, "must specify namespace for service account"));
  else errors.push(...dns1123Label(namespace).map((message) => invalid(`${field}.namespace`, namespace, message)));
  return errors;
}

const verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];

const texts = (rule: Json, name: string): readonly string[] =>
  isAbsent(rule[name]) ? [] : (rule[name] as readonly string[]); // the schema says so

/** A list with at least one member, in which a star stands alone. */
function validateList(rule: Json, field: string, name: string, words: readonly [missing: string, others: string]) {
  const list = texts(rule, name);
  const [missing, others] = words;
  if (list.length === 0) return [required(`${field}.${name}`, missing)];
  if (list.length > 1 && list.includes("*")) {
    return [invalid(`${field}.${name}`, goTexts(list), `if '*' is present, must not specify other ${others}`)];
  }
  return [];
}

function validateVerbs(rule: Json, field: string): readonly FieldError[] {
  const errors = validateList(rule, field, "verbs", ["verbs must contain at least one value", "verbs"]);
  const list = texts(rule, "verbs");
  if (errors.length > 0 || list.includes("*") || list.every((verb) => verbs.includes(verb))) return errors;
  return [notSupported(`${field}.verbs`, goTexts(list), verbs)];
}

function validateResourceRule(rule: Json, field: string): readonly FieldError[] {
  const errors: FieldError[] = [
    ...validateVerbs(rule, field),
    ...validateList(rule, field, "apiGroups", ["resource rules must supply at least one api group", "api groups"]),
    ...validateList(rule, field, "resources", ["resource rules must supply at least one resource", "resources"]),
  ];
  const namespaces = texts(rule, "namespaces");
  const path = `${field}.namespaces`;
  if (namespaces.length === 0) {
    if (rule["clusterScope"] === true) return errors;
    const detail = "resource rules that are not cluster scoped must supply at least one namespace";
    return [...errors, required(path, detail)];
  }
  if (namespaces.includes("*")) {
    if (namespaces.length === 1) return errors;
    return [...errors, invalid(path, goTexts(namespaces), "if '*' is present, must not specify other namespaces")];
  }
  for (const [index, name] of namespaces.entries()) {
    for (const message of dns1123Label(name)) {
      const detail = `each member of this list must be '*' or a DNS-1123 label; ${message}`;
      errors.push(invalid(`${path}[${index}]`, name, detail));
    }
  }
  return errors;
}

function validateNonResourceRule(rule: Json, field: string): readonly FieldError[] {
  const name = "nonResourceURLs";
  const words = ["nonResourceURLs must contain at least one value", "non-resource URLs"] as const;
  const errors = [...validateVerbs(rule, field), ...validateList(rule, field, name, words)];
  const urls = texts(rule, name);
  if (urls.includes("*")) return errors;
  for (const [index, url] of urls.entries()) {
    const problem = urlProblem(url);
    if (problem !== "") errors.push(invalid(`${field}.${name}[${index}]`, url, problem));
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

function validateLevel(name: string, spec: Json): readonly FieldError[] {
  const errors: FieldError[] = [];
  const type = textField(spec, "type");
  if ((name === "exempt") !== (type === "Exempt")) {
    errors.push(invalid("spec.type", type, "type must be 'Exempt' if and only if name is 'exempt'"));
  }
  const exempt = objectField(spec, "exempt");
  const limited = objectField(spec, "limited");
  if (type === "Exempt") {
    if (limited !== undefined) errors.push(forbidden("spec.limited", "must be nil if the type is not Limited"));
    if (exempt !== undefined)
      errors.push(...validateShares(exempt, "spec.exempt"), ...validateLendable(exempt, "spec.exempt"));
  } else if (type === "Limited") {
    if (exempt !== undefined) errors.push(forbidden("spec.exempt", "must be nil if the type is Limited"));
    if (limited === undefined) errors.push(required("spec.limited", "must not be empty when type is Limited"));
    else errors.push(...validateLimited(limited, "spec.limited"));
  } else errors.push(notSupported("spec.type", type, ["Exempt", "Limited"]));
  return errors;
}

function validateShares(sharing: Json, field: string): readonly FieldError[] {
  const shares = numberField(sharing, "nominalConcurrencyShares");
  return shares < 0 ? [invalid(`${field}.nominalConcurrencyShares`, shares, "must be a non-negative integer")] : [];
}

function validateLendable(sharing: Json, field: string): readonly FieldError[] {
  const lendable = numberField(sharing, "lendablePercent");
  return lendable < 0 || lendable > 100
    ? [invalid(`${field}.lendablePercent`, lendable, "must be between 0 and 100, inclusive")]
    : [];
}

function validateLimited(limited: Json, field: string): readonly FieldError[] {
  const response = objectField(limited, "limitResponse") ?? noFields;
  const errors = [
    ...validateShares(limited, field),
    ...validateResponse(response, `${field}.limitResponse`),
    ...validateLendable(limited, field),
  ];
  const borrowing = numberField(limited, "borrowingLimitPercent");
  if (borrowing >= 0) return errors;
  const detail = "if specified, must be a non-negative integer";
  return [...errors, invalid(`${field}.borrowingLimitPercent`, borrowing, detail)];
}

function validateResponse(response: Json, field: string): FieldError[] {
  const type = textField(response, "type");
  const queuing = objectField(response, "queuing");
  if (type === "Reject") {
    const detail = "must be nil if limited.limitResponse.type is not Limited";
    return queuing === undefined ? [] : [forbidden(`${field}.queuing`, detail)];
  }
  if (type !== "Queue") return [notSupported(`${field}.type`, type, ["Queue", "Reject"])];
  if (queuing !== undefined) return validateQueuing(queuing, `${field}.queuing`);
  return [required(`${field}.queuing`, "must not be empty if limited.limitResponse.type is Limited")];
}

const queuesMax = 10_000_000;
/** How many bits of a hash tell hands apart. */
const entropyMax = 60;

function validateQueuing(queuing: Json, field: string): FieldError[] {
  const errors: FieldError[] = [];
  const length = numberField(queuing, "queueLengthLimit");
  if (length <= 0) errors.push(invalid(`${field}.queueLengthLimit`, length, "must be positive"));
  const queues = numberField(queuing, "queues");
  if (queues <= 0) errors.push(invalid(`${field}.queues`, queues, "must be positive"));
  else if (queues > queuesMax) {
    errors.push(invalid(`${field}.queues`, queues, `must not be greater than ${queuesMax}`));
  }
  const handSize = numberField(queuing, "handSize");
  const wrong = (detail: string) => errors.push(invalid(`${field}.handSize`, handSize, detail));
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
