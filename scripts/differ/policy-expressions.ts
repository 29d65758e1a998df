/**
 * Random expressions of admission policies: conditions, messages, annotations and variables, some of them invalid on
 * purpose.
 */
import type { Random } from "#std/random.ts";
import { chance, many, pick } from "./choices.ts";
import type { Subject } from "./policy-subjects.ts";
import type { Json } from "./servers.ts";

/** Expressions about any request. */
export const statements = [
  "true",
  "false",
  "object.metadata.name != 'one'",
  "object != null",
  "oldObject == null",
  "object == null || object.metadata.labels.env == 'prod'",
  "has(object.metadata.labels) && 'env' in object.metadata.labels",
  "object.metadata.?labels.env.orValue('') != 'dev'",
  "object.metadata.annotations.size() == 0",
  "object.metadata.generation < 2",
  "object.apiVersion == 'v1' || object.kind != 'ConfigMap'",
  "has(object.metadata.managedFields)",
  "object.metadata.namespace == request.namespace",
  "object.metadata.creationTimestamp == oldObject.metadata.creationTimestamp",
  "request.operation in ['CREATE', 'DELETE']",
  "request.operation == 'UPDATE'",
  "!request.dryRun",
  "request.userInfo.username == 'bob'",
  "'writers' in request.userInfo.groups",
  "request.userInfo.extra['scopes'][0] == 'a'",
  "request.userInfo.?extra.scopes.orValue([]).size() == 0",
  "has(request.userInfo.uid)",
  "request.kind.kind == 'ConfigMap'",
  "request.kind.version == 'v1'",
  "request.resource.resource in ['configmaps', 'deployments']",
  "request.requestResource.version == request.resource.version",
  "request.subResource == ''",
  "request.requestSubResource != 'scale'",
  "request.name == 'one'",
  "request.namespace != ''",
  "request.options.fieldManager == 'differ'",
  "has(request.options.dryRun)",
  "request.options.kind == 'CreateOptions'",
  "has(request.namespace)",
  "has(request.subResource)",
  "namespaceObject.metadata.labels['tier'] == 'gold'",
  "namespaceObject == null || namespaceObject.metadata.name == request.namespace",
  "namespaceObject.status.phase == 'Active'",
  "namespaceObject.spec.finalizers.size() == 1",
  "has(namespaceObject.metadata.deletionTimestamp)",
  "namespaceObject.metadata.?annotations.note.orValue('n') == 'n'",
  "authorizer.group('').resource('secrets').namespace('default').check('get').allowed()",
  "authorizer.requestResource.check('delete').allowed()",
  "authorizer.requestResource.check('frobnicate').reason() == ''",
  "authorizer.serviceAccount('default', 'x').path('/healthz').check('get').allowed()",
  "authorizer.path('/metrics').check('get').errored()",
  "authorizer.group('apps').resource('deployments').subresource('scale').name('x').check('update').allowed()",
  "authorizer.group('').resource('pods').fieldSelector('spec.nodeName=a').labelSelector('a=b').check('list').allowed()",
  "object.metadata.name.size() > 3 || object.metadata.name.startsWith('o')",
  "1 / (object.metadata.name.size() - 3) > 0",
  "quantity(object.metadata.name).isInteger()",
  "isQuantity('1Gi') && quantity('1Gi').isGreaterThan(quantity('1M'))",
  "ip('10.0.0.1').family() == 4",
  "url('https://e.com/' + object.metadata.name).getEscapedPath().size() > 4",
  "object.metadata.name.matches('^(a|o)+')",
  "object.metadata.name.find('[aeiou]') == 'o'",
  "format.dns1123Label().validate(object.metadata.name).hasValue()",
  "dyn(object.metadata.name) == 1",
  "object.nope.deeper == 1",
  "object.metadata.labels.all(k, k.size() > 1)",
  "[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, [0,1,2,3,4,5,6,7,8,9].all(c, [0,1,2,3,4,5,6,7,8,9].all(d, a + b + c + d < 99))))",
  "[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, [0,1,2,3,4,5,6,7,8,9].all(c, [0,1,2,3,4,5,6,7,8,9].all(d, [0,1,2,3,4,5,6,7,8,9].all(e, [a,b,c,d,e].size() == 5)))))",
];

/** Expressions about the parameters of a policy. */
const paramStatements = [
  "params.data.limit == '3'",
  "int(params.data.limit) > 2",
  "params != null",
  "params.metadata.name == 'first'",
  "has(params.data) || has(params.spec)",
  "params.spec.max > 2",
  "params.spec.names.exists(n, n == 'a')",
  "params.metadata.namespace == request.namespace",
  "object.spec.replicas <= params.spec.max",
];

/** Expressions that are refused or fail. */
const wrongStatements = [
  "",
  "  ",
  "1",
  "'text'",
  "object.",
  "object..name",
  "nope",
  "nope.field == 1",
  "variables.nope",
  "variables",
  "request.uid == ''",
  "request.object == null",
  "[1, 2, 3].all(i, v, i < v)",
  "object.data.all(k, v, v != 'abc')",
  "params.x == 1",
  "request.nope == 1",
  "request.userInfo.nope",
  "namespaceObject.metadata.nope == ''",
  "namespaceObject.spec == 1",
  "object.metadata.name.nope()",
  "authorizer.check('get')",
  "authorizer.group('').allowed()",
  "1 + 'a' == 2",
  "'a'.matches('(')",
  "duration('x') == duration('1s')",
  "[1, 'a'].size() == 2",
  "object.all(x, y, z, true)",
  "has(object)",
  "self == 1",
  "oldSelf == 1",
  "object.metadata.labels.map(k, v)",
  "cel.bind(a, 1, a == 1)",
  "timestamp('x') > timestamp('y')",
  "size(1) == 1",
  "object == 1 && 'b'",
  "true ? 1 : 'a'",
  "{'a': 1}.b == 'x'",
  "b'a' == 'a'",
  "object.`a.b` == 1",
  "request.dryRun == 1",
  "request.operation.size()",
  "Object{}",
  "JSONPatch{op: 'x'} == 1",
  `${"(".repeat(30)}true${")".repeat(30)}`,
  "request.object.spec == 1 || request.oldObject.spec == 1",
  "quantity('1').nope()",
  "1.0 == 1",
  "string(object) == ''",
];

/** Message expressions. */
export const messages = [
  "'name is ' + object.metadata.name",
  "'two\\nlines'",
  "''",
  "'  padded  '",
  "string(object.metadata.name)",
  "'replicas: ' + string(object.spec.replicas)",
  "'from ' + request.userInfo.username",
  "'nothing ' + object.nope.deeper",
  "request.operation + ' of ' + request.kind.kind",
  "'%s is %d'.format([object.metadata.name, size(object.metadata.name)])",
  "namespaceObject == null ? 'none' : namespaceObject.metadata.name",
  "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'.replace('a', 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb')",
];
/** Message expressions that are refused. */
export const wrongMessages = [
  "1",
  "authorizer.path('/').check('get').reason()",
  "object == null",
  " ",
  "nope",
  "null",
  "object.a +",
  "['a']",
];

/** Expressions for values of audit annotations. */
export const annotations = [
  "'seen ' + object.metadata.name",
  "null",
  "''",
  "' x '",
  "string(object.metadata.name)",
  "string(object.nope.deeper)",
  "request.operation",
  "object == null ? 'gone' : 'there'",
];
/** Expressions for audit annotations that are refused. */
export const wrongAnnotations = ["1", "", " ", "object", "true ? 'a' : null", "nope", "['a']"];

/** The names and expressions of variables. */
export const variables: readonly (readonly [string, string])[] = [
  ["name", "object.metadata.name"],
  ["isNew", "oldObject == null"],
  ["count", "object.spec.replicas"],
  ["labels", "object.metadata.?labels.orValue({})"],
  ["who", "request.userInfo"],
  ["list", "[1, 2, 3]"],
  ["broken", "object.nope.deeper"],
  ["ns", "namespaceObject.metadata"],
  ["may", "authorizer.requestResource.check('delete')"],
  ["heavy", "[0,1,2,3,4,5,6,7,8,9].map(a, [0,1,2,3,4,5,6,7,8,9].map(b, [0,1,2,3,4,5,6,7,8,9].map(c, a + b + c)))"],
  ["maybe", "object.?spec.replicas"],
];

/** Expressions by the name of the variable that they use. */
const variableStatements: Readonly<Record<string, readonly string[]>> = {
  name: ["variables.name != 'one'", "variables.name.startsWith('o')"],
  isNew: ["variables.isNew", "!variables.isNew"],
  count: ["variables.count < 3", "variables.count == variables.count"],
  labels: ["'env' in variables.labels", "variables.labels == {}"],
  who: ["variables.who.username == 'bob'", "variables.who.groups.size() > 1"],
  list: ["variables.list.sum() == 6", "variables.list[5] == 1"],
  broken: ["variables.broken == 1", "true || variables.broken == 1"],
  ns: ["variables.ns.name == request.namespace", "variables.ns.labels.tier == 'gold'"],
  may: ["variables.may.allowed()", "variables.may.reason() == ''"],
  heavy: ["variables.heavy.size() == 10", "variables.heavy[0][0].sum() > 0"],
  maybe: ["variables.maybe.hasValue()", "variables.maybe.orValue(0) < 3"],
  derived: ["variables.derived == 'x'", "variables.derived.size() > 3"],
};

/** The values that decide which expressions a policy may have. */
export interface ExpressionScope {
  readonly random: Random;
  /** Whether all expressions are valid. */
  readonly isSound: boolean;
  readonly subjects: readonly Subject[];
  readonly hasParams: boolean;
  readonly variables: readonly string[];
}

/** Returns an expression that is true or false. */
export function statement(scope: ExpressionScope, depth = 1): string {
  const { random, isSound, hasParams } = scope;
  if (!isSound && chance(random, 0.5)) return pick(random, wrongStatements);
  if (depth > 0 && chance(random, 0.2)) {
    const [one, other] = [statement(scope, 0), statement(scope, 0)];
    return pick(random, [
      `(${one}) && (${other})`,
      `(${one}) || (${other})`,
      `!(${one})`,
      `(${one}) ? (${other}) : true`,
    ]);
  }
  if (hasParams && chance(random, 0.35)) return pick(random, paramStatements);
  if (scope.variables.length > 0 && chance(random, 0.4))
    return pick(random, variableStatements[pick(random, scope.variables)]!);
  if (chance(random, 0.5)) {
    const { statements: own } = pick(random, scope.subjects);
    const chosen = pick(random, own);
    return !hasParams && chosen.includes("params") ? "true" : chosen;
  }
  return pick(random, statements);
}

/** Expressions of match conditions. */
const conditionStatements = [
  "true",
  "request.userInfo.username != 'carol'",
  "object.metadata.name != 'two'",
  "object.spec.replicas > 0",
  "!request.dryRun",
  "oldObject == null || object == null || true",
  "object.nope.deeper == 1",
];

/** Returns the match conditions of a policy. */
export function conditions(scope: ExpressionScope): Json[] {
  const { random, isSound } = scope;
  return many(random, 2, (at) => ({
    name: isSound ? `c${at}` : pick(random, [`c${at}`, "", "a b", "c0", "example.com/x", "a/b/c"]),
    expression:
      isSound && chance(random, 0.7) ? pick(random, conditionStatements) : statement({ ...scope, variables: [] }),
  }));
}
