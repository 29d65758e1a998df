/** The sink of a stream that never begins: it closes at once, so that the stream gives back its resources. */
import type { StreamSink } from "./api-request.ts";

export function closedSink(): StreamSink {
  const sink: StreamSink = { write: () => false, blocked: true, onDrain: undefined, onClose: undefined, end: ignore };
  queueMicrotask(() => sink.onClose?.());
  return sink;
}

function ignore(): void {}
