import type { Endpoint } from '../../catalog/model.ts'
import type { FailureKind } from '../../formats/call/failure.ts'
import { countCompletionTokens } from '../../formats/call/usage.ts'
import { operationOf } from '../../formats/operation-name.ts'
import type { TaskName } from '../../formats/vocabulary.ts'
import type { Charge } from '../../ledger/charge.ts'
import type { SettledGeneration } from '../../ledger/settlement.ts'
import type { GenerationStatus } from '../../platform/db/generation-table.ts'
import type { ErrorCode } from '../../platform/errors/table.ts'
import { yieldToEventLoop } from '../../platform/time/time-slicer.ts'
import type { MetricData } from '../exposition/metric-data.ts'
import { collectEndpoints, collectSpending } from './collect.ts'
import {
  bucketsPerDouble,
  durationBounds,
  durationFrom,
  EndpointCounts,
  type EndpointLabels,
  firstTokenBounds,
  KeyCounts,
  type KeyLabels,
  lastNative,
  outputTokenBounds,
  outputTokenFrom,
  SpendingCounts,
  type SpendingLabels,
  type TracedSpan,
} from './counts.ts'
import { LabelSets, LabelValues } from './label-sets.ts'
import type { MetricsSettings } from './settings.ts'

/** The label of what is not known of a request. */
const noLabel = 'none'

/** What is counted of every request. */
interface CountedRequest {
  format: { task: TaskName }
  caller: { key: { workspace_id: string; hash: string } }
}

interface RejectedRequest extends CountedRequest {
  plan: { candidates: readonly { model: { id: string } }[] } | null
}

/** A request that was sent to an endpoint, or was about to be. */
interface EndedRequest extends CountedRequest {
  startedAt: number
  /** Null unless its trace is recorded. */
  spans: { readonly root: TracedSpan } | null
  attempts: {
    candidate: { endpoint: Endpoint } | null
    failed: readonly { model: string; endpoint: string; startedAt: number; failure: { kind: FailureKind } }[]
    isOpen: boolean
    lastStartedAt: number
  }
}

interface RequestOutcome {
  status: GenerationStatus
  charge: Charge
  summary: { failure?: { kind: FailureKind } | null } | null
  error: { code: ErrorCode } | null
  firstTokenMs: number | null
}

/** Counts requests to models by model, provider, endpoint, workspace and operation, and by key if it is switched on. */
export class ModelMetrics {
  readonly #values = new LabelValues()
  readonly #endpoints = new LabelSets(
    this.#values,
    ['model', 'endpoint'],
    (labels: EndpointLabels) => new EndpointCounts(labels),
  )
  readonly #spending = new LabelSets(
    this.#values,
    ['workspace', 'model'],
    (labels: SpendingLabels) => new SpendingCounts(labels),
  )
  readonly #keys = new LabelSets(
    this.#values,
    ['workspace', 'key'],
    (labels: KeyLabels) => new KeyCounts(labels),
  )
  /** The same counts as `#endpoints`, found without building their labels. */
  #counts = new WeakMap<Endpoint, Map<TaskName, EndpointCounts>>()
  #isByKey = false
  readonly #restricted = new Map<string, EndpointLabels>()

  configure({ by_key, max_label_values }: MetricsSettings): void {
    this.#isByKey = by_key
    this.#values.max = max_label_values
  }

  /** The workspaces that have series. */
  get workspaceIds(): string[] {
    return [...new Set([...this.#spending.all].map(({ labels }) => labels.workspace))]
  }

  /**
   * Counts a request that has ended and has a candidate. One function, because every request calls it: nothing is
   * allocated once its labels are known. Call it while the outcome of the last attempt is still to be recorded.
   */
  record(request: EndedRequest, outcome: RequestOutcome): void {
    const { attempts, format, caller, startedAt, spans } = request
    const { candidate } = attempts
    if (!candidate) return
    const counts =
      this.#counts.get(candidate.endpoint)?.get(format.task) ?? this.#open(candidate.endpoint, format.task)
    const { status, charge, firstTokenMs } = outcome
    const { usage } = charge
    const spending =
      counts.spending.get(caller.key.workspace_id) ?? this.#openSpending(counts, caller.key.workspace_id)
    spending[status] += 1
    spending.input += usage.input + usage.inputAudio + usage.inputImage + usage.inputVideo
    spending.cacheRead += usage.cacheRead + usage.cacheReadAudio
    spending.cacheWrite += usage.cacheWrite + usage.cacheWrite1h
    spending.output += countCompletionTokens(usage) - usage.reasoning
    spending.reasoning += usage.reasoning
    spending.costNanos += Number(charge.cost)
    spending.upstreamNanos += Number(charge.upstream)
    const { duration, firstToken, outputToken } = counts
    const seconds = (performance.now() - startedAt) / 1000
    let at = 0
    while (seconds > (durationBounds[at] ?? seconds)) at++
    duration.buckets[at] = (duration.buckets[at] ?? 0) + 1
    duration.sum += seconds
    at = Math.ceil((Math.log2(seconds) - durationFrom) * bucketsPerDouble)
    at = at > 0 ? Math.min(at, lastNative) : 0
    duration.native[at] = (duration.native[at] ?? 0) + 1
    if (firstTokenMs !== null) {
      const first = firstTokenMs / 1000
      at = 0
      while (first > (firstTokenBounds[at] ?? first)) at++
      firstToken.buckets[at] = (firstToken.buckets[at] ?? 0) + 1
      firstToken.sum += first
      at = Math.ceil((Math.log2(first) - durationFrom) * bucketsPerDouble)
      at = at > 0 ? Math.min(at, lastNative) : 0
      firstToken.native[at] = (firstToken.native[at] ?? 0) + 1
      const tokens = countCompletionTokens(usage) - 1
      if (tokens > 0) {
        const pause = Math.max(0, seconds - first) / tokens
        at = 0
        while (pause > (outputTokenBounds[at] ?? pause)) at++
        outputToken.buckets[at] = (outputToken.buckets[at] ?? 0) + 1
        outputToken.sum += pause
        at = Math.ceil((Math.log2(pause) - outputTokenFrom) * bucketsPerDouble)
        at = at > 0 ? Math.min(at, lastNative) : 0
        outputToken.native[at] = (outputToken.native[at] ?? 0) + 1
      }
    }
    if (spans)
      noteTrace(counts, spans.root, { seconds, firstTokenMs, tokens: countCompletionTokens(usage) - 1 })
    if (status === 'completed' && attempts.isOpen && attempts.failed.length === 0) counts.succeeded += 1
    else this.#countAttempts(request, outcome, counts)
    if (this.#isByKey) this.#recordKey(request, outcome)
  }

  #open(endpoint: Endpoint, task: TaskName): EndpointCounts {
    let byTask = this.#counts.get(endpoint)
    if (!byTask) {
      byTask = new Map()
      this.#counts.set(endpoint, byTask)
    }
    const counts = this.#openNamed(endpoint.model_id, endpoint.tag, operationOf(task))
    byTask.set(task, counts)
    return counts
  }

  #openNamed(model: string, endpoint: string, operation: string): EndpointCounts {
    const [provider = noLabel] = endpoint.split('/')
    return this.#endpoints.open({ model, provider, endpoint, operation })
  }

  #openSpending(counts: EndpointCounts, workspace: string): SpendingCounts {
    const { model, provider, operation } = counts.labels
    const spending = this.#spending.open({ workspace, model, provider, operation })
    if (counts.spending.size >= this.#values.max) counts.spending.clear()
    counts.spending.set(workspace, spending)
    return spending
  }

  #countAttempts({ attempts, format }: EndedRequest, outcome: RequestOutcome, last: EndpointCounts): void {
    const { failed, isOpen, lastStartedAt } = attempts
    const operation = operationOf(format.task)
    const endpoints = failed.map(({ model, endpoint }) => this.#openNamed(model, endpoint, operation))
    // The last attempt may be among those that failed, or be a turn that was counted when it ended.
    const hasOther = failed.at(-1)?.startedAt !== lastStartedAt
    for (const [index, counts] of endpoints.entries()) {
      countFailure(counts, failed[index]?.failure.kind ?? 'provider_unavailable')
      const next = endpoints[index + 1] ?? (hasOther ? last : null)
      if (next === counts) counts.retries += 1
      else if (next) counts.failovers += 1
    }
    if (!hasOther) return
    const failure = outcome.status === 'failed' && findFailure(outcome)
    if (failure) countFailure(last, failure)
    else if (outcome.status === 'cancelled') last.canceled += 1
    else if (isOpen) last.succeeded += 1
  }

  #recordKey({ caller: { key } }: EndedRequest, { status, charge }: RequestOutcome): void {
    const counts = this.#keys.open({ workspace: key.workspace_id, key: key.hash })
    counts[status] += 1
    addCharge(counts, charge)
  }

  /** A turn that is followed by another one. */
  recordTurn(endpoint: Endpoint, task: TaskName): void {
    this.#open(endpoint, task).succeeded += 1
  }

  /** A request that was rejected before a provider was called. */
  recordRejection({ caller: { key }, format, plan }: RejectedRequest): void {
    const model = plan?.candidates[0]?.model.id ?? noLabel
    const operation = operationOf(format.task)
    this.#spending.open({ workspace: key.workspace_id, model, provider: noLabel, operation }).rejected += 1
    if (this.#isByKey) this.#keys.open({ workspace: key.workspace_id, key: key.hash }).rejected += 1
  }

  /** A request that the response cache answered. */
  recordCached(
    { caller: { key }, format }: CountedRequest,
    { model, provider }: { model: string; provider: string },
  ): void {
    const operation = operationOf(format.task)
    this.#spending.open({ workspace: key.workspace_id, model, provider, operation }).cached += 1
    if (this.#isByKey) this.#keys.open({ workspace: key.workspace_id, key: key.hash }).cached += 1
  }

  /** A job that has ended, whichever process began it. */
  recordJob({ draft, target, charge, end }: SettledGeneration, task: TaskName): void {
    const { model, endpoint } = target
    const counts = this.#openNamed(model, endpoint, operationOf(task))
    const spending = this.#openSpending(counts, draft.workspace_id)
    spending[end.status] += 1
    addCharge(spending, charge)
    if (end.status === 'completed') counts.succeeded += 1
    else if (end.status === 'cancelled') counts.canceled += 1
    else countFailure(counts, 'provider_unavailable')
  }

  recordRestriction(
    { id, endpoint }: { id: string; endpoint: Endpoint },
    task: TaskName,
    restriction: 'cooldown' | 'ejection',
  ): void {
    const counts = this.#open(endpoint, task)
    if (restriction === 'cooldown') counts.cooldowns += 1
    else counts.ejections += 1
    this.#restricted.delete(id)
    this.#restricted.set(id, counts.labels)
    const [oldest] = this.#restricted.keys()
    if (this.#restricted.size > this.#values.max && oldest !== undefined) this.#restricted.delete(oldest)
  }

  /** Endpoints that were restricted lately, by the ids of their health. */
  get restricted(): Iterable<[id: string, labels: EndpointLabels]> {
    return this.#restricted
  }

  async collect(): Promise<MetricData[]> {
    const metrics: MetricData[] = []
    const steps = [
      collectEndpoints([...this.#endpoints.all]),
      collectSpending('headgate', '', [...this.#spending.all]),
      ...(this.#isByKey ? [collectSpending('headgate_key', ', by key', [...this.#keys.all])] : []),
    ]
    for (const step of steps)
      for (const metric of step) {
        metrics.push(metric)
        await yieldToEventLoop()
      }
    return metrics
  }
}

/** Notes which trace the values of a request belong to. */
function noteTrace(
  { duration, firstToken, outputToken }: EndpointCounts,
  root: TracedSpan,
  { seconds, firstTokenMs, tokens }: { seconds: number; firstTokenMs: number | null; tokens: number },
): void {
  duration.exemplify(seconds, root)
  if (firstTokenMs === null) return
  const first = firstTokenMs / 1000
  firstToken.exemplify(first, root)
  if (tokens > 0) outputToken.exemplify(Math.max(0, seconds - first) / tokens, root)
}

/** What the provider did wrong; null if the request failed for another reason. */
function findFailure({ error, summary }: RequestOutcome): FailureKind | ErrorCode | null {
  if (summary?.failure) return summary.failure.kind
  if (error === null) return 'provider_unavailable'
  return error.code.startsWith('upstream_') ? error.code : null
}

function countFailure({ failed }: EndpointCounts, kind: FailureKind | ErrorCode): void {
  failed.set(kind, (failed.get(kind) ?? 0) + 1)
}

function addCharge(counts: SpendingCounts | KeyCounts, { usage, cost, upstream }: Charge): void {
  counts.input += usage.input + usage.inputAudio + usage.inputImage + usage.inputVideo
  counts.cacheRead += usage.cacheRead + usage.cacheReadAudio
  counts.cacheWrite += usage.cacheWrite + usage.cacheWrite1h
  counts.output += countCompletionTokens(usage) - usage.reasoning
  counts.reasoning += usage.reasoning
  counts.costNanos += Number(cost)
  counts.upstreamNanos += Number(upstream)
}
