import type { Selectable } from 'kysely'
import { measures, type UsageRecord } from '../../ledger/usage-record.ts'
import type {
  DatasetContributionTable,
  DatasetKind,
  DatasetSessionTable,
  GenerationTaskTable,
} from '../../platform/db/schema.ts'
import { utcWeekStart } from '../../platform/time/time.ts'
import { normalizeAppUrl } from './app-url.ts'

export type GenerationTask = Selectable<GenerationTaskTable>

export interface Contributions {
  figures: DatasetContributionTable[]
  sessions: DatasetSessionTable[]
}

/** Modalities that requests can be filtered by. */
export const modalities = ['text', 'image', 'image_output', 'audio', 'tool_calling'] as const
export type Modality = (typeof modalities)[number]

const contextSizes = { '1K': 1000, '10K': 10_000, '100K': 100_000, '1M': 1_000_000 }
export const contextBuckets = ['1K', '10K', '100K', '1M', '10M'] as const
export type ContextBucket = (typeof contextBuckets)[number]

/** Sums what generations add to the datasets. A reversal subtracts what its generation has added before. */
export function computeContributions(
  records: readonly UsageRecord[],
  tasks: ReadonlyMap<string, GenerationTask>,
): Contributions {
  const figures = new Map<string, DatasetContributionTable>()
  const sessions = new Map<string, DatasetSessionTable>()
  const findApp = memoizeAppUrls()
  for (const record of records) {
    const app = findApp(record.app_url)
    for (const figure of listFigures(record, app, tasks.get(record.id))) {
      const { kind, day, subject, organization_id } = figure
      const name = JSON.stringify([kind, day, subject, organization_id])
      figures.set(name, addFigure(figures.get(name), figure))
    }
    const session = readSession(record, app)
    if (!session) continue
    const name = JSON.stringify([session.organization_id, session.session_id, session.app_url, session.model])
    sessions.set(name, addSession(sessions.get(name), session))
  }
  return { figures: [...figures.values()], sessions: [...sessions.values()] }
}

/** The same few apps send most requests. */
function memoizeAppUrls(): (url: string | null) => string | null {
  const known = new Map<string | null, string | null>()
  return (url) => {
    const app = known.get(url)
    if (app !== undefined) return app
    const normalized = normalizeAppUrl(url)
    known.set(url, normalized)
    return normalized
  }
}

function addFigure(sum: DatasetContributionTable | undefined, figure: DatasetContributionTable) {
  if (!sum) return figure
  return {
    ...figure,
    label: figure.label ?? sum.label,
    requests: sum.requests + figure.requests,
    tokens: sum.tokens + figure.tokens,
    cost_nanos: sum.cost_nanos + figure.cost_nanos,
  }
}

function addSession(sum: DatasetSessionTable | undefined, session: DatasetSessionTable) {
  if (!sum) return session
  return {
    ...session,
    day: sum.day > session.day ? sum.day : session.day,
    turns: sum.turns + session.turns,
    cost_nanos: sum.cost_nanos + session.cost_nanos,
  }
}

function listFigures(
  record: UsageRecord,
  app: string | null,
  task: GenerationTask | undefined,
): DatasetContributionTable[] {
  const day = record.created_at.slice(0, 10)
  const { model, app_title: label } = record
  const traits = listModalities(record).join(',')
  return [
    buildFigure(record, 'model', day, [model, traits, findContextBucket(measures.prompt(record))]),
    ...(app === null ? [] : [{ ...buildFigure(record, 'app', day, [app]), label }]),
    ...(task ? listSampledFigures(record, day, task) : []),
  ]
}

/** A reversal of a generation whose task was not counted subtracts nothing. */
function listSampledFigures(
  record: UsageRecord,
  day: string,
  { tag, category, language, weight, counted }: GenerationTask,
): DatasetContributionTable[] {
  if (record.sign === -1 && counted === 0) return []
  const week = utcWeekStart(Date.parse(day))
  return [
    buildFigure(record, 'task', day, [record.model, tag], weight),
    buildFigure(record, 'topic', week, [record.model, category ?? '', language], weight),
  ]
}

function buildFigure(
  record: UsageRecord,
  kind: DatasetKind,
  day: string,
  subject: readonly string[],
  weight = 1,
): DatasetContributionTable {
  const factor = weight * (record.sign ?? 1)
  return {
    ...{ kind, day, subject: subject.join('\n'), organization_id: record.organization_id, label: null },
    requests: factor,
    tokens: factor * (measures.prompt(record) + measures.completion(record)),
    cost_nanos: BigInt(factor) * listPriceOf(record),
  }
}

/** Sessions of apps that are ranked. */
function readSession(record: UsageRecord, app_url: string | null): DatasetSessionTable | null {
  // Records of an earlier version have no session.
  const session_id = record.session_id ?? null
  if (app_url === null || session_id === null) return null
  const { organization_id, model, created_at } = record
  const sign = record.sign ?? 1
  const day = created_at.slice(0, 10)
  const cost_nanos = BigInt(sign) * listPriceOf(record)
  return { organization_id, session_id, app_url, model, day, turns: sign, cost_nanos }
}

function listPriceOf({ is_byok, cost_nanos, upstream_cost_nanos }: UsageRecord): bigint {
  return is_byok ? upstream_cost_nanos : cost_nanos
}

/** `text` is a request with nothing but text in the prompt and in the reply. */
function listModalities(record: UsageRecord): Modality[] {
  const isImage = record.input_images > 0 || record.tokens_input_image > 0
  const isImageOutput = record.tokens_output_image > 0 || record.api_type === 'image'
  const isAudio =
    record.tokens_input_audio > 0 || record.tokens_output_audio > 0 || isAudioTask(record.api_type)
  const isText = !isImage && !isImageOutput && !isAudio && record.api_type !== 'video'
  const present = {
    text: isText,
    image: isImage,
    image_output: isImageOutput,
    audio: isAudio,
    tool_calling: record.finish_reason === 'tool_calls',
  }
  return modalities.filter((modality) => present[modality])
}

function isAudioTask(apiType: string | null): boolean {
  return apiType === 'tts' || apiType === 'stt'
}

function findContextBucket(tokens: number): ContextBucket {
  for (const [name, size] of Object.entries(contextSizes)) if (tokens <= size) return name as ContextBucket
  return '10M'
}
