import { type Usage, zeroUsage } from '../formats/call/usage.ts'
import {
  type BucketOf,
  type ColumnOf,
  type GenerationColumn,
  type GenerationTable,
  generationColumns,
  generationTable,
} from '../platform/db/generation-table.ts'
import { type Charge, reportedCostToNanos } from './charge.ts'

/** Columns that are known at admission. */
export type DraftColumns = Pick<GenerationTable, ColumnOf<'draft'>>

/** The endpoint that replied, or was tried last. */
export type TargetColumns = Pick<GenerationTable, ColumnOf<'target'>>

/** The end of a reply; omitted columns are empty. */
export type GenerationEnd = Pick<GenerationTable, 'status'> & Partial<Pick<GenerationTable, ColumnOf<'end'>>>

/** A record as it is settled: the draft of its hold, and the values of `outcomeColumns`. */
export interface GenerationRecord {
  draft: DraftColumns
  outcome: readonly unknown[]
}

/** Columns of a draft. They come first in a generation, in the order in which drafts are written. */
export const draftColumns = selectColumns('draft')

/** Known when a request is settled: target, usage and end. */
export const outcomeColumns = [...selectColumns('target'), ...selectColumns('usage'), ...selectColumns('end')]

function selectColumns<P extends 'draft' | 'target' | 'usage' | 'end'>(part: P): ColumnOf<P>[] {
  return generationColumns.filter((column): column is ColumnOf<P> => generationTable[column].part === part)
}

/** The values of `draftColumns`. */
export function listDraftValues(draft: DraftColumns): unknown[] {
  return [
    draft.id,
    draft.organization_id,
    draft.workspace_id,
    draft.key_id,
    draft.user_id,
    draft.created_at,
    draft.requested_model,
    draft.dialect,
    draft.streamed,
    draft.preset_id,
    draft.session_id,
    draft.region,
    draft.app_url,
    draft.app_title,
    draft.external_user,
    draft.api_type,
    draft.user_agent,
    draft.request_id,
    draft.input_images,
    draft.tags,
  ]
}

/** The columns of a generation that are not left to the ledger, in their order. */
export function listRecordValues({ draft, outcome }: GenerationRecord): unknown[] {
  return [...listDraftValues(draft), ...outcome]
}

/** The values of `outcomeColumns`. A list, not a loop over columns: this runs for every reply. */
export function encodeOutcome(target: TargetColumns, charge: Charge, end: GenerationEnd): unknown[] {
  const { usage, units } = charge
  return [
    target.model,
    target.provider,
    target.endpoint,
    target.upstream_dialect,
    target.is_byok,
    usage.input,
    usage.cacheRead,
    usage.cacheReadAudio,
    usage.cacheWrite,
    usage.cacheWrite1h,
    usage.inputAudio,
    usage.inputImage,
    usage.inputVideo,
    usage.output,
    usage.reasoning,
    usage.outputAudio,
    usage.outputImage,
    usage.webSearches,
    charge.source,
    String(charge.cost),
    String(charge.upstream),
    usage.reportedCost === null ? null : encodeValue(reportedCostToNanos(usage.reportedCost)),
    charge.flag,
    units.length > 0 ? JSON.stringify(units) : null,
    charge.cacheSavings === undefined ? null : String(charge.cacheSavings),
    end.status,
    end.error_code ?? null,
    end.finish_reason ?? null,
    end.native_finish_reason ?? null,
    String(end.hold_nanos ?? 0n),
    end.latency_ms ?? 0,
    end.first_token_ms ?? null,
    end.attempts ?? '[]',
    end.dropped ?? null,
    end.upstream_id ?? null,
    end.service_tier ?? null,
    end.response_cache_source_id ?? null,
    end.routing_plan_id ?? null,
    end.dispatch_ms ?? null,
    end.nearest_limit ?? null,
    end.queued_ms ?? null,
    end.cache_breakpoints ?? 0,
    end.cache_similarity ?? null,
  ]
}

/** Amounts are digits: both databases convert them, and text can be passed to another thread. */
function encodeValue(value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}

export function encodeEmpty(column: GenerationColumn): unknown {
  return encodeValue(generationTable[column].empty)
}

export type BucketColumn = {
  [Column in GenerationColumn]: [BucketOf<Column>] extends [never] ? never : Column
}[GenerationColumn]
type Bucket = BucketOf<BucketColumn>

/** The columns that count what was used, and the counter of `Usage` that each of them stores. */
const buckets = generationColumns.flatMap((column): [BucketColumn, Bucket & keyof Usage][] => {
  const { bucket } = generationTable[column]
  return bucket === undefined ? [] : [[column as BucketColumn, bucket]]
})

export const bucketColumns = buckets.map(([column]) => column)

/** Reads the stored counters of a generation; the rest of `Usage` is not stored. */
export function readUsage(row: Pick<GenerationTable, BucketColumn>): Usage {
  const usage = { ...zeroUsage }
  for (const [column, bucket] of buckets) usage[bucket] = row[column]
  return usage
}

/** Decodes a record into the columns of this version: another one may have written the file. */
export function decodeRecord(columns: readonly string[], values: readonly unknown[]): GenerationRecord {
  const read = (column: GenerationColumn) => {
    const index = columns.indexOf(column)
    return index < 0 ? encodeEmpty(column) : values[index]
  }
  return {
    draft: Object.fromEntries(draftColumns.map((column) => [column, read(column)])) as DraftColumns,
    outcome: outcomeColumns.map(read),
  }
}

/** Without the columns that no balance depends on, so that no value of theirs can be rejected. */
export function stripRecord(record: GenerationRecord): GenerationRecord {
  const values = listRecordValues(record).map((value, index) => {
    const column = generationColumns[index]
    return column === undefined || generationTable[column].isEssential ? value : encodeEmpty(column)
  })
  return decodeRecord(generationColumns, values)
}
