/**
 * Opens the tracer of `--tracing-config-file`. The file is read and the packages are loaded before anything is opened.
 * Loaded only with that flag.
 */
import type { ApiDomain } from "#meta/api-domain.ts";
import { StartError } from "#std/start-error.ts";
import { readTracingConfiguration } from "#tracing/configuration.ts";
import { loadOpenTelemetry, type OpenTracer, openTracer } from "#tracing/open-telemetry.ts";
import type { Egress } from "./egress/ways.ts";
import { orStartError, readGiven } from "./given-files.ts";
import { serverIdAt } from "./identity.ts";
import type { ServerParts } from "./server-parts.ts";

interface TracingParts extends Pick<ServerParts, "clock" | "random" | "log"> {
  /** The port of this server, which is a part of its identity. */
  readonly port: number;
}

type OpenServerTracer = (parts: TracingParts) => OpenTracer;

/** Reads the file and loads what it needs. Rejects with `StartError`. */
export async function planTracing(file: string, domain: ApiDomain, egress: Egress): Promise<OpenServerTracer> {
  const text = readGiven(file);
  const configuration = orStartError(`${file}: `, () => readTracingConfiguration(text, domain));
  if (egress.controlPlane !== undefined) {
    throw new StartError(`${file}: a proxy for the selection "controlplane" is not supported for traces: use Direct`);
  }
  const loaded = await loadOpenTelemetry().catch((error: unknown) => {
    throw new StartError(error instanceof Error ? error.message : String(error), { cause: error });
  });
  return ({ port, ...parts }) =>
    openTracer(loaded, {
      ...configuration,
      ...parts,
      resource: {
        "service.name": "apiserver",
        "service.instance.id": serverIdAt(port),
        // Several processes may serve together, and each sends its own spans.
        "process.pid": process.pid,
      },
    });
}
