/** Webhooks and admission policies: what they are about, and how their calls have gone. */
import type { Unstructured } from "#meta/object-meta.ts";
import { ApiFailure, failureText } from "./api.ts";
import type { App } from "./app-state.ts";
import { collectionPath, type ServedKind } from "./kinds.ts";
import { useLoaded } from "./load.ts";
import { MetricsPage, readMetrics } from "./metrics.ts";
import { asPart, hrefOf } from "./routes.ts";
import { plainText, Text } from "./text.tsx";

const webhookKinds = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];
const policyKinds = [
  "validatingadmissionpolicies",
  "validatingadmissionpolicybindings",
  "mutatingadmissionpolicies",
  "mutatingadmissionpolicybindings",
];

interface Read {
  readonly kind: ServedKind;
  readonly items: readonly Unstructured[];
  readonly problem: string;
}

interface All {
  readonly webhooks: readonly Read[];
  readonly policies: readonly Read[];
  /** `undefined` for users who may not read them. */
  readonly metrics: MetricsPage | undefined;
}

async function readAll(app: App, abort: AbortSignal): Promise<All> {
  const read = async (resource: string): Promise<readonly Read[]> => {
    const kind = app.kinds.value.find(
      (one) => one.resource === resource && one.group.startsWith("admissionregistration."),
    );
    if (kind === undefined) return [];
    try {
      const path = `${collectionPath(kind, "")}?limit=500`;
      const { items } = await app.api.get<{ readonly items?: readonly Unstructured[] | null }>(path, abort);
      return [{ kind, items: items ?? [], problem: "" }];
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      return [{ kind, items: [], problem: failureText(error) }];
    }
  };
  const [webhooks, policies, metrics] = await Promise.all([
    Promise.all(webhookKinds.map(read)),
    Promise.all(policyKinds.map(read)),
    readMetrics(app.api, abort).catch(() => undefined),
  ]);
  return { webhooks: webhooks.flat(), policies: policies.flat(), metrics };
}

export function PoliciesPage({ app }: { readonly app: App }) {
  const [loaded, reload] = useLoaded((abort) => readAll(app, abort), [app.kinds.value]);
  const { value, error } = loaded.value;
  return (
    <>
      <div class="title">
        <h1>Webhooks and policies</h1>
        <button type="button" onClick={reload}>
          Reload
        </button>
      </div>
      {error !== undefined && (
        <p role="alert" class="problem">
          <Text of={failureText(error)} />
        </p>
      )}
      {value?.webhooks.map((read) => (
        <Webhooks key={read.kind.kind} read={read} metrics={value.metrics} />
      ))}
      {value?.policies.map((read) => (
        <Policies key={read.kind.kind} read={read} metrics={value.metrics} />
      ))}
    </>
  );
}

interface Webhook {
  readonly name: string;
  readonly failurePolicy?: string;
  readonly timeoutSeconds?: number;
  readonly clientConfig?: {
    readonly url?: string;
    readonly service?: { readonly namespace?: string; readonly name?: string };
  };
  readonly rules?: readonly {
    readonly apiGroups?: readonly string[];
    readonly resources?: readonly string[];
    readonly operations?: readonly string[];
  }[];
}

interface SectionProps {
  readonly read: Read;
  readonly metrics: MetricsPage | undefined;
}

const objectHref = ({ group, version, resource }: ServedKind, { metadata }: Unstructured): string =>
  hrefOf("object", [asPart(group), version, resource, asPart(""), metadata.name ?? ""]);

function Webhooks({ read: { kind, items, problem }, metrics }: SectionProps) {
  const rows = items.flatMap(
    (object) => ((object["webhooks"] ?? []) as readonly Webhook[]).map((webhook) => ({ object, webhook })), // what these kinds have
  );
  return (
    <section>
      <h2>{kind.kind}</h2>
      {problem !== "" && <p class="problem">{plainText(problem)}</p>}
      {rows.length === 0 && <p class="dim">There are none.</p>}
      {rows.length > 0 && (
        <div class="scroll">
          <table class="plain">
            <thead>
              <tr>
                {["Webhook", "Asked about", "At", "When it fails", "Calls", "Mean time", "Refused", "Failed"].map(
                  (title) => (
                    <th key={title} scope="col">
                      {title}
                    </th>
                  ),
                )}
              </tr>
            </thead>
            <tbody>
              {rows.map(({ object, webhook }) => (
                <WebhookRow key={webhook.name} href={objectHref(kind, object)} webhook={webhook} metrics={metrics} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

interface RowProps {
  readonly href: string;
  readonly webhook: Webhook;
  readonly metrics: MetricsPage | undefined;
}

function WebhookRow({ href, webhook, metrics }: RowProps) {
  const { name, failurePolicy = "Fail", timeoutSeconds = 10, clientConfig = {}, rules = [] } = webhook;
  const { url, service } = clientConfig;
  const isOwn = ({ name: one }: Readonly<Record<string, string>>): boolean => one === name;
  const duration = "apiserver_admission_webhook_admission_duration_seconds";
  const calls = metrics?.sum(`${duration}_count`, isOwn) ?? 0;
  const seconds = metrics?.sum(`${duration}_sum`, isOwn) ?? 0;
  const rejections = "apiserver_admission_webhook_rejection_count";
  const refused = metrics?.sum(rejections, (labels) => isOwn(labels) && labels["error_type"] === "no_error") ?? 0;
  const failed =
    (metrics?.sum(rejections, (labels) => isOwn(labels) && labels["error_type"] !== "no_error") ?? 0) +
    (metrics?.sum("apiserver_admission_webhook_fail_open_count", isOwn) ?? 0);
  const isOpen = (metrics?.sum("binnacle_admission_webhook_circuit_open", isOwn) ?? 0) > 0;
  const about = rules.map(
    ({ operations = [], resources = [], apiGroups = [] }) =>
      `${operations.join(", ")} of ${resources.join(", ")} in ${apiGroups.map((group) => group || "core").join(", ")}`,
  );
  return (
    <tr>
      <td>
        <a href={href}>{plainText(name)}</a>
        {isOpen && <p class="problem">circuit breaker open: it is not called for some seconds at a time</p>}
      </td>
      <td>
        <Text of={about.join("; ")} max={200} />
      </td>
      <td>
        <Text of={url ?? `${service?.namespace ?? ""}/${service?.name ?? ""}`} max={120} />
      </td>
      <td>
        {failurePolicy === "Ignore" ? "goes on without" : "refuses"} after {timeoutSeconds} s
      </td>
      <td class="number">{metrics === undefined ? "?" : calls}</td>
      <td class="number">{calls === 0 ? "" : `${((seconds / calls) * 1000).toFixed(1)} ms`}</td>
      <td class="number">{metrics === undefined ? "?" : refused}</td>
      <td class={failed > 0 ? "number problem" : "number"}>{metrics === undefined ? "?" : failed}</td>
    </tr>
  );
}

function Policies({ read: { kind, items, problem }, metrics }: SectionProps) {
  const checks = "apiserver_validating_admission_policy_check_total";
  return (
    <section>
      <h2>{kind.kind}</h2>
      {problem !== "" && <p class="problem">{plainText(problem)}</p>}
      {items.length === 0 && <p class="dim">There are none.</p>}
      <ul>
        {items.map((object) => {
          const { name = "" } = object.metadata;
          const { conditions = [], typeChecking } = (object.status ?? {}) as PolicyStatus; // of these kinds
          const warnings = typeChecking?.expressionWarnings ?? [];
          const checked = metrics?.sum(checks, ({ policy }) => policy === name) ?? 0;
          const denied =
            metrics?.sum(checks, (one) => one["policy"] === name && one["enforcement_action"] === "deny") ?? 0;
          return (
            <li key={name}>
              <a href={objectHref(kind, object)}>{plainText(name)}</a>
              {checked > 0 && ` checked ${checked} times, refused ${denied}`}
              {conditions.map(({ type, status }) => (
                <span key={type} class="dim">
                  {" "}
                  {plainText(`${type}: ${status}`)}
                </span>
              ))}
              {warnings.map(({ fieldRef, warning }) => (
                <p key={fieldRef} class="problem">
                  {plainText(fieldRef)}: <Text of={warning} max={500} />
                </p>
              ))}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

interface PolicyStatus {
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  readonly typeChecking?: {
    readonly expressionWarnings?: readonly { readonly fieldRef: string; readonly warning: string }[];
  };
}
