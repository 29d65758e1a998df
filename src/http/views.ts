/**
 * The views of objects: whole, as rows of a Table, or as metadata alone. A view turns objects into other objects,
 * independent of the encoding. Source: upstream's `transformResponseObject`.
 */
import type { EncodableList } from "#codec/encoding.ts";
import { apiVersionOf } from "#meta/group-version.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { wrongView } from "#meta/status-error.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import { servingRulesOf } from "#registry/serving-rules.ts";
import type { Negotiated } from "./negotiation.ts";
import type { Scope } from "./scope.ts";
import {
  columnDefinitions,
  includeObjectOf,
  partialObject,
  partialText,
  rowText,
  tableOf,
  type TableRequest,
  tableRow,
} from "./table.ts";

/** The metadata of a list as the answer shows it. */
export interface ListMeta {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

/** The members of a list beside its items. */
type ListFrame = Pick<EncodableList, "members" | "itemsKey" | "emptyIsNull">;

/**
 * A view. Its functions throw `wrongView` if it does not fit: lists are not shown as one object, nor one object as a
 * list.
 */
interface View {
  object(object: Unstructured): object;
  list(metadata: ListMeta): ListFrame;
  item(object: Unstructured): unknown;
  /**
   * Returns the result of `item` as JSON text, if that is cheaper. The arguments return the object, decoded, and its
   * metadata as text.
   */
  itemJson?(object: () => Unstructured, metadata: () => string): string;
  /** Makes the view of one watch. */
  events(): EventView;
}

export interface EventView {
  /** Identifies the form: views of equal names show the same. Empty if the view depends on the watch. */
  readonly form: string;
  /** Whether objects are shown unchanged. */
  readonly isPlain: boolean;
  object(object: Unstructured): object;
  /** The type of a list of such objects; absent for Tables, whose initial events are no list. */
  readonly list?: InitialListType;
}

/** The list type of the initial events. */
export interface InitialListType {
  readonly kind: string;
  readonly apiVersion: string;
}

/** Returns the negotiated view. Throws `badRequest` for parameters of Tables that cannot be read. */
export function viewOf(scope: Scope, negotiated: Negotiated): View {
  switch (negotiated.transform) {
    case "Table":
      return tableView(scope, negotiated);
    case "PartialObjectMetadata":
    case "PartialObjectMetadataList":
      return metadataView(scope, negotiated);
    default:
      return plainView(scope.definition);
  }
}

function plainView(definition: ResourceDefinition): View {
  const { kind, listKind, custom } = definition;
  const { listItemsHaveType, listsAlwaysContinue } = servingRulesOf(definition);
  const apiVersion = apiVersionOf(definition);
  return {
    object: (object) => object,
    list: (metadata) => ({
      members: {
        kind: listKind,
        apiVersion,
        metadata: listsAlwaysContinue ? { ...metadata, continue: metadata.continue ?? "" } : metadata,
      },
      itemsKey: "items",
      emptyIsNull: false,
    }),
    item(object) {
      if (listItemsHaveType) return object;
      const { kind: _kind, apiVersion: _apiVersion, ...rest } = object;
      return rest;
    },
    events: () => ({
      form: `${kind} ${apiVersion}${custom?.epoch.name ?? ""}`,
      isPlain: true,
      object: (object) => object,
      list: { kind: listKind, apiVersion },
    }),
  };
}

function tableView(scope: Scope, negotiated: Negotiated): View {
  const { definition, request, parts } = scope;
  const { clock } = parts;
  const apiVersion = metaApiVersion(negotiated);
  const include = includeObjectOf(request.query);
  const table: TableRequest = { definition, apiVersion, include, nowMs: clock.now() };
  return {
    object: (object) => tableOf(table, object),
    list: (metadata) => ({
      members: { kind: "Table", apiVersion, metadata, columnDefinitions: columnDefinitions(definition) },
      itemsKey: "rows",
      // Upstream: its two table convertors differ in whether no rows are null or an empty list.
      emptyIsNull: definition.columns.length === 0,
    }),
    item: (object) => tableRow(table, object),
    itemJson: (object, metadata) => rowText(table, object(), metadata),
    events() {
      let isFirst = true;
      return {
        form: "",
        isPlain: false,
        object(object) {
          const withColumns = isFirst;
          isFirst = false;
          return tableOf({ ...table, nowMs: clock.now() }, object, withColumns);
        },
      };
    },
  };
}

function metadataView(scope: Scope, negotiated: Negotiated): View {
  const { transform } = negotiated;
  const apiVersion = metaApiVersion(negotiated);
  const isOfLists = transform === "PartialObjectMetadataList";
  const listType = { kind: "PartialObjectMetadataList", apiVersion };
  const { definition } = scope;
  const one = (object: Unstructured): object => partialObject(object, definition, apiVersion);
  const checkFits = (isList: boolean): void => {
    if (isOfLists !== isList)
      throw wrongView(transform, isList, servingRulesOf(definition).goTypeName(definition, isList));
  };
  return {
    object(object) {
      checkFits(false);
      return one(object);
    },
    list(metadata) {
      checkFits(true);
      return { members: { ...listType, metadata }, itemsKey: "items", emptyIsNull: true };
    },
    item: one,
    itemJson: (object, metadata) => partialText(object, definition, metadata, apiVersion),
    events() {
      checkFits(false);
      // Definitions of one store may show different metadata.
      return {
        form: `${apiVersion} ${definition.fieldAnnotations?.join() ?? ""}`,
        isPlain: false,
        object: one,
        list: listType,
      };
    },
  };
}

/** The group is the one that the client named. */
const metaApiVersion = ({ group, version }: Negotiated): string => `${group}/${version}`;
