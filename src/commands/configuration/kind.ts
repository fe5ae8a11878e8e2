import type { z } from 'zod'
import type { RecordKindName } from '../../identity/record-kinds.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import type { ApiClient } from './client.ts'

/** A field of a document that has names where the API has ids. */
export interface Reference {
  /** The path in a document; `[]` is every item of a list. */
  field: string
  /** The last name of the path in the API. */
  apiField: string
  kind: RecordKindName
}

/** What the functions of a kind may use. */
export interface KindContext {
  api: ApiClient
  /** The id of a record by its name. */
  idOf(kind: RecordKindName, name: string, workspace: string | null): string
  /** The name of a record by its id, as a document in the workspace would write it; the id itself if there is none. */
  nameOf(kind: RecordKindName, id: string, workspace: string | null): string
  /** Records of another kind. */
  records(kind: RecordKindName): readonly Item[]
}

/** A record of the server in the form of a document. */
export interface Item {
  kind: RecordKindName
  id: string
  name: string
  /** The slug; null: of the organization. */
  workspace: string | null
  spec: JsonObject
  /** The record as the API returned it. */
  record: JsonObject
}

/** Fields of a document that have operations of their own. */
export interface Part {
  fields: Record<string, z.ZodType>
  /** Operations that it calls. */
  operations: readonly string[]
  /** The records that its fields name. */
  kinds: readonly RecordKindName[]
  read(context: KindContext, item: Item): Promise<JsonObject>
  /** `changed` has only the fields that differ from `current`. */
  write(context: KindContext, item: Item, changed: JsonObject): Promise<void>
}

export interface Kind {
  kind: RecordKindName
  description: string
  /**
   * `workspace`: each record is in one, by default in the one with the slug `default`. `either`: a document without a
   * workspace is about the whole organization.
   */
  place: 'organization' | 'workspace' | 'either'
  /** The field of a record that a document has as its name; null: none, then the files alone know the name. */
  nameField: string | null
  /** The id of a record in its path. */
  idField: string
  path: string
  /** The ids of operations. `create` may depend on the document. */
  create: string | null
  update: string | null
  remove: string | null
  /** Other operations that it calls. */
  otherOperations?: readonly string[]
  list(context: KindContext): Promise<JsonObject[]>
  /** The body of the request that creates a record, if it is not the fields and the name. */
  toCreateBody?(body: JsonObject, name: string): JsonObject
  /** The fields of a document, if the record does not have them under their names. */
  toSpec?(record: JsonObject, context: KindContext): JsonObject
  /** The name in an exported document, where the record has none. */
  inventName?(record: JsonObject, workspace: string | null): string
  /** Sends the request that creates a record, and returns its id; or changes one. */
  save?(
    context: KindContext,
    item: Pick<Item, 'name' | 'workspace'> & { id: string | null },
    spec: JsonObject,
  ): Promise<string>
  /** The schemas of the fields, if `save` is there. */
  fields?: Record<string, z.ZodType>
  references: readonly Reference[]
  /** Dotted paths of secrets, which the API never returns; `*` is every name. */
  secrets: readonly string[]
  /** Those that a record has without showing them, not even masked. */
  hiddenSecrets?(record: JsonObject): readonly string[]
  /** Fields of the API that a document cannot have. */
  omitted: readonly string[]
  /** A change of a field that cannot be changed deletes the record and creates it again. */
  isReplaceable?: true
  /** It exists without being created. */
  isPermanent?: true
  /** The response to its creation has a secret that is shown only once. */
  returnsSecret?: true
  /** The order of lists of texts matters. */
  isOrdered?: true
  parts: readonly Part[]
}
