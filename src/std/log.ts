/**
 * Structured logs: JSON lines for machines, short lines for people. A thin interface over pino for code below
 * `server/`. Lines wait in a bounded buffer; when the reader stalls, lines are dropped and the server goes on.
 */
import { writeSync } from "node:fs";
import { pino } from "pino";
import type { Clock } from "./clock.ts";

type LogLevel = "error" | "warn" | "info" | "debug" | "trace";

/** Additional fields of a line; `{}` without any. `err` or `error` is an error, which is printed with its stack. */
type LogFields = object;

export interface Log {
  error(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  debug(fields: LogFields, message: string): void;
  trace(fields: LogFields, message: string): void;
  /** Whether lines of this level are written, for callers with expensive fields. */
  enabled(level: LogLevel): boolean;
  /** Changes how much is written, also by the logs that `with` returned. `verbosity` is the number of klog. */
  setVerbosity(verbosity: number): void;
  /** Returns the same log with fields added to every line. */
  with(fields: LogFields): Log;
  /** Resolves when all lines are written, or nobody is there to read them. */
  flush(): Promise<void>;
}

interface LogOptions {
  readonly format: "json" | "text";
  /** The number of klog: 0 to 3 for info, 4 and 5 for debug, 6 and more for trace. */
  readonly verbosity: number;
  /** Writes a line, which ends with a line break; by default to standard error. */
  readonly write?: (line: string) => void;
}

const bufferLengthMax = 1 << 20;

export function openLog(options: LogOptions): Log {
  const standardError = new StandardError();
  const write = options.write ?? ((line: string) => standardError.write(line));
  const logger = pino(
    {
      level: "trace",
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: pino.stdSerializers.err, error: pino.stdSerializers.err },
    },
    { write: options.format === "text" ? (line: string) => write(readable(line)) : write },
  );
  return wrap(logger, () => standardError.flush(), { level: levelOf(options.verbosity) });
}

/** Standard error, which is written in the background. Lines are lost when nobody reads it, or too slowly. */
class StandardError {
  readonly #stream = pino.destination({ fd: 2, sync: false, maxLength: bufferLengthMax });
  /** The lines that may not be written yet. */
  #pending = "";
  #isBroken = false;

  constructor() {
    this.#stream.on("drain", () => (this.#pending = ""));
    this.#stream.on("error", () => (this.#isBroken = true));
    // pino calls this at the end of the process. The stream's own function waits for ever for a reader that is gone.
    this.#stream.flushSync = () => this.#writePending();
  }

  write(line: string): void {
    if (this.#isBroken) return;
    if (this.#pending.length + line.length <= bufferLengthMax) this.#pending += line;
    this.#stream.write(line);
  }

  /** Resolves when all lines are written or lost. */
  flush(): Promise<void> {
    if (this.#pending === "" || this.#isBroken) return Promise.resolve();
    return new Promise((resolve) => {
      this.#stream.once("drain", () => resolve());
      this.#stream.once("error", () => resolve());
    });
  }

  /** Writes the pending lines once. A line that is just being written may come twice. */
  #writePending(): void {
    if (this.#pending === "" || this.#isBroken) return;
    try {
      writeSync(2, this.#pending);
    } catch {
      // Standard error is closed or full, so that nobody would read them.
    }
    this.#pending = "";
  }
}

/** A log that writes nothing. */
export const silentLog: Log = {
  error() {},
  warn() {},
  info() {},
  debug() {},
  trace() {},
  enabled: () => false,
  setVerbosity() {},
  with: () => silentLog,
  flush: () => Promise.resolve(),
};

function levelOf(verbosity: number): LogLevel {
  if (verbosity >= 6) return "trace";
  return verbosity >= 4 ? "debug" : "info";
}

const ranks: Readonly<Record<LogLevel, number>> = { error: 0, warn: 1, info: 2, debug: 3, trace: 4 };

/** The last level that is written. A log shares it with all that were made of it. */
interface Threshold {
  level: LogLevel;
}

function wrap(logger: pino.Logger, flush: () => Promise<void>, threshold: Threshold): Log {
  const enabled = (level: LogLevel): boolean => ranks[level] <= ranks[threshold.level];
  const at =
    (level: LogLevel) =>
    (fields: LogFields, message: string): void => {
      if (enabled(level)) logger[level](fields, message);
    };
  return {
    error: at("error"),
    warn: at("warn"),
    info: at("info"),
    debug: at("debug"),
    trace: at("trace"),
    enabled,
    setVerbosity(verbosity) {
      threshold.level = levelOf(verbosity);
    },
    with: (fields) => wrap(logger.child(fields), flush, threshold),
    flush,
  };
}

/** Returns `12:03:04.567 warn  text  key=value`, and the stack of an error below it. */
function readable(line: string): string {
  const {
    level,
    time,
    msg,
    err: short,
    error = short,
    ...fields
  } = JSON.parse(line) as Record<string, unknown> & {
    level: string;
    time: string;
    msg?: string;
    err?: { stack?: string; message?: string };
    error?: { stack?: string; message?: string };
  };
  const rest = Object.entries(fields)
    .map(
      ([key, value]) =>
        `  ${key}=${typeof value === "string" && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value)}`,
    )
    .join("");
  const stack = error === undefined ? "" : `\n  ${(error.stack ?? error.message ?? "").replaceAll("\n", "\n  ")}`;
  return `${time.slice(11, 23)} ${level.padEnd(5)} ${msg ?? ""}${rest}${stack}\n`;
}

/** The pause in milliseconds between two log lines that clients can cause at will. */
const pauseMs = 10_000;

/**
 * Limits the rate of log lines that clients can cause at will. The first call calls `say`, and so does the first call
 * after ten seconds; calls between them are dropped.
 */
export function rateLimited(clock: Clock, say: (error: unknown) => void): (error: unknown) => void {
  let saidMs = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (clock.monotonic() - saidMs < pauseMs) return;
    saidMs = clock.monotonic();
    say(error);
  };
}
