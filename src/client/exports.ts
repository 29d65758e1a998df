/** The names that programs import from `binnacle/client`, and from the package `binnacle-client`. */
export { ApiError } from "./api-error.ts";
export { ClusterInfoError, verifyClusterInfo } from "./cluster-info.ts";
export {
  type Applied,
  type ApplyCallOptions,
  type CallOptions,
  Cluster,
  connect,
  type ConnectOptions,
  type FieldConflict,
  type InformerCallOptions,
  KindClient,
  type ListCallOptions,
  type Predicate,
  type DeleteAllCallOptions,
  type DeleteCallOptions,
  type Selection,
  SubresourceClient,
  type UntilCallOptions,
  WaitTimeoutError,
  type WatchEvent,
  type WatchCallOptions,
  type WriteCallOptions,
} from "./cluster.ts";
export type { ConnectionSettings, Credential, CredentialSource, Impersonation } from "./connection-settings.ts";
export { ConnectionError } from "./connection-error.ts";
export { CredentialsError } from "./credentials.ts";
export type {
  Apply,
  DeepPartial,
  Draft,
  JsonPatchStep,
  MergePatch,
  Mutable,
  Patch,
  Replacement,
  StrategicPatch,
} from "./draft.ts";
export { type IndexBy, Informer, type InformerEvent, type InformerListener, keyOf } from "./informer.ts";
export type { BodyKind, Kind, StoredMeta, StoredObject } from "./kind.ts";
export {
  defaultSettings,
  inClusterSettings,
  type Kubeconfig,
  KubeconfigError,
  loadKubeconfig,
  parseKubeconfig,
  settingsOf,
} from "./kubeconfig.ts";
export { outcome, UnexpectedValueError } from "./outcome.ts";
export { RestClient } from "./rest-client.ts";
export type { ClientRequest, ClientResponse, Transport } from "./transport.ts";
