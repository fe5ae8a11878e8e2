import { classifyTask } from '../../analytics/classifier/classify.ts'
import { buildTaskStatement as buildSampleStatement } from '../../analytics/datasets/task-samples.ts'
import { findTelemetryName } from '../../catalog/provider.ts'
import type { EventInput, EventOutput } from '../../delivery/destinations/event.ts'
import { loadExportSettings } from '../../delivery/destinations.ts'
import { buildOutboxStatements, selectTargets } from '../../delivery/outbox.ts'
import type { DataRegion } from '../../formats/vocabulary.ts'
import type { ReplySummary } from '../../formats/wire-format.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { findKeyById } from '../../identity/keys.ts'
import type { BillLine } from '../../ledger/bill.ts'
import { buildLineStatement } from '../../ledger/bill-lines.ts'
import type { SettledGeneration } from '../../ledger/settlement.ts'
import type { Statement } from '../../platform/db/batch.ts'
import type { GatewayError } from '../../platform/errors/gateway-error.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { logOf } from '../../platform/logging/request-log.ts'
import { buildHitStatements } from '../guard/hits.ts'
import type { Transcript } from '../reply/transcript.ts'
import type { RequestState } from '../request/inference-request.ts'
import { forbidsRetention } from '../request/retention.ts'
import type { Candidate } from '../routing/candidate.ts'
import {
  buildContentStatements,
  buildInput,
  ContentClipper,
  describeMessage,
  readOutput,
} from './content-log.ts'
import { buildEvent, readParameters } from './event.ts'
import { buildEventTrace, deriveTrace } from './event-trace.ts'

/** The facts of a request that are recorded besides its generation. */
export interface RecordSource {
  /** The error that the client received, instead of a reply or in the middle of a stream. */
  error: GatewayError | null
  summary: Pick<ReplySummary, 'toolCalls'> | null
  /** The candidate that served the request; null for a cached reply. */
  candidate: Candidate | null
  /** Lines of the bill, if the request used more than one reply of its model. */
  lines?: readonly BillLine[]
}

/** Everything that is committed with the charge of a request besides its generation. Never throws. */
export function buildRecordStatements(
  gateway: Gateway,
  request: RequestState,
  settled: SettledGeneration,
  source: RecordSource,
): Statement[] {
  const statements: Statement[] = []
  if (source.lines?.length) statements.push(buildLineStatement(gateway.db, request.id, source.lines))
  if (request.logsContent) statements.push(...buildContentStatements(gateway, request, source.error))
  if (request.hits) statements.push(...buildHitStatements(gateway, request, source.candidate))
  const task = buildTaskStatement(gateway, request)
  if (task) statements.push(task)
  if (request.exportTargets) statements.push(...buildExportStatements(gateway, request, settled, source))
  return statements
}

/**
 * Classifies the prompt of a sampled request by its task. Only the classification is stored. Requests of a region,
 * those that must not be retained, and mirrors are left out.
 */
function buildTaskStatement(gateway: Gateway, request: RequestState): Statement | null {
  if (request.format.task !== 'text' || request.region !== 'global' || forbidsRetention(request)) return null
  if (request.keyContext.isMirror) return null
  const { classify_one_in } = gateway.settings.datasets
  const weight = gateway.taskSampler.choose(request.id, classify_one_in, performance.now())
  if (weight === null) return null
  try {
    const task = classifyTask(request.content.call)
    return buildSampleStatement(gateway.db, request.id, task, weight)
  } catch (err) {
    logOf(gateway, request).warn({ err }, 'failed to classify a request')
    return null
  }
}

function buildExportStatements(
  gateway: Gateway,
  request: RequestState,
  settled: SettledGeneration,
  source: RecordSource,
): Statement[] {
  const { caller, content, at, exportTargets, attempts } = request
  if (!exportTargets) return []
  try {
    const { includesContent } = exportTargets
    const event = buildEvent(settled, {
      sampledId: request.sampledId,
      trace: buildEventTrace(request),
      key: caller.key,
      telemetryProvider: findTelemetryName(gateway.catalog, settled.target.provider),
      endedAt: Math.max(at, gateway.clock.now()),
      // It may quote the prompt.
      errorMessage: source.error && request.region === 'global' ? describeMessage(source.error) : null,
      parameters: readParameters(request, includesContent),
      tools: {
        declared: content.call.tools?.length ?? 0,
        called: includesContent ? listCalledTools(source, attempts.transcript) : [],
      },
      hits: request.hits ?? [],
      input: includesContent ? readEventInput(content.body) : null,
      output: includesContent && attempts.transcript ? readEventOutput(request, attempts.transcript) : null,
    })
    const owner = { organizationId: caller.organizationId, workspaceId: caller.key.workspace_id }
    return buildOutboxStatements(gateway.db, gateway.vault, owner, exportTargets, event)
  } catch (err) {
    logOf(gateway, request).warn({ err }, 'failed to queue a generation for its destinations')
    return []
  }
}

const maxCalledTools = 100
const maxToolNameLength = 256

function listCalledTools({ summary }: RecordSource, transcript: Transcript | null): string[] {
  const calls = summary?.toolCalls.length ? summary.toolCalls : (transcript?.toText().tool_calls ?? [])
  const names = calls.slice(0, maxCalledTools).map(({ name }) => name.slice(0, maxToolNameLength))
  return [...new Set(names)]
}

/** No destination receives more. Encrypting as much takes a few milliseconds. */
const maxInputCharacters = 512 * 1024

function readEventInput(body: JsonObject): EventInput | null {
  const input = buildInput(body, new ContentClipper(maxInputCharacters))
  return 'prompt' in input && input.prompt === '' ? null : input
}

function readEventOutput({ content }: RequestState, transcript: Transcript): EventOutput | null {
  const output = readOutput(content.call, transcript)
  const isEmpty = output.completion === null && output.reasoning === null && output.tool_calls.length === 0
  return isEmpty ? null : output
}

/** The stored facts of a request whose process has ended, or of a job. */
export interface DetachedSource {
  /** The prompt, if it was stored. */
  input: EventInput | null
  errorMessage: string | null
}

/**
 * Builds the statements of `buildRecordStatements` for a job, and for a request whose process has ended. Throws if a
 * query fails.
 */
export async function buildDetachedStatements(
  gateway: Gateway,
  settled: SettledGeneration,
  { input, errorMessage }: DetachedSource,
): Promise<Statement[]> {
  const { db } = gateway
  const { draft, lines } = settled
  const statements = lines?.length ? [buildLineStatement(db, draft.id, lines)] : []
  return [...statements, ...(await buildDetachedExport(gateway, settled, { input, errorMessage }))]
}

async function buildDetachedExport(
  gateway: Gateway,
  settled: SettledGeneration,
  { input, errorMessage }: DetachedSource,
): Promise<Statement[]> {
  const { db, vault, clock } = gateway
  const { draft } = settled
  const destinations = await loadExportSettings(db, draft.workspace_id)
  if (destinations.length === 0) return []
  const key = (await findKeyById(db, draft.key_id)) ?? { name: '', hash: '' }
  const facts = {
    id: draft.id,
    region: draft.region as DataRegion,
    keyHash: key.hash,
    sessionId: draft.session_id,
  }
  const targets = selectTargets(destinations, facts)
  if (!targets) return []
  const event = buildEvent(settled, {
    sampledId: draft.id,
    trace: deriveTrace(draft.id),
    key,
    telemetryProvider: findTelemetryName(gateway.catalog, settled.target.provider),
    endedAt: clock.now(),
    errorMessage: facts.region === 'global' ? errorMessage : null,
    parameters: {},
    tools: { declared: 0, called: [] },
    hits: [],
    input: targets.includesContent ? input : null,
    output: null,
  })
  const owner = { organizationId: draft.organization_id, workspaceId: draft.workspace_id }
  return buildOutboxStatements(db, vault, owner, targets, event)
}
