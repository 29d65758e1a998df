/**
 * The differences in how built-in kinds and custom resources are served: upstream has a handler of its own for custom
 * resources, and no Go type of their objects. Each difference is a member of `ServingRules`, which says what a client
 * sees of it; code asks for the member, not for the sort of kind.
 */
import type { ResourceDefinition } from "./resource-definition.ts";

/** The rules of a kind that follow from whether it is built in. */
interface ServingRules {
  /**
   * Each verb has a route, which checks paths, methods and media types in the words of all routes; discovery and OpenAPI
   * describe the routes. Otherwise one handler dispatches all requests, with error messages of its own, and discovery
   * and OpenAPI are made from the definition.
   */
  readonly hasRoutes: boolean;
  /** Bodies may be in formats that need a generated type (protobuf). */
  readonly acceptsTypedFormats: boolean;
  /** Strategic merge patches are accepted: types say how lists are merged. */
  readonly acceptsStrategicPatches: boolean;
  /** A patch may make an object one of another version of its kind, from which it is converted. */
  readonly patchesMayChangeVersion: boolean;
  /** Patches compare whole numbers beyond 2^53, and keep them, exactly; otherwise as numbers of their type. */
  readonly patchesKeepLargeIntegers: boolean;
  /** An object that a mutating admission policy made is refused for its unknown fields; otherwise they are dropped. */
  readonly refusesUnknownFields: boolean;
  /** Items of lists have `kind` and `apiVersion`. */
  readonly listItemsHaveType: boolean;
  /** The metadata of a list always has `continue`, which is empty in the last chunk; otherwise it is left out there. */
  readonly listsAlwaysContinue: boolean;
  /** Bookmarks have the fields that a Go struct writes without a value, such as `creationTimestamp: null`. */
  readonly bookmarksHaveEmptyFields: boolean;
  /**
   * DELETE of a collection answers with the list as it was, as upstream; otherwise with the Status that the specification
   * wants (EP-26).
   */
  readonly returnsDeletedList: boolean;
  /** A field selector is refused as one of a kind that lists its selectable fields, even if it lists none. */
  readonly declaresFields: boolean;
  /**
   * Versions differ only in name, as with upstream's conversion `None`: field ownership moves unchanged from one to
   * another, and is dropped for fields that a version does not have.
   */
  readonly renamesVersions: boolean;
  /**
   * Fields that an endpoint never changes are left out for field managers of the version of the request only; for those
   * of other versions they count as changed.
   */
  readonly resetsOneVersion: boolean;
  /**
   * An object without `spec.replicas` has a Scale of 0, and a negative number is refused. Otherwise the number is
   * required, it may have any sign, and Tables of Scales show no zero.
   */
  readonly defaultsReplicas: boolean;
  /** The Go type of an object or a list, which some errors name. */
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

/** The rules of a resource. A Scale has those of built-in kinds, also that of a custom resource. */
export const servingRulesOf = ({ custom }: ResourceDefinition): ServingRules =>
  custom === undefined ? rules.builtIn : rules.custom;
