import { isServerToolType, type ModelCall } from '../../formats/call/call.ts'
import type { PartDelta, ReplyEvent } from '../../formats/call/event.ts'
import type { Citation, OutputPart, ToolCallPart, ToolResultPart } from '../../formats/call/part.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { LinkedAbortController } from '../../platform/concurrency/linked-abort-controller.ts'
import { GatewayError, isBlock } from '../../platform/errors/gateway-error.ts'
import { tryParseJson } from '../../platform/json/json.ts'
import { asObject, type JsonObject } from '../../platform/json/json-values.ts'
import { logOf } from '../../platform/logging/request-log.ts'
import { nameError, type OpenSpan } from '../../platform/tracing/span-recorder.ts'
import { isLimitError } from '../hold/limit-error.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import type { RequestWork } from '../request/work.ts'
import type { PreparedFunction, PreparedTools } from '../tools/prepared-tools.ts'
import type { ToolOutcome, ToolRun } from '../tools/tool.ts'
import { EventQueue } from './event-queue.ts'
import { buildToolResult, describeFailure, textOf } from './tool-result.ts'
import { beginToolSpan, nestBelow } from './tool-span.ts'

const maxConcurrentCalls = 8
const defaultTimeoutMs = 120_000

/** The context of the calls of a turn. */
export interface CallContext {
  gateway: Gateway
  request: InferenceRequest
  work: RequestWork
  tools: PreparedTools
  /** The slug of the model that made the calls. */
  model: string
  conversation: ModelCall['messages']
  signal: AbortSignal
  reserve: ToolRun['reserve']
  takePart: () => number
}

/** A call of a function that the gateway runs. */
export interface ServerCall {
  call: ToolCallPart
  target: PreparedFunction
}

/** Runs the calls of a turn, several at a time. */
export class ToolCalls {
  readonly results: ToolResultPart[] = []
  readonly citations: Citation[] = []
  readonly #context: CallContext
  readonly #queue = new EventQueue()
  /** Ends the reply. */
  #error: unknown = null

  constructor(context: CallContext) {
    this.#context = context
  }

  /** The events of the calls. Throws what ends the reply: a limit, a block, the end of the request. */
  async *run(calls: readonly ServerCall[], maxCalls: number): AsyncGenerator<ReplyEvent> {
    const { toolCalls } = this.#context.work
    toolCalls.requested += calls.length
    const waiting = calls.map((call, index) => ({ ...call, index, part: this.#context.takePart() }))
    const work = async () => {
      for (let next = waiting.shift(); next && this.#error === null; next = waiting.shift()) {
        const { index, ...call } = next
        await this.#runOne(call, index, index < maxCalls)
      }
    }
    const workers = Array.from({ length: Math.min(maxConcurrentCalls, calls.length) }, work)
    void Promise.all(workers).then(() => this.#queue.end())
    yield* this.#queue.read()
    if (this.#error !== null) throw this.#error
  }

  async #runOne(
    { call, target, part }: ServerCall & { part: number },
    index: number,
    isAllowed: boolean,
  ): Promise<void> {
    const { gateway, request, work } = this.#context
    try {
      const described = target.instance.describe(call)
      const item: JsonObject = { status: 'in_progress', ...described.item }
      const { id, arguments: args } = call
      this.#push(part, {
        kind: 'server-tool',
        id,
        tool: target.tool.name,
        arguments: args,
        ...described,
        item,
      })
      const outcome = await this.#execute({ call, target }, part, isAllowed)
      const result = await buildToolResult(gateway, request, call, outcome)
      this.results[index] = result
      this.citations.push(...(outcome.citations ?? []))
      work.toolCalls.webSearches += outcome.webSearches ?? 0
      work.toolCalls.webFetches += outcome.webFetches ?? 0
      this.#delta(part, { ended: describeEnd(item, outcome, result) })
      this.#queue.push({ type: 'part-end', choice: 0, part })
      for (const content of outcome.parts ?? []) this.#pushWhole(content)
    } catch (error) {
      this.#error ??= error
    }
  }

  async #execute({ call, target }: ServerCall, part: number, isAllowed: boolean): Promise<ToolOutcome> {
    const { request, work } = this.#context
    const { tool } = target
    if (!isAllowed) return { ...describeFailure('Not called: the limit of tool calls is reached.'), item: {} }
    const input = parseArguments(call.arguments)
    if (!input) return { ...describeFailure('The arguments are not a valid JSON object.'), item: {} }
    const startedAt = performance.now()
    const span = request.spans && beginToolSpan(request.spans, call, target)
    const outcome = await this.#call({ call, target }, { ...this.#buildRun(part, span), input })
    span?.end(outcome.isError ? (outcome.errorType ?? 'tool_error') : null)
    work.toolCalls.executed++
    this.#context.gateway.metrics.policies.recordToolRun(tool.name, outcome.isError ? 'failed' : 'completed')
    this.#addLines(tool.name, outcome, startedAt)
    return outcome
  }

  /** A run that costs nothing has a line too, which says when it was. */
  #addLines(name: string, { fees = [] }: ToolOutcome, startedAt: number): void {
    const { request, work } = this.#context
    const run = {
      kind: 'tool' as const,
      name,
      durationMs: Math.round(performance.now() - startedAt),
      startedMs: startedAt - request.startedAt,
    }
    for (const { name: provider, quantity, nanos } of fees)
      work.bill.addFee({ ...run, provider, quantity, cost: nanos })
    if (fees.length === 0) work.bill.addFee({ ...run, provider: null, quantity: 1, cost: 0n })
  }

  /** A failure is a result for the model, unless it is a refusal of the gateway. */
  async #call({ call, target: { name, instance } }: ServerCall, context: ToolRun): Promise<ToolOutcome> {
    const { run, timeoutMs = defaultTimeoutMs } = instance
    const abort = new LinkedAbortController([context.signal], timeoutMs)
    const { signal } = abort
    try {
      const running =
        run?.({ ...call, name }, { ...context, signal }) ?? Promise.reject(new Error('the client runs it'))
      return await abortable(running, signal)
    } catch (error) {
      const { aborted, reason } = context.signal
      if (aborted || isRefusal(error)) {
        context.span?.end(aborted ? 'cancelled' : nameError(error))
        throw aborted ? reason : error
      }
      const errorType = abort.isTimedOut ? 'timeout' : nameError(error)
      return { ...describeFailure(this.#describeError(error, abort)), errorType, item: {} }
    } finally {
      abort.close()
    }
  }

  #describeError(error: unknown, { isTimedOut }: LinkedAbortController): string {
    if (isTimedOut) return 'The tool timed out.'
    if (error instanceof GatewayError) return error.message
    const { gateway, request } = this.#context
    logOf(gateway, request).warn({ err: error }, 'a server tool failed')
    return 'The tool failed.'
  }

  #buildRun(part: number, span: OpenSpan | null): Omit<ToolRun, 'input'> {
    const { tools, model, conversation, signal, reserve } = this.#context
    const { request, nested } = tools
    const progress = (event: JsonObject) => this.#delta(part, { progress: event })
    const requests = span ? nestBelow(nested, span) : nested
    return { ...request, ...requests, span, model, conversation, signal, reserve, progress }
  }

  #push(part: number, content: OutputPart): void {
    this.#queue.push({ type: 'part-start', choice: 0, part, content })
  }

  #delta(part: number, delta: PartDelta): void {
    this.#queue.push({ type: 'part-delta', choice: 0, part, delta })
  }

  #pushWhole(content: OutputPart): void {
    const part = this.#context.takePart()
    this.#push(part, content)
    this.#queue.push({ type: 'part-end', choice: 0, part })
  }
}

/** Rejects as soon as the signal aborts: a tool may not listen to it. */
function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

/** Whether the error ends the request: limits and guardrails apply to it as a whole. */
function isRefusal(error: unknown): boolean {
  return isBlock(error) || isLimitError(error)
}

/** Parses arguments; null if they are not an object. Calls without arguments are often empty. */
function parseArguments(text: string): JsonObject | null {
  if (text.trim() === '') return {}
  return asObject(tryParseJson(text)) ?? null
}

function describeEnd(
  item: JsonObject,
  outcome: ToolOutcome,
  result: ToolResultPart,
): NonNullable<PartDelta['ended']> {
  const { isError, block } = outcome
  // Not all items of vendors can be incomplete.
  const failed = isServerToolType(String(item.type)) ? 'incomplete' : 'failed'
  return {
    item: { ...item, status: isError ? failed : 'completed', ...outcome.item },
    result: textOf(result),
    ...(isError && { isError }),
    ...(block && { block }),
  }
}
