/**
 * `AuthenticationConfiguration`, the file of `--authentication-config`: parsed, validated with upstream's rules and
 * messages, and converted to settings of authenticators. The `--oidc-*` flags are converted to the same settings.
 * Source: upstream's `apis/apiserver/validation`.
 */
import { X509Certificate } from "node:crypto";
import {
  type ClaimRules,
  type Claims,
  groupsFromClaim,
  requiredClaim,
  uidFromClaim,
  usernameFromClaim,
} from "./oidc-claims.ts";
import { textClaim } from "./jwt.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import {
  duplicate,
  type FieldError,
  forbidden,
  goQuote,
  GoSyntax,
  internalError,
  invalid,
  required,
  tooMany,
} from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { parseReference } from "#meta/go-url.ts";
import { validatePrefixedPath } from "#meta/prefixed-path.ts";
import type { UserInfo } from "#meta/user-info.ts";
import { pemBlocks } from "#std/pem.ts";
import {
  booleanValue,
  type Decoded,
  type Form,
  listOf,
  readDocument,
  refuseWith,
  struct,
  textValue,
} from "#codec/config-document.ts";

/** A validated entry of `jwt`. */
export interface JwtIssuer {
  readonly url: string;
  readonly discoveryUrl: string | undefined;
  /** The authorities of the issuer's certificate, as PEM. */
  readonly ca: string | undefined;
  readonly audiences: readonly string[];
  readonly rules: ClaimRules;
  /** A text that is equal for entries with the same settings. */
  readonly identity: string;
}

export interface AuthenticationConfig {
  readonly issuers: readonly JwtIssuer[];
  /**
   * The settings of anonymous requests; `undefined` when the file leaves them to the flag. An empty list of paths means
   * all paths.
   */
  readonly anonymous: { readonly enabled: boolean; readonly paths: readonly string[] } | undefined;
}

/** The reason why an expression cannot be used. `isInternal`: it is right, but a part of it has no value. */
interface ExpressionProblem {
  readonly problem: string;
  readonly isInternal: boolean;
}

/**
 * Compiles expressions. User functions get the user as in reviews (`username`, `uid`, `groups`, `extra`); an error that a
 * function throws refuses the token.
 */
export interface ExpressionCompiler {
  text(expression: string): ((claims: Claims) => string) | ExpressionProblem;
  texts(expression: string): ((claims: Claims) => readonly string[]) | ExpressionProblem;
  claimCheck(expression: string, message: string): ((claims: Claims) => void) | ExpressionProblem;
  userCheck(expression: string, message: string): ((user: UserInfo) => void) | ExpressionProblem;
  /** Whether the expression selects this claim. */
  selects(expression: string, claim: string): boolean;
}

export interface ConfigRules {
  readonly domain: ApiDomain;
  /** The issuers of the tokens of this server. */
  readonly ownIssuers: readonly string[];
  readonly expressions: ExpressionCompiler;
  /** Whether the file may have settings of anonymous requests. */
  readonly allowsAnonymous: boolean;
  /** The settings of anonymous requests of the file that the server started with; absent at the start. */
  readonly fixedAnonymous?: { readonly value: AuthenticationConfig["anonymous"] };
}

const issuersMax = 64;

const jwtPath = FieldPath.of("jwt");
const conditionsPath = FieldPath.of("anonymous", "conditions");

/** An empty prefix differs from none. */
const prefixedClaim = { claim: textValue, prefix: textValue, expression: textValue };
const jwtFields = {
  issuer: struct({
    url: textValue,
    discoveryURL: textValue,
    certificateAuthority: textValue,
    audiences: listOf(textValue),
    audienceMatchPolicy: textValue,
  }),
  claimValidationRules: listOf(
    struct({ claim: textValue, requiredValue: textValue, expression: textValue, message: textValue }),
  ),
  claimMappings: struct({
    username: struct(prefixedClaim),
    groups: struct(prefixedClaim),
    uid: struct({ claim: textValue, expression: textValue }),
    extra: listOf(struct({ key: textValue, valueExpression: textValue })),
  }),
  userValidationRules: listOf(struct({ expression: textValue, message: textValue })),
} satisfies Readonly<Record<string, Form<unknown>>>;
const fields = {
  jwt: listOf(struct(jwtFields)),
  anonymous: struct({ enabled: booleanValue, conditions: listOf(struct({ path: textValue })) }),
};

type PrefixedClaim = Decoded<typeof prefixedClaim>;
/** One entry of `jwt`, as it is in the file. */
type JwtConfig = Decoded<typeof jwtFields>;

/** Reads the file. Throws `ConfigError` with all errors. */
export function readAuthenticationConfig(text: string, rules: ConfigRules): AuthenticationConfig {
  const group = rules.domain.rename("apiserver.config.k8s.io");
  const { jwt, anonymous } = readDocument(text, {
    kind: "AuthenticationConfiguration",
    apiVersions: [`${group}/v1beta1`, `${group}/v1alpha1`],
    fields,
  });
  const errors: FieldError[] = [];
  const issuers = checkIssuers(jwt ?? [], rules, errors);
  if (anonymous !== undefined && !rules.allowsAnonymous) {
    // Upstream: the name of the gate lacks a letter.
    const detail = "anonymous is not supported when AnonymousAuthConfigurableEnpoints feature gate is disabled";
    errors.push(forbidden(FieldPath.of("anonymous"), detail));
  }
  const { enabled = false, conditions = [] } = anonymous ?? {};
  if (!enabled && conditions.length > 0) {
    const detail = "enabled should be set to true when conditions are defined";
    const paths = conditions.map(({ path = "" }) => `apiserver.AnonymousAuthCondition{Path:${goQuote(path)}}`);
    const value = new GoSyntax(`[]apiserver.AnonymousAuthCondition{${paths.join(", ")}}`);
    errors.push(invalid(conditionsPath, value, detail));
  }
  const paths = conditions.map(({ path = "" }, at) => {
    if (!path.startsWith("/")) errors.push(invalid(conditionsPath.index(at).child("path"), path, "must begin with /"));
    return path;
  });
  const read = anonymous === undefined ? undefined : { enabled, paths };
  if (rules.fixedAnonymous !== undefined && JSON.stringify(read) !== JSON.stringify(rules.fixedAnonymous.value)) {
    errors.push(forbidden(FieldPath.of("anonymous"), "changed from initial configuration file"));
  }
  refuseWith(errors);
  return { issuers, anonymous: read };
}

/** Validates entries that do not come from a file. Throws `ConfigError`. */
export function checkJwtConfig(config: JwtConfig, rules: ConfigRules): JwtIssuer {
  const errors: FieldError[] = [];
  const issuer = checkIssuer(config, FieldPath.root, rules, errors);
  refuseWith(errors);
  return issuer;
}

function checkIssuers(jwt: readonly JwtConfig[], rules: ConfigRules, errors: FieldError[]): readonly JwtIssuer[] {
  if (jwt.length > issuersMax) {
    errors.push(tooMany(jwtPath, jwt.length, issuersMax));
    return [];
  }
  const seen = new Set<string>();
  const seenDiscovery = new Set<string>();
  return jwt.map((config, at) => {
    const path = jwtPath.index(at);
    const issuer = checkIssuer(config, path, rules, errors);
    once(seen, issuer.url, path.child("issuer", "url"), errors);
    if (issuer.discoveryUrl !== undefined) {
      once(seenDiscovery, issuer.discoveryUrl, path.child("issuer", "discoveryURL"), errors);
    }
    return issuer;
  });
}

/** Adds an error when a value is not the first of its kind; returns whether it is. */
function once(seen: Set<string>, value: string, path: FieldPath, errors: FieldError[]): boolean {
  if (seen.has(value)) {
    errors.push(duplicate(path, value));
    return false;
  }
  seen.add(value);
  return true;
}

function checkIssuer(config: JwtConfig, path: FieldPath, rules: ConfigRules, errors: FieldError[]): JwtIssuer {
  const { url = "", discoveryURL = "", certificateAuthority = "", audiences = [] } = config.issuer ?? {};
  const at = path.child("issuer");
  if (url === "") errors.push(required(at.child("url"), "URL is required"));
  else checkUrl(url, at.child("url"), rules.ownIssuers, errors);
  if (discoveryURL !== "") {
    const bare = (text: string): string => text.replace(/\/+$/, "");
    if (url !== "" && bare(url) === bare(discoveryURL)) {
      errors.push(invalid(at.child("discoveryURL"), discoveryURL, "discoveryURL must be different from URL"));
    }
    checkUrl(discoveryURL, at.child("discoveryURL"), [], errors);
  }
  checkAudiences(audiences, config.issuer?.audienceMatchPolicy ?? "", at, errors);
  const problem = certificateAuthority === "" ? undefined : bundleProblem(certificateAuthority);
  if (problem !== undefined) errors.push(invalid(at.child("certificateAuthority"), "<omitted>", problem));
  const claimRules = checkRules(config, path, rules, errors);
  return {
    url,
    discoveryUrl: discoveryURL === "" ? undefined : discoveryURL,
    ca: certificateAuthority === "" ? undefined : certificateAuthority,
    audiences,
    rules: claimRules,
    identity: JSON.stringify(config),
  };
}

function checkUrl(text: string, path: FieldPath, disallowed: readonly string[], errors: FieldError[]): void {
  const refuse = (detail: string): void => void errors.push(invalid(path, text, detail));
  if (disallowed.includes(text)) {
    refuse(`URL must not overlap with disallowed issuers: [${disallowed.toSorted().join(" ")}]`);
  }
  const url = parseReference(text);
  if ("fault" in url) {
    refuse(url.fault);
    return;
  }
  const { scheme, user, query = "" } = url;
  if (scheme !== "https") refuse("URL scheme must be https");
  if (user !== undefined) refuse("URL must not contain a username or password");
  if (query !== "") refuse("URL must not contain a query");
  if (/#./s.test(text)) refuse("URL must not contain a fragment");
  // No request can be sent to such a URL.
  if (scheme === "https" && URL.parse(text) === null) refuse("must be a URL");
}

function checkAudiences(audiences: readonly string[], policy: string, at: FieldPath, errors: FieldError[]): void {
  const path = at.child("audiences");
  if (audiences.length === 0) {
    errors.push(required(path, `at least one ${String(path)} is required`));
    return;
  }
  const seen = new Set<string>();
  for (const [i, audience] of audiences.entries()) {
    if (audience === "") errors.push(required(path.index(i), "audience can't be empty"));
    once(seen, audience, path.index(i), errors);
  }
  if (policy === "MatchAny" || (policy === "" && audiences.length === 1)) return;
  const many = audiences.length > 1;
  const detail = many
    ? "audienceMatchPolicy must be MatchAny for multiple audiences"
    : "audienceMatchPolicy must be empty or MatchAny for single audience";
  errors.push(invalid(at.child("audienceMatchPolicy"), policy, detail));
}

const malformed = "x509: malformed certificate";

/** Returns the mistake of a bundle of certificates; `undefined` if there is none. */
function bundleProblem(pem: string): string | undefined {
  const blocks = [...pemBlocks(pem)].filter(({ label, hasHeaders }) => label === "CERTIFICATE" && !hasHeaders);
  if (blocks.length === 0) return "data does not contain any valid RSA or ECDSA certificates";
  try {
    return blocks.every(({ bytes }) => new X509Certificate(bytes).raw.length > 0) ? undefined : malformed;
  } catch {
    return malformed;
  }
}

/** Returns the compiled expression, or adds its error. */
function takeCompiled<T extends object>(
  result: T | ExpressionProblem,
  path: FieldPath,
  expression: string,
  errors: FieldError[],
): T | undefined {
  if (!("problem" in result)) return result;
  const { problem, isInternal } = result;
  errors.push(isInternal ? internalError(path, problem) : invalid(path, expression, problem));
  return undefined;
}

function checkRules(config: JwtConfig, path: FieldPath, rules: ConfigRules, errors: FieldError[]): ClaimRules {
  const claimChecks = checkClaimRules(config, path.child("claimValidationRules"), rules, errors);
  const at = path.child("claimMappings");
  const { username, groups, uid = {} } = config.claimMappings ?? {};
  const ofUsername: PrefixedMapping<string> = {
    fromClaim: usernameFromClaim,
    compile: (expression) => rules.expressions.text(expression),
  };
  const ofGroups: PrefixedMapping<readonly string[]> = {
    fromClaim: groupsFromClaim,
    compile: (expression) => rules.expressions.texts(expression),
  };
  const nameOf = prefixedOf(username ?? {}, ofUsername, at.child("username"), true, errors);
  const groupsOf = prefixedOf(groups ?? {}, ofGroups, at.child("groups"), false, errors);
  const uidOf = checkUid(uid, at.child("uid"), rules, errors);
  const extra = checkExtra(config, at.child("extra"), rules, errors);
  checkEmail(config, at.child("username", "expression"), rules, errors);
  const userChecks = checkUserRules(config, path.child("userValidationRules"), rules, errors);
  return {
    // A configuration without a user name was refused.
    username: nameOf ?? (() => ""),
    ...(groupsOf === undefined ? {} : { groups: groupsOf }),
    ...(uidOf === undefined ? {} : { uid: uidOf }),
    extra,
    claimChecks,
    userChecks,
  };
}

/**
 * Checks an expression that makes a user name of an email address: it must look at whether the address was verified.
 * Expressions that cannot be used have errors of their own, and do not count.
 */
function checkEmail(config: JwtConfig, path: FieldPath, { expressions }: ConfigRules, errors: FieldError[]): void {
  const { username, extra = [] } = config.claimMappings ?? {};
  const expression = username?.expression ?? "";
  if (expression === "") return;
  const selects = (text: string, claim: string, compiled: object): boolean =>
    text !== "" && !("problem" in compiled) && expressions.selects(text, claim);
  if (!selects(expression, "email", expressions.text(expression))) return;
  const isVerified = (text: string, compiled: object): boolean => selects(text, "email_verified", compiled);
  if (isVerified(expression, {})) return;
  if (extra.some(({ valueExpression: text = "" }) => isVerified(text, expressions.texts(text)))) return;
  const rules = config.claimValidationRules ?? [];
  if (rules.some(({ expression: text = "" }) => isVerified(text, expressions.claimCheck(text, "")))) return;
  const names =
    "claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression";
  const detail = `claims.email_verified must be used in ${names} when claims.email is used in claimMappings.username.expression`;
  errors.push(invalid(path, expression, detail));
}

const bothSet = "claim and expression can't both be set";
const oneRequired = "claim or expression is required";

function checkClaimRules(config: JwtConfig, path: FieldPath, { expressions }: ConfigRules, errors: FieldError[]) {
  const checks: ((claims: Claims) => void)[] = [];
  const seenClaims = new Set<string>();
  const seenExpressions = new Set<string>();
  for (const [i, rule] of (config.claimValidationRules ?? []).entries()) {
    const at = path.index(i);
    const { claim = "", requiredValue = "", expression = "", message = "" } = rule;
    if (claim !== "" && expression !== "") errors.push(invalid(at, claim, bothSet));
    else if (claim !== "") {
      if (message !== "") errors.push(invalid(at.child("message"), message, "message can't be set when claim is set"));
      once(seenClaims, claim, at.child("claim"), errors);
      checks.push(requiredClaim(claim, requiredValue));
    } else if (expression === "") errors.push(required(at, oneRequired));
    else {
      if (requiredValue !== "") {
        errors.push(
          invalid(at.child("requiredValue"), requiredValue, "requiredValue can't be set when expression is set"),
        );
      }
      if (!once(seenExpressions, expression, at.child("expression"), errors)) continue;
      const result = expressions.claimCheck(expression, message);
      const check = takeCompiled(result, at.child("expression"), expression, errors);
      if (check !== undefined) checks.push(check);
    }
  }
  return checks;
}

/** Functions that make the rule of a value from a claim or from an expression. */
interface PrefixedMapping<T> {
  fromClaim(claim: string, prefix: string): (claims: Claims) => T;
  compile(expression: string): ((claims: Claims) => T) | ExpressionProblem;
}

function prefixedOf<T>(
  { claim = "", prefix, expression = "" }: PrefixedClaim,
  { fromClaim, compile }: PrefixedMapping<T>,
  path: FieldPath,
  isRequired: boolean,
  errors: FieldError[],
): ((claims: Claims) => T) | undefined {
  if (claim !== "" && expression !== "") {
    errors.push(invalid(path, "", bothSet));
    return undefined;
  }
  if (expression !== "") {
    if (prefix !== undefined) {
      errors.push(invalid(path.child("prefix"), prefix, "prefix can't be set when expression is set"));
    }
    return takeCompiled(compile(expression), path.child("expression"), expression, errors);
  }
  if (claim === "") {
    if (isRequired) errors.push(required(path, oneRequired));
    return undefined;
  }
  if (prefix === undefined) {
    const detail = "prefix is required when claim is set. It can be set to an empty string to disable prefixing";
    errors.push(required(path.child("prefix"), detail));
  }
  return fromClaim(claim, prefix ?? "");
}

function checkUid(
  { claim = "", expression = "" }: { readonly claim?: string; readonly expression?: string },
  path: FieldPath,
  { expressions }: ConfigRules,
  errors: FieldError[],
): ((claims: Claims) => string) | undefined {
  if (claim !== "" && expression !== "") errors.push(invalid(path, "", bothSet));
  else if (claim !== "") return uidFromClaim(claim);
  else if (expression !== "") {
    return takeCompiled(expressions.text(expression), path.child("expression"), expression, errors);
  }
  return undefined;
}

function checkExtra(config: JwtConfig, path: FieldPath, { domain, expressions }: ConfigRules, errors: FieldError[]) {
  const rules: ClaimRules["extra"][number][] = [];
  const seen = new Set<string>();
  for (const [i, { key = "", valueExpression = "" }] of (config.claimMappings?.extra ?? []).entries()) {
    const at = path.index(i);
    checkExtraKey(key, at.child("key"), domain, errors);
    if (!once(seen, key, at.child("key"), errors)) continue;
    if (valueExpression === "") {
      errors.push(required(at.child("valueExpression"), "valueExpression is required"));
      continue;
    }
    const values = takeCompiled(
      expressions.texts(valueExpression),
      at.child("valueExpression"),
      valueExpression,
      errors,
    );
    if (values !== undefined) rules.push({ key, values });
  }
  rules.push({ key: domain.rename("authentication.kubernetes.io/credential-id"), values: credentialIds });
  return rules;
}

/** Returns the id of the token as others have theirs, for audit events and rules. */
function credentialIds(claims: Claims): readonly string[] {
  const id = textClaim(claims, "jti") ?? "";
  return id === "" ? [] : [`JTI=${id}`];
}

function checkExtraKey(key: string, path: FieldPath, domain: ApiDomain, errors: FieldError[]): void {
  errors.push(...validatePrefixedPath(key, path));
  if (key !== key.toLowerCase()) errors.push(invalid(path, key, "key must be lowercase"));
  const host = key.split("/", 1)[0]!;
  const reserved = ["k8s.io", "kubernetes.io"].map((name) => domain.rename(name));
  if (reserved.some((name) => host === name || host.endsWith(`.${name}`))) {
    const names = [...new Set(reserved)].join(", ");
    errors.push(invalid(path, key, `${names} and their subdomains are reserved for Kubernetes use`));
  }
}

function checkUserRules(config: JwtConfig, path: FieldPath, { expressions }: ConfigRules, errors: FieldError[]) {
  const checks: ((user: UserInfo) => void)[] = [];
  const seen = new Set<string>();
  for (const [i, { expression = "", message = "" }] of (config.userValidationRules ?? []).entries()) {
    const at = path.index(i).child("expression");
    if (expression === "") errors.push(required(at, "expression is required"));
    else if (once(seen, expression, at, errors)) {
      const check = takeCompiled(expressions.userCheck(expression, message), at, expression, errors);
      if (check !== undefined) checks.push(check);
    }
  }
  return checks;
}
