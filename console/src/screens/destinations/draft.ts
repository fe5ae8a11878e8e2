import { buildFilter, draftFilter, type FilterGroupDraft } from './filter-draft.ts'
import { type CreateBody, type Destination, type DestinationType, kindOf } from './kinds.ts'

/** A custom header. The value of a stored one is not known. */
export interface HeaderDraft {
  key: string
  name: string
  value: string
  isStored: boolean
}

/** A destination as the form has it. */
export interface DestinationDraft {
  name: string
  enabled: boolean
  privacy_mode: boolean
  broadcast_generation_cost: boolean
  broadcast_generation_identity: boolean
  broadcast_generation_request_context: boolean
  samplingPercent: number
  regions: Destination['regions']
  /** None: all keys. */
  keyHashes: string[]
  filterGroups: FilterGroupDraft[]
  isFiltering: boolean
  /** Texts, empty where nothing was entered. Null removes what is stored. */
  config: Record<string, string | null>
  headers: HeaderDraft[]
}

export const emptyDraft: DestinationDraft = {
  name: '',
  enabled: true,
  privacy_mode: false,
  broadcast_generation_cost: false,
  broadcast_generation_identity: false,
  broadcast_generation_request_context: false,
  samplingPercent: 100,
  regions: ['global'],
  keyHashes: [],
  filterGroups: [],
  isFiltering: true,
  config: {},
  headers: [],
}

/** Secrets are left empty: what the server returns of them is masked. */
export function draftOf(destination: Destination): DestinationDraft {
  const { config, filter_rules, api_key_hashes, sampling_rate, name } = destination
  const { fields } = kindOf(destination.type)
  const texts = Object.entries(fields).map(([field, { isSecret }]) => [
    field,
    isSecret ? '' : storedText(config, field),
  ])
  const { enabled, privacy_mode, regions } = destination
  return {
    name: name ?? '',
    enabled,
    privacy_mode,
    broadcast_generation_cost: destination.broadcast_generation_cost,
    broadcast_generation_identity: destination.broadcast_generation_identity,
    broadcast_generation_request_context: destination.broadcast_generation_request_context,
    regions,
    samplingPercent: Number((sampling_rate * 100).toFixed(2)),
    keyHashes: api_key_hashes ?? [],
    filterGroups: draftFilter(filter_rules),
    isFiltering: filter_rules?.enabled ?? true,
    config: Object.fromEntries(texts),
    headers: listHeaders(config),
  }
}

/** The text of a field as stored; a masked one if it is secret. */
export function storedText(config: Destination['config'], field: string): string {
  const value = config[field]
  return typeof value === 'string' ? value : ''
}

function listHeaders({ headers }: Destination['config']): HeaderDraft[] {
  const names = typeof headers === 'object' ? Object.keys(headers) : []
  return names.map((name) => ({ key: name, name, value: '', isStored: true }))
}

/** Whether every required field has a value. */
export function isComplete(type: DestinationType, { name, config }: DestinationDraft): boolean {
  const required = Object.entries(kindOf(type).fields).filter(([, { isRequired }]) => isRequired)
  return name.trim() !== '' && required.every(([field]) => (config[field] ?? '').trim() !== '')
}

/** Builds the request that creates a destination. */
export function buildCreateBody(
  type: DestinationType,
  draft: DestinationDraft,
  workspaceId: string | null,
): CreateBody {
  const fields = Object.keys(kindOf(type).fields)
  const entered = fields.flatMap((field) => (draft.config[field] ? [[field, draft.config[field]]] : []))
  const headers = buildHeaders(draft.headers)
  const config = { ...Object.fromEntries(entered), ...(draft.headers.length > 0 && { headers }) }
  const { name, privacy_mode } = draft
  const place = workspaceId === null ? {} : { workspace_id: workspaceId }
  // The fields are those of the type: the form shows no others.
  return { type, name: name.trim(), privacy_mode, ...place, config } as CreateBody
}

/** The value by which the server recognizes an unchanged header. */
const unchangedHeader = '********'

function buildHeaders(headers: HeaderDraft[]): Record<string, string> {
  const named = headers.filter(({ name }) => name.trim() !== '')
  return Object.fromEntries(
    named.map(({ name, value, isStored }) => [
      name.trim(),
      isStored && value === '' ? unchangedHeader : value,
    ]),
  )
}

const switches = [
  'enabled',
  'privacy_mode',
  'broadcast_generation_cost',
  'broadcast_generation_identity',
  'broadcast_generation_request_context',
] as const

/** Only what was changed is sent. */
export function buildChanges(destination: Destination, draft: DestinationDraft): Record<string, unknown> {
  const stored = draftOf(destination)
  const config = buildConfigChanges(destination, draft)
  const changedSwitches = switches.filter((name) => draft[name] !== destination[name])
  const filterChanged =
    !isSame(draft.filterGroups, stored.filterGroups) || draft.isFiltering !== stored.isFiltering
  return {
    ...(draft.name.trim() !== stored.name && { name: draft.name.trim() }),
    ...Object.fromEntries(changedSwitches.map((name) => [name, draft[name]])),
    ...(draft.samplingPercent !== stored.samplingPercent && { sampling_rate: draft.samplingPercent / 100 }),
    ...(!isSame(draft.regions, stored.regions) && { regions: draft.regions }),
    ...(!isSame(draft.keyHashes, stored.keyHashes) && {
      api_key_hashes: draft.keyHashes.length === 0 ? null : draft.keyHashes,
    }),
    ...(filterChanged && { filter_rules: buildFilter(draft.filterGroups, draft.isFiltering) }),
    ...(Object.keys(config).length > 0 && { config }),
  }
}

function buildConfigChanges(destination: Destination, draft: DestinationDraft): Record<string, unknown> {
  const stored = draftOf(destination)
  const changes: Record<string, unknown> = {}
  for (const [field, text] of Object.entries(draft.config)) {
    if (text === stored.config[field]) continue
    changes[field] = text?.trim() ? text.trim() : null
  }
  if (!isSame(draft.headers, stored.headers)) changes.headers = buildHeaders(draft.headers)
  return changes
}

function isSame(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right)
}
