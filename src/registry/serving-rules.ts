/**
 * The differences in how built-in kinds and custom resources are served: upstream has a handler of its own for custom
 * resources, and no Go type of their objects. Each difference is a member of `ServingRules`, which says what a client
 * sees of it; code asks for the member, not for the sort of kind.
 */
import type { ResourceDefinition } from "./resource-definition.ts";

/** The rules of serving a kind that follow from whether it is built in. */
interface ServingRules {
  /**
   * Whether each verb has a route, which checks paths, methods and media types in the words of all routes; discovery
   * and OpenAPI describe the routes. Otherwise one handler dispatches all requests, with error messages of its own, and
   * discovery and OpenAPI are made from the definition.
   */
  readonly hasRoutes: boolean;
  /** Whether bodies may be in formats that need a generated type (protobuf). */
  readonly acceptsTypedFormats: boolean;
  /** Whether strategic merge patches are accepted, which need a type that says how lists are merged. */
  readonly acceptsStrategicPatches: boolean;
  /** Whether a patch may change the version of an object, which is then converted from it. */
  readonly patchesMayChangeVersion: boolean;
  /** Whether patches compare and keep whole numbers beyond 2^53 exactly; otherwise they are numbers of their type. */
  readonly patchesKeepLargeIntegers: boolean;
  /**
   * Whether an object made by a mutating admission policy is refused for unknown fields; otherwise they are dropped.
   */
  readonly refusesUnknownFields: boolean;
  /** Whether items of lists have `kind` and `apiVersion`. */
  readonly listItemsHaveType: boolean;
  /**
   * Whether the metadata of a list always has `continue`, empty in the last chunk; otherwise the last chunk leaves it
   * out.
   */
  readonly listsAlwaysContinue: boolean;
  /** Whether bookmarks have the fields that a Go struct writes without a value, such as `creationTimestamp: null`. */
  readonly bookmarksHaveEmptyFields: boolean;
  /**
   * Whether DELETE of a collection answers with the list as it was, as upstream does; otherwise it answers with the
   * Status that the specification wants (EP-26).
   */
  readonly returnsDeletedList: boolean;
  /**
   * Whether a field selector is refused like that of a kind with a list of selectable fields, even if the list is
   * empty.
   */
  readonly declaresFields: boolean;
  /**
   * Whether versions differ only in name, as with upstream's conversion `None`: field ownership moves unchanged from
   * one to another, and is dropped for fields that a version does not have.
   */
  readonly renamesVersions: boolean;
  /**
   * Whether fields that an endpoint never changes are left out only for field managers of the version of the request;
   * for managers of other versions they then count as changed.
   */
  readonly resetsOneVersion: boolean;
  /**
   * Whether an object without `spec.replicas` has a Scale of 0, and a negative number is refused. Otherwise the number
   * is required, may have any sign, and Tables of Scales show no zero.
   */
  readonly defaultsReplicas: boolean;
  /** Returns the Go type of an object or a list, which some errors name. */
  goTypeName(definition: ResourceDefinition, isList: boolean): string;
}

const rules: Readonly<Record<"builtIn" | "custom", ServingRules>> = {
  builtIn: {
    hasRoutes: true,
    acceptsTypedFormats: true,
    acceptsStrategicPatches: true,
    patchesMayChangeVersion: true,
    patchesKeepLargeIntegers: false,
    refusesUnknownFields: true,
    listItemsHaveType: false,
    listsAlwaysContinue: false,
    bookmarksHaveEmptyFields: true,
    returnsDeletedList: false,
    declaresFields: false,
    renamesVersions: false,
    resetsOneVersion: false,
    defaultsReplicas: true,
    goTypeName: ({ version, kind, listKind }, isList) => `${version}.${isList ? listKind : kind}`,
  },
  custom: {
    hasRoutes: false,
    acceptsTypedFormats: false,
    acceptsStrategicPatches: false,
    patchesMayChangeVersion: false,
    patchesKeepLargeIntegers: true,
    refusesUnknownFields: false,
    listItemsHaveType: true,
    listsAlwaysContinue: true,
    bookmarksHaveEmptyFields: false,
    returnsDeletedList: true,
    declaresFields: true,
    renamesVersions: true,
    resetsOneVersion: true,
    defaultsReplicas: false,
    goTypeName: (_definition, isList) => (isList ? "unstructured.UnstructuredList" : "unstructured.Unstructured"),
  },
};

/** Returns the rules of a resource. A Scale has the rules of built-in kinds, also that of a custom resource. */
export const servingRulesOf = ({ custom }: ResourceDefinition): ServingRules =>
  custom === undefined ? rules.builtIn : rules.custom;
