/** Options of the plugins for policies. */
import type { Authorizer } from "#authz/authorizer.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { GroupVersionKind } from "#meta/group-version.ts";
import type { Schema } from "#schema/schema.ts";
import type { Clock } from "#std/clock.ts";
import type { MatchEnvironment } from "../matching.ts";
import type { ObjectForms } from "../object-form.ts";
import type { FindParams } from "./params.ts";

export interface PolicyOptions {
  readonly domain: ApiDomain;
  readonly clock: Clock;
  readonly authorizer: Authorizer;
  readonly forms: Pick<ObjectForms, "convertTo">;
  readonly environment: MatchEnvironment;
  readonly findParams: FindParams;
}

/** A check that did not hold, and one consequence of it, for metrics. */
export interface ObservedCheck {
  readonly policy: string;
  readonly binding: string;
  readonly action: "deny" | "audit" | "warn" | "allow";
  readonly errorType: "invalid_error" | "out_of_budget";
  /** The time that the policy took for the request. */
  readonly seconds: number;
}

export interface ValidatingOptions extends PolicyOptions {
  observed(check: ObservedCheck): void;
}

export interface MutatingOptions extends PolicyOptions {
  readonly forms: Pick<ObjectForms, "convertTo" | "reread">;
  /** Returns the schema of a served kind; `undefined` for a kind that only subresources have. */
  schemaOf(kind: GroupVersionKind): Schema | undefined;
}
