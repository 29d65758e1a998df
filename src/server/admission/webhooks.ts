/** The admission plugins for webhooks; their lists of webhooks follow the stored configurations. */
import { type WebhookList, type WebhookLists, webhookPlugins, type WebhookType } from "#admission/webhooks.ts";
import type { Authorizer } from "#authz/authorizer.ts";
import type { WebhookClients, WebhookCredentials } from "#egress/webhook-client.ts";
import type { FindServiceAddress } from "#egress/service-address.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { ObjectHandlers } from "#registry/informer.ts";
import type { Lookups } from "../lookups.ts";
import { rateLimited } from "#std/log.ts";
import { webhookTunnels } from "../egress.ts";
import type { ServerParts } from "../server-parts.ts";
import type { AdmissionFlags } from "./flags.ts";
import type { ServedForms } from "./object-forms.ts";
import type { AdmissionPlan, WebhookPlugin } from "./plan.ts";
import { webhookMetrics } from "./webhook-metrics.ts";
import type { HandlersByResource } from "../index-handlers.ts";

export function webhookHandlers({ mutating, validating }: WebhookLists): HandlersByResource {
  const handlers = (list: WebhookList): ObjectHandlers<ApiObject> => ({
    cleared: () => list.clear(),
    changed: (_namespace, name, object) => list.set(name, object),
  });
  return {
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": handlers(mutating),
    "validatingwebhookconfigurations.admissionregistration.k8s.io": handlers(validating),
  };
}

const pluginOf: Readonly<Record<WebhookType, WebhookPlugin>> = {
  admit: "MutatingAdmissionWebhook",
  validating: "ValidatingAdmissionWebhook",
};

interface WebhookParts extends ServerParts {
  readonly options: Pick<AdmissionFlags, "admissionTimeoutMs">;
  readonly plan: Pick<AdmissionPlan, "webhookCredentials">;
  readonly webhooks: WebhookLists;
  readonly lookups: Lookups;
  readonly serviceAddress: FindServiceAddress;
  readonly authorizer: Authorizer;
}

/** Returns the plugins. The client that calls webhooks is loaded for the first call. */
export function openWebhooks(parts: WebhookParts, forms: ServedForms) {
  const { domain, clock, random, log, metrics, health, options } = parts;
  const { plan, webhooks: lists, lookups, serviceAddress, authorizer } = parts;
  const observer = webhookMetrics(metrics, lists);
  const failed = rateLimited(clock, (error) =>
    log.warn({ error }, "an admission webhook could not be called; it is ignored"),
  );
  const clients = new Map<WebhookType, Promise<WebhookClients>>();
  const open = async (type: WebhookType): Promise<WebhookClients> => {
    const { credentialsFor, WebhookClients } = await import("#egress/webhook-client.ts");
    const users = plan.webhookCredentials.get(pluginOf[type]) ?? new Map<string, WebhookCredentials>();
    return new WebhookClients({
      clock,
      serviceAddress,
      tunnels: webhookTunnels(parts.egress),
      credentials: (target) => credentialsFor(users, target),
    });
  };
  const clientsOf = (type: WebhookType): Promise<WebhookClients> => {
    let opened = clients.get(type);
    if (opened === undefined) {
      opened = open(type);
      clients.set(type, opened);
    }
    return opened;
  };
  health.add({
    name: "admission-webhooks",
    endpoints: ["readyz"],
    problem: () => undefined,
    note() {
      const { length } = lists.silent;
      return length === 0 ? undefined : `${length} without answers left alone for a while`;
    },
  });
  const plugins = webhookPlugins({
    lists,
    forms,
    environment: {
      equivalents: (resource, subresource) => forms.equivalents(resource, subresource),
      getNamespace: lookups.getNamespace,
    },
    domain,
    clock,
    random,
    authorizer,
    observer,
    admissionTimeoutMs: options.admissionTimeoutMs,
    post: async (type, clientConfig, call) => (await clientsOf(type)).post(clientConfig, call),
    failedOpen: (_webhook, error) => failed(error),
  });
  return {
    ...plugins,
    /** Ends the connections and the pending calls. */
    close(): void {
      for (const opened of clients.values()) void opened.then((one) => one.close());
    },
  };
}
