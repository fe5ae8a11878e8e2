import { type RecordKindName, soleRecordId } from '../../identity/record-kinds.ts'
import { asString, type JsonObject } from '../../platform/json/json-values.ts'
import { getKind, kinds } from './all.ts'
import { type ApiClient, ApiError, listRecords } from './client.ts'
import type { FieldsOf } from './fields.ts'
import type { Item, Kind, KindContext } from './kind.ts'
import { fromApiFields } from './translate.ts'

/** What the server knows of the set that declares a record. */
export interface Ownership {
  kind: RecordKindName
  id: string
  name: string
  set: string
  fields: string[]
  secrets: Record<string, string>
}

/** A name that no record and no document has. */
export class UnknownNameError extends Error {}

export const defaultWorkspace = 'default'

const installationKinds: ReadonlySet<RecordKindName> = new Set(['Provider', 'Model', 'Shadow'])

/** What has the form of an id, for records that do not exist yet. */
const uuidForm = '00000000-0000-4000-8000-000000000000'
const hashForm = '0'.repeat(64)

/** Names a record among those of its kind. */
export function identityOf(kind: Kind, name: string, workspace: string | null): string {
  return kind.place === 'organization' ? name : `${workspace ?? ''}/${name}`
}

/** The records of a server, as they are and as the plan changes them. */
export class State implements KindContext {
  readonly api: ApiClient
  readonly #fieldsOf: FieldsOf
  readonly #items = new Map<RecordKindName, Item[]>()
  readonly #planned = new Map<RecordKindName, Map<string, string>>()
  #ownership = new Map<string, Ownership>()

  constructor(api: ApiClient, fieldsOf: FieldsOf) {
    this.api = api
    this.#fieldsOf = fieldsOf
  }

  /** Reads the records of some kinds, of those that they name, and of those that a set declares. */
  async load(names: ReadonlySet<RecordKindName>, set: string | null): Promise<void> {
    const owned = await this.#readOwnership()
    this.#ownership = new Map(owned.map((one) => [`${one.kind} ${one.id}`, one]))
    const needed = withNamedKinds(
      new Set([...names, ...owned.filter((one) => one.set === set).map(({ kind }) => kind)]),
    )
    for (const kind of kinds) if (needed.has(kind.kind)) await this.#loadKind(kind)
  }

  async #readOwnership(): Promise<Ownership[]> {
    const records = await listRecords(this.api, '/configuration/records')
    return records as unknown as Ownership[]
  }

  async #loadKind(kind: Kind): Promise<void> {
    const records = await this.#listOf(kind)
    const items: Item[] = []
    this.#items.set(kind.kind, items)
    for (const record of records) items.push(await this.#toItem(kind, record))
  }

  async #listOf(kind: Kind): Promise<JsonObject[]> {
    try {
      return await kind.list(this)
    } catch (error) {
      // Some kinds belong to the installation, which most keys may not read.
      if (error instanceof ApiError && error.status === 403 && installationKinds.has(kind.kind)) return []
      throw error
    }
  }

  async #toItem(kind: Kind, record: JsonObject): Promise<Item> {
    const workspaceId = kind.place === 'organization' ? null : asString(record.workspace_id)
    const workspace = workspaceId ? this.nameOf('Workspace', workspaceId, null) : null
    const id = kind.isPermanent && record.id === undefined ? soleRecordId : String(record[kind.idField])
    const named = kind.nameField === null ? undefined : asString(record[kind.nameField])
    const owned = this.ownershipOf(kind.kind, id)
    const invented = kind.inventName?.(record, workspace) ?? soleRecordId
    const ownName = kind.nameField === null && owned ? nameOfIdentity(kind, owned.name) : null
    const item: Item = {
      ...{ kind: kind.kind, id, workspace, record },
      name: named ?? ownName ?? invented,
      spec: this.#toSpec(kind, record, workspace),
    }
    for (const part of kind.parts) Object.assign(item.spec, await part.read(this, item))
    return item
  }

  #toSpec(kind: Kind, record: JsonObject, workspace: string | null): JsonObject {
    const shown = kind.toSpec?.(record, this) ?? record
    const spec = fromApiFields(kind, shown, (reference, id) => this.nameOf(reference.kind, id, workspace))
    const names = new Set(this.#fieldsOf(kind).names)
    return Object.fromEntries(
      Object.entries(spec).filter(([field, value]) => names.has(field) && value !== undefined),
    )
  }

  records(kind: RecordKindName): readonly Item[] {
    return this.#items.get(kind) ?? []
  }

  ownershipOf(kind: RecordKindName, id: string): Ownership | undefined {
    return this.#ownership.get(`${kind} ${id}`)
  }

  ownedBy(set: string): Ownership[] {
    return [...this.#ownership.values()].filter((one) => one.set === set)
  }

  findItem(kind: Kind, identity: string): Item | undefined {
    return this.records(kind.kind).find((item) => identityOf(kind, item.name, item.workspace) === identity)
  }

  /** Makes a name known that the plan creates, with an id that only has the right form. */
  expect(kind: Kind, name: string, workspace: string | null): void {
    const names = this.#planned.get(kind.kind) ?? new Map<string, string>()
    names.set(identityOf(kind, name, workspace), kind.idField === 'id' ? uuidForm : hashForm)
    this.#planned.set(kind.kind, names)
  }

  add(item: Item): void {
    const items = (this.#items.get(item.kind) ?? []).filter(({ id }) => id !== item.id)
    this.#items.set(item.kind, [...items, item])
  }

  remove({ kind, id }: Item): void {
    this.#items.set(
      kind,
      this.records(kind).filter((item) => item.id !== id),
    )
  }

  idOf(kindName: RecordKindName, name: string, workspace: string | null): string {
    const kind = getKind(kindName)
    const wanted = kindName === 'Member' ? name.toLowerCase() : name
    const identities =
      kind.place === 'organization' ? [wanted] : [wanted, `${workspace ?? defaultWorkspace}/${wanted}`]
    for (const identity of identities) {
      const found = this.findItem(kind, identity)?.id ?? this.#planned.get(kindName)?.get(identity)
      if (found !== undefined) return found
    }
    // Built-in roles have ids that are their names.
    if (kindName === 'Role') return name
    throw new UnknownNameError(`no ${kindName} has the name "${name}", on the server or in the files`)
  }

  nameOf(kindName: RecordKindName, id: string, workspace: string | null): string {
    const item = this.records(kindName).find((one) => one.id === id)
    if (!item) return id
    const isNear =
      getKind(kindName).place === 'organization' || item.workspace === (workspace ?? defaultWorkspace)
    return isNear ? item.name : `${item.workspace}/${item.name}`
  }
}

function nameOfIdentity(kind: Kind, identity: string): string {
  return kind.place === 'organization' ? identity : identity.slice(identity.indexOf('/') + 1)
}

/** Kinds whose records the records of others name, and theirs in turn. */
function withNamedKinds(names: ReadonlySet<RecordKindName>): ReadonlySet<RecordKindName> {
  const all = new Set<RecordKindName>(['Workspace', ...names])
  for (const name of all) {
    const { references, parts } = getKind(name)
    for (const { kind } of references) all.add(kind)
    for (const { kinds: named } of parts) for (const kind of named) all.add(kind)
  }
  return all
}
