/**
 * The identity providers of the current configuration, replaced together when `--authentication-config` changes.
 * Unchanged providers keep their keys.
 */
import { hash } from "node:crypto";
import type { CodeIssuer } from "#authn/code-exchange.ts";
import { OidcTokens, type TokenIssuer } from "#authn/oidc.ts";
import { OidcProvider } from "#authn/oidc-provider.ts";
import { openOutgoing } from "#egress/outgoing-https.ts";
import type { Clock } from "#std/clock.ts";
import type { Log } from "#std/log.ts";
import type { Metrics } from "#std/metrics.ts";
import { type JwtIssuer, readAuthenticationConfig } from "#authn/configuration.ts";
import type { ExternalPlan } from "./external-plan.ts";
import type { AuthenticationParts } from "./parts.ts";
import { reloadMetrics } from "../reload-metrics.ts";
import { watchFile } from "../watched-file.ts";

export interface IdentityProviders {
  readonly tokens: OidcTokens;
  /** Returns the present issuers, as those who sign people in. */
  issuers(): readonly CodeIssuer[];
  close(): void;
}

interface OpenIssuer extends TokenIssuer, CodeIssuer {
  readonly identity: string;
  close(): void;
}

/**
 * The time in milliseconds in which new providers must answer, as upstream; otherwise the configuration is rejected.
 */
const readyMs = 60_000;

export function openIdentityProviders(
  { options, clock, log, metrics }: AuthenticationParts,
  plan: ExternalPlan,
): IdentityProviders {
  /** The configuration file, which is read again when it changes. */
  const file = options.authenticationConfig;
  const count = reloadMetrics(metrics, "authentication", clock);
  const tokens = new OidcTokens(clock, latencyMetric(metrics));
  const open = (issuer: JwtIssuer): OpenIssuer => openIssuer(issuer, plan.algorithms, clock, log);
  // Providers may run on top of this server, so it waits for them in the background.
  let current: readonly OpenIssuer[] = plan.issuers.map(open);
  /** The new issuers of a changed file, while the server waits for them. */
  let added: readonly OpenIssuer[] = [];
  let closed = false;
  tokens.use(current);

  async function change(text: string): Promise<void> {
    const config = readAuthenticationConfig(text, { ...plan.rules, fixedAnonymous: { value: plan.anonymous } });
    const byIdentity = new Map(current.map((issuer) => [issuer.identity, issuer]));
    const next = config.issuers.map((issuer) => byIdentity.get(issuer.identity) ?? open(issuer));
    added = next.filter((issuer) => !current.includes(issuer));
    try {
      await allReady(added, clock);
    } catch (error) {
      for (const issuer of added) issuer.close();
      throw error;
    }
    if (closed) return;
    added = [];
    const gone = current.filter((issuer) => !next.includes(issuer));
    current = next;
    tokens.use(next);
    for (const issuer of gone) issuer.close();
    count("success");
    log.info({ file, issuers: next.map(({ url }) => url) }, "authentication configuration changed");
  }

  const stop =
    file === undefined || plan.configText === undefined
      ? undefined
      : watchFile({
          file,
          text: plan.configText,
          clock,
          changed: change,
          failed(error) {
            count("failure");
            log.error({ error, file }, "authentication configuration could not be read again, the earlier one stays");
          },
        });
  return {
    tokens,
    issuers: () => current,
    close() {
      closed = true;
      stop?.();
      for (const issuer of [...current, ...added]) issuer.close();
    },
  };
}

function latencyMetric(metrics: Metrics) {
  const latencies = metrics.histogram({
    name: "apiserver_authentication_jwt_authenticator_latency_seconds",
    help: "Time for which an ID token that is not known yet is checked, by issuer and result.",
    labels: ["jwt_issuer_hash", "result"],
    buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  });
  return (issuer: string, result: string, seconds: number): void =>
    latencies.with(`sha256:${hash("sha256", issuer)}`, result).observe(seconds);
}

function openIssuer(issuer: JwtIssuer, algorithms: readonly string[], clock: Clock, log: Log): OpenIssuer {
  const { url, discoveryUrl, ca, audiences, rules, identity } = issuer;
  const connect = () => openOutgoing({ clock, ...(ca === undefined ? {} : { ca }), connectionsMax: 2 });
  const outgoing = connect();
  // Strangers begin these calls, and must not hold up those for keys.
  const exchanging = connect();
  const provider = new OidcProvider({
    url,
    ...(discoveryUrl === undefined ? {} : { discoveryUrl }),
    outgoing,
    clock,
    failed: (error) => log.error({ error, issuer: url }, "keys of an identity provider could not be fetched"),
  });
  return {
    url,
    audiences,
    algorithms,
    rules,
    provider,
    exchanging,
    identity,
    close() {
      provider.close();
      outgoing.close();
      exchanging.close();
    },
  };
}

function allReady(issuers: readonly OpenIssuer[], clock: Clock): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(readyMs, () => reject(new Error("a new identity provider did not answer in time")));
    Promise.all(issuers.map(({ provider }) => provider.ready))
      .then(() => resolve(), reject)
      .finally(cancel);
  });
}
