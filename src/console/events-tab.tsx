/** The events about an object, the newest first. */
import { failureText } from "./api.ts";
import { useLoaded } from "./load.ts";
import type { ObjectProps } from "./object-props.ts";
import { Age, plainText, Text } from "./text.tsx";

interface ObjectEvent {
  readonly metadata: { readonly uid?: string; readonly name: string; readonly creationTimestamp?: string };
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
  readonly reportingComponent?: string;
  readonly source?: { readonly component?: string };
}

const timeOf = ({ lastTimestamp, eventTime, metadata }: ObjectEvent): string =>
  lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? "";

export function EventsTab({ app, namespace, name, kind, object }: ObjectProps) {
  const uid = object?.metadata.uid ?? "";
  // Events about objects without a namespace are in the default one.
  const home = namespace === "" ? "default" : namespace;
  const selector = `involvedObject.name=${name},involvedObject.kind=${kind.kind}`;
  const path = `/api/v1/namespaces/${encodeURIComponent(home)}/events?limit=500&fieldSelector=${encodeURIComponent(selector)}`;
  const [loaded] = useLoaded(
    (abort) => app.api.get<{ readonly items?: readonly ObjectEvent[] }>(path, abort),
    [path, uid],
  );
  const { value, error } = loaded.value;
  if (error !== undefined) {
    return (
      <p role="alert" class="problem">
        <Text of={failureText(error)} />
      </p>
    );
  }
  if (value === undefined) return <p class="dim">Loading …</p>;
  const items = [...(value.items ?? [])].sort((one, other) => (timeOf(one) < timeOf(other) ? 1 : -1));
  if (items.length === 0) return <p class="dim">Nobody has reported an event about this object lately.</p>;
  return (
    <div class="scroll">
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">Age</th>
            <th scope="col">Type</th>
            <th scope="col">Reason</th>
            <th scope="col">From</th>
            <th scope="col">Message</th>
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <tr key={item.metadata.name}>
              <td>
                <Age of={timeOf(item)} now={Date.now()} />
                {(item.count ?? 1) > 1 && ` (×${item.count})`}
              </td>
              <td class={item.type === "Warning" ? "problem" : undefined}>{plainText(item.type ?? "")}</td>
              <td>{plainText(item.reason ?? "")}</td>
              <td>{plainText(item.reportingComponent || (item.source?.component ?? ""))}</td>
              <td>
                <Text of={item.message ?? ""} max={500} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
