import type { Selectable } from 'kysely'
import type { DataRegion } from '../../formats/vocabulary.ts'
import { sha256 } from '../../platform/crypto/crypto.ts'
import type { DestinationTable } from '../../platform/db/schema.ts'
import { decodeList } from '../../platform/db/values.ts'
import type { GenerationEvent } from './event.ts'
import type { FilterRules } from './filter-rules.ts'

/** The parts of an event that a destination receives only if its settings include them. Stored as a sum. */
export const sharedParts = { content: 1, cost: 2, identity: 4, context: 8 } as const

/** The settings of a destination that decide which events it receives, and what of them. */
export interface ExportSettings {
  id: string
  type: string
  regions: ReadonlySet<DataRegion>
  /** Null: the requests of all keys. */
  keyHashes: ReadonlySet<string> | null
  samplingRate: number
  filterRules: FilterRules | null
  /** The sum of its `sharedParts`. */
  shared: number
}

type SettingColumns = Pick<
  Selectable<DestinationTable>,
  | 'id'
  | 'type'
  | 'privacy_mode'
  | 'broadcast_generation_cost'
  | 'broadcast_generation_identity'
  | 'broadcast_generation_request_context'
  | 'sampling_rate'
  | 'regions'
  | 'api_key_hashes'
  | 'filter_rules'
>

export function parseExportSettings(row: SettingColumns): ExportSettings {
  const hashes = decodeList<string>(row.api_key_hashes)
  return {
    id: row.id,
    type: row.type,
    regions: new Set(JSON.parse(row.regions) as DataRegion[]),
    keyHashes: hashes && new Set(hashes),
    samplingRate: row.sampling_rate,
    filterRules: row.filter_rules === null ? null : JSON.parse(row.filter_rules),
    shared:
      (row.privacy_mode === 1 ? 0 : sharedParts.content) |
      (row.broadcast_generation_cost === 1 ? sharedParts.cost : 0) |
      (row.broadcast_generation_identity === 1 ? sharedParts.identity : 0) |
      (row.broadcast_generation_request_context === 1 ? sharedParts.context : 0),
  }
}

/** Facts of a request that are known before it has ended. */
export interface RequestFacts {
  /** Id of the generation. */
  id: string
  region: DataRegion
  keyHash: string
  sessionId: string | null
}

/** Whether a destination receives a request, unless its filter rules exclude it. */
export function isSelected(
  settings: ExportSettings,
  { id, region, keyHash, sessionId }: RequestFacts,
): boolean {
  if (!settings.regions.has(region)) return false
  if (settings.keyHashes && !settings.keyHashes.has(keyHash)) return false
  return isSampled(settings, sessionId ?? id)
}

/** The same for all requests of a session. A higher rate adds sessions and removes none. */
function isSampled({ id, samplingRate }: ExportSettings, subject: string): boolean {
  if (samplingRate >= 1) return true
  return Number.parseInt(sha256(`${id} ${subject}`).slice(0, 8), 16) < samplingRate * 2 ** 32
}

/** Whether the destination receives the prompt and the reply, or a filter rule reads them. */
export function needsContent({ shared, filterRules }: ExportSettings): boolean {
  if (shared & sharedParts.content) return true
  if (!filterRules?.enabled) return false
  return filterRules.groups.some(({ rules }) =>
    rules.some(({ field }) => field === 'input' || field === 'output'),
  )
}

/**
 * The event without the parts that are not shared. An error may quote the prompt: then only its code is left. The names
 * of called tools are text of the model, stop sequences of the client.
 */
export function applySettings(event: GenerationEvent, shared: number): GenerationEvent {
  const hasContent = (shared & sharedParts.content) !== 0
  const { stop: _, ...parameters } = event.parameters
  return {
    ...event,
    input: hasContent ? event.input : null,
    output: hasContent ? event.output : null,
    parameters: hasContent ? event.parameters : parameters,
    tools: hasContent ? event.tools : { ...event.tools, called: [] },
    error: hasContent || !event.error ? event.error : { code: event.error.code, message: event.error.code },
    cost: shared & sharedParts.cost ? event.cost : null,
    identity: shared & sharedParts.identity ? event.identity : null,
    context: shared & sharedParts.context ? event.context : null,
  }
}
