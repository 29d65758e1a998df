/** Validates probes and lifecycle hooks of containers. */
import type { HTTPGetAction, Lifecycle, LifecycleHandler, Probe } from "#api/core/v1.ts";
import { forbidden, invalid, required } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { formMessage, type NameCheck, portName, portNumber } from "#meta/names.ts";
import { type Int64, nearestNumber } from "#std/int64.ts";
import { checkName, checkNotNegative, checkOneOf, checkRequired, type Errors } from "../../checks.ts";

const schemes = ["HTTP", "HTTPS"];

export function checkLiveness(probe: Probe | undefined, path: FieldPath, errors: Errors): void {
  if (probe === undefined) return;
  checkProbe(probe, path, errors);
  if (probe.successThreshold !== 1) {
    errors.push(invalid(path.child("successThreshold"), probe.successThreshold ?? 0, "must be 1"));
  }
}

export function checkReadiness(probe: Probe | undefined, path: FieldPath, errors: Errors): void {
  if (probe === undefined) return;
  checkProbe(probe, path, errors);
  const { terminationGracePeriodSeconds: grace } = probe;
  if (grace !== undefined) {
    const at = path.child("terminationGracePeriodSeconds");
    errors.push(invalid(at, grace, "must not be set for readinessProbes"));
  }
}

const counts = [
  "initialDelaySeconds",
  "timeoutSeconds",
  "periodSeconds",
  "successThreshold",
  "failureThreshold",
] as const;

function checkProbe(probe: Probe, path: FieldPath, errors: Errors): void {
  checkHandler(probe, path, errors);
  for (const name of counts) {
    const count = probe[name];
    if (count !== undefined && count < 0) checkNotNegative(count, path.child(name), errors);
  }
  const { terminationGracePeriodSeconds: grace } = probe;
  if (grace !== undefined && nearestNumber(grace) <= 0) {
    errors.push(invalid(path.child("terminationGracePeriodSeconds"), grace, "must be greater than 0"));
  }
}

/** The bounds of the time for which a container may sleep. */
interface SleepBounds {
  /** The termination grace period of the pod. */
  readonly graceSeconds?: Int64 | undefined;
  readonly allowsZero: boolean;
}

/** Checks the lifecycle hooks of a container. */
export function checkLifecycle(
  lifecycle: Lifecycle | undefined,
  sleep: SleepBounds,
  path: FieldPath,
  errors: Errors,
): void {
  const { postStart, preStop } = lifecycle ?? {};
  if (postStart !== undefined) checkHandler(postStart, path.child("postStart"), errors, sleep);
  if (preStop !== undefined) checkHandler(preStop, path.child("preStop"), errors, sleep);
}

const handlers = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"] as const;

/** Checks that there is exactly one handler. Further ones are refused without a check of their content. */
function checkHandler(
  handler: Probe & LifecycleHandler,
  path: FieldPath,
  errors: Errors,
  bounds: SleepBounds = { allowsZero: false },
): void {
  let isFirst = true;
  for (const name of handlers) {
    if (handler[name] === undefined) continue;
    const at = path.child(name);
    if (!isFirst) {
      errors.push(forbidden(at, "may not specify more than 1 handler type"));
      continue;
    }
    isFirst = false;
    const { exec, httpGet, tcpSocket, grpc, sleep } = handler;
    if (name === "exec" && (exec?.command ?? []).length === 0) errors.push(required(at.child("command")));
    if (name === "httpGet" && httpGet !== undefined) checkHttpGet(httpGet, at, errors);
    if (name === "tcpSocket" && tcpSocket !== undefined) checkPort(tcpSocket.port, at.child("port"), errors);
    if (name === "grpc" && grpc !== undefined) checkPort(grpc.port, at.child("port"), errors);
    if (name === "sleep" && sleep !== undefined) checkSleep(sleep.seconds, bounds, at, errors);
  }
  if (isFirst) errors.push(required(path, "must specify a handler type"));
}

function checkPort(port: number | string, path: FieldPath, errors: Errors): void {
  const messages = typeof port === "string" ? portName(port) : portNumber(port);
  for (const message of messages) errors.push(invalid(path, port, message));
}

function checkHttpGet(
  { path = "", port, scheme = "", httpHeaders = [] }: HTTPGetAction,
  at: FieldPath,
  errors: Errors,
) {
  checkRequired(path, at.child("path"), errors);
  checkPort(port, at.child("port"), errors);
  checkOneOf(scheme, schemes, at.child("scheme"), errors);
  for (const { name } of httpHeaders) checkName(name, headerName, at.child("httpHeaders"), errors);
}

const headerText = "a valid HTTP header must consist of alphanumeric characters or '-'";
const headerMessage = formMessage(headerText, "[-A-Za-z0-9]+", "X-Header-Name");
const headerName: NameCheck = (text) => (/^[-A-Za-z0-9]+$/.test(text) ? [] : [headerMessage]);

function checkSleep(
  seconds: Int64,
  { graceSeconds = 0, allowsZero }: SleepBounds,
  path: FieldPath,
  errors: Errors,
): void {
  const [number, grace] = [nearestNumber(seconds), nearestNumber(graceSeconds)];
  if ((allowsZero ? number >= 0 : number > 0) && number <= grace) return;
  if (allowsZero) {
    const detail = `must be non-negative and less than terminationGracePeriodSeconds (${grace})`;
    errors.push(invalid(path, seconds, detail));
    return;
  }
  const range = `must be greater than 0 and less than terminationGracePeriodSeconds (${grace})`;
  const hint = "Enable AllowPodLifecycleSleepActionZeroValue feature gate for zero sleep.";
  errors.push(invalid(path, seconds, `${range}. ${hint}`));
}
