/**
 * The filters of every request, in order. Filters before `authenticate` do not know the user, filters before
 * `authorize` must reveal nothing about stored objects, and no name that could leave its prefix in the store reaches
 * `route`. Source: the order of upstream's `DefaultBuildHandlerChain`.
 */
import type { Authenticator } from "#authn/authenticator.ts";
import type { Authorizer } from "#authz/authorizer.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { Clock } from "#std/clock.ts";
import type { Random } from "#std/random.ts";
import type { Tracer } from "#std/tracer.ts";
import { authenticate } from "./filters/authenticate.ts";
import { authorize, decisionAnnotations } from "./filters/authorize.ts";
import { boundedStreams } from "./filters/bounded-streams.ts";
import { catchErrors, errorReplies } from "./filters/catch-errors.ts";
import { cors } from "./filters/cors.ts";
import { chainOf, type Filter, type Handler } from "./filters/filter.ts";
import { goAway } from "./filters/go-away.ts";
import { impersonate } from "./filters/impersonate.ts";
import { maxInFlight } from "./filters/max-in-flight.ts";
import { priorityAndFairness, type PriorityAndFairnessOptions } from "./filters/priority-and-fairness.ts";
import { requestDeadline } from "./filters/request-deadline.ts";
import { requestInfo } from "./filters/request-info.ts";
import { inOwnSpan, trace } from "./filters/trace.ts";
import type { Log } from "#std/log.ts";
import type { Negotiator } from "./negotiation.ts";
import { traceHandlers } from "./traced-handlers.ts";

export interface ChainOptions {
  readonly domain: ApiDomain;
  /** The clock by which requests are given up. */
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Pick<Log, "debug" | "error">;
  /** The negotiator for the encodings of errors. */
  readonly negotiator: Negotiator;
  readonly authenticator: Authenticator;
  /** Whether a header is removed after authentication; `name` is in lower case. */
  isIdentityHeader(name: string): boolean;
  readonly authorizer: Authorizer;
  /** The authorizer for requests of clients; unlike `authorizer`, its decisions are counted. */
  readonly requestAuthorizer?: Authorizer;
  /** The value of `--request-timeout`. */
  readonly requestTimeoutMs: number;
  /** The values of `--max-requests-inflight` and `--max-mutating-requests-inflight`; 0 is no limit. */
  readonly requestsInFlightMax: number;
  readonly mutatingRequestsInFlightMax: number;
  readonly observeInFlight?: (reads: number, writes: number) => void;
  /** Priority and fairness, which replaces both limits. */
  readonly fairness?: Omit<PriorityAndFairnessOptions, "errorReply" | "observe"> | undefined;
  /** The value of `--goaway-chance`, from 0 to 0.02. */
  readonly goAwayChance: number;
  /** Whether answers to unauthenticated clients end their HTTP/2 connections. */
  readonly closesUnauthenticated: boolean;
  /** The value of `--cors-allowed-origins`. */
  readonly corsAllowedOrigins: readonly RegExp[];
  /** Sees every request and its reply, errors included; `request.info` is set when the reply comes. */
  readonly observe?: Filter;
  /** Makes spans of requests and their steps; left out: there are none, and no request does any work for them. */
  readonly tracer?: Tracer | undefined;
  /** Runs with the authenticated user, before impersonation. */
  readonly audit?: Filter;
  /** Sees requests before they have a user, and refusals of requests that get no user or whose parameters are wrong. */
  readonly auditUnauthenticated?: Filter;
  /** The router. */
  readonly route: Handler;
}

/** Makes the handler of a listener. The handler never rejects. */
export function requestChain(options: ChainOptions): Handler {
  const { authorizer, clock, domain, log, corsAllowedOrigins, observeInFlight, tracer } = options;
  const errorReply = errorReplies(options.negotiator);
  const observed = observeInFlight === undefined ? {} : { observe: observeInFlight };
  const step = (name: string, filter: Filter): Filter => (tracer === undefined ? filter : inOwnSpan(name, filter));
  const filters: readonly Filter[] = [
    ...(options.observe === undefined ? [] : [options.observe]),
    ...(tracer === undefined ? [] : [trace(tracer)]),
    goAway({ ...options, chance: options.goAwayChance }),
    ...(corsAllowedOrigins.length === 0 ? [] : [cors(corsAllowedOrigins)]),
    catchErrors({ errorReply, log }),
    requestInfo(domain),
    ...(options.auditUnauthenticated === undefined ? [] : [options.auditUnauthenticated]),
    requestDeadline({ clock, requestTimeoutMs: options.requestTimeoutMs }),
    step(
      "authentication",
      authenticate({
        authenticator: options.authenticator,
        isIdentityHeader: (name) => options.isIdentityHeader(name),
        log,
      }),
    ),
    ...(options.audit === undefined ? [] : [options.audit]),
    impersonate({ authorizer, domain, errorReply }),
    options.fairness === undefined
      ? maxInFlight({
          reads: options.requestsInFlightMax,
          writes: options.mutatingRequestsInFlightMax,
          ...observed,
        })
      : step("priorityandfairness", priorityAndFairness({ ...options.fairness, errorReply, ...observed })),
    step(
      "authorization",
      authorize({
        authorizer: options.requestAuthorizer ?? authorizer,
        errorReply,
        ...(options.audit === undefined ? {} : { annotations: decisionAnnotations(domain) }),
      }),
    ),
    boundedStreams,
  ];
  return chainOf(filters, tracer === undefined ? options.route : traceHandlers(options.route));
}
