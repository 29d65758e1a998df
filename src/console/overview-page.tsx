/** The first page: what server this is, whether it is well, what it is busy with, and how many objects it has. */
import { failureText } from "./api.ts";
import type { App } from "./app-state.ts";
import { collectionPath, type ServedKind, resourceName } from "./kinds.ts";
import { useLoaded } from "./load.ts";
import { type MetricsPage, readMetrics } from "./metrics.ts";
import { asPart, hrefOf } from "./routes.ts";
import { plainText, Text } from "./text.tsx";

export function OverviewPage({ app }: { readonly app: App }) {
  return (
    <>
      <h1>Overview</h1>
      <Server app={app} />
      <Health app={app} />
      <h2>Objects</h2>
      {app.areKindsRead.value && <Counts app={app} />}
    </>
  );
}

interface Version {
  readonly gitVersion?: string;
  readonly platform?: string;
}

function Server({ app }: { readonly app: App }) {
  const [version] = useLoaded((abort) => app.api.get<Version>("/version", abort), []);
  const [metrics] = useLoaded((abort) => readMetrics(app.api, abort), []);
  const { gitVersion = "…", platform = "" } = version.value.value ?? {};
  return (
    <div class="cards">
      <Card title="Version" value={gitVersion} more={platform} />
      {metrics.value.value !== undefined && <Load metrics={metrics.value.value} />}
    </div>
  );
}

interface CardProps {
  readonly title: string;
  readonly value: string;
  readonly more?: string;
}

function Card({ title, value, more = "" }: CardProps) {
  return (
    <div class="card">
      {title}
      <b>
        <Text of={value} max={100} />
      </b>
      <span class="dim">{plainText(more)}</span>
    </div>
  );
}

function Load({ metrics }: { readonly metrics: MetricsPage }) {
  const requests = metrics.sum("apiserver_request_total");
  const refused = metrics.sum("apiserver_request_total", ({ code = "" }) => code.startsWith("5"));
  const watches = metrics.sum("apiserver_longrunning_requests", ({ verb }) => verb === "WATCH");
  const slow = metrics.quantile(
    "apiserver_request_duration_seconds",
    0.99,
    ({ verb = "" }) => !/WATCH|CONNECT/.test(verb),
  );
  const memory = metrics.sum("process_resident_memory_bytes");
  const history = metrics.sum("binnacle_storage_log_bytes");
  const number = (value: number): string => value.toLocaleString("en");
  return (
    <>
      <Card
        title="Requests since the start"
        value={number(requests)}
        more={`${number(refused)} with a failure of the server`}
      />
      <Card
        title="99 of 100 take at most"
        value={slow === undefined ? "unknown" : `${slow} s`}
        more="all but watches"
      />
      <Card title="Watches" value={number(watches)} />
      <Card title="Memory" value={`${number(Math.round(memory / 1048576))} MiB`} />
      {history > 0 && <Card title="Log on the disk" value={`${number(Math.round(history / 1048576))} MiB`} />}
    </>
  );
}

function Health({ app }: { readonly app: App }) {
  const [loaded] = useLoaded(async (abort) => {
    const response = await app.api.fetch({ path: "/readyz?verbose", accept: "*/*", signal: abort });
    return { isReady: response.status === 200, text: await response.text() };
  }, []);
  const { value, error } = loaded.value;
  if (error !== undefined) return <p class="problem">{failureText(error)}</p>;
  if (value === undefined) return null;
  const failed = value.text.split("\n").filter((line) => line.startsWith("[-]"));
  if (value.isReady) return <p>The server is ready: all its checks pass.</p>;
  return (
    <div role="alert" class="problem">
      <p>The server is not ready.</p>
      <pre>{plainText(failed.join("\n") || value.text.slice(0, 2000))}</pre>
    </div>
  );
}

interface CountedList {
  readonly metadata?: { readonly remainingItemCount?: number };
  readonly items?: readonly unknown[];
}

const readersMax = 4;

/** Returns the number of objects of each kind; `undefined` for what may not be listed. */
async function readCounts(
  app: App,
  kinds: readonly ServedKind[],
  abort: AbortSignal,
): Promise<ReadonlyMap<ServedKind, number>> {
  const counts = new Map<ServedKind, number>();
  const waiting = kinds.values();
  const reader = async (): Promise<void> => {
    for (const kind of waiting) {
      // Its answers warn that it is deprecated, and it has no objects.
      if (kind.resource === "componentstatuses") continue;
      try {
        const path = `${collectionPath(kind, "")}?limit=1`;
        const accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
        const { items, metadata } = await app.api.json<CountedList>({ path, accept, signal: abort });
        counts.set(kind, (items?.length ?? 0) + (metadata?.remainingItemCount ?? 0));
      } catch (error) {
        if (abort.aborted) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: readersMax }, reader));
  return counts;
}

function Counts({ app }: { readonly app: App }) {
  const kinds = app.kinds.value;
  const [loaded] = useLoaded((abort) => readCounts(app, kinds, abort), [kinds]);
  const counts = loaded.value.value;
  if (counts === undefined) return <p class="dim">Counting …</p>;
  const some = kinds.filter((kind) => (counts.get(kind) ?? 0) > 0);
  return (
    <div class="cards">
      {some.map((kind) => (
        <a
          key={resourceName(kind)}
          class="card"
          href={hrefOf("kind", [asPart(kind.group), kind.version, kind.resource])}
        >
          {plainText(kind.kind)}
          <b>{(counts.get(kind) ?? 0).toLocaleString("en")}</b>
          <span class="dim">{plainText(kind.group)}</span>
        </a>
      ))}
    </div>
  );
}
