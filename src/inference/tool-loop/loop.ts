import type { Message, ModelCall } from '../../formats/call/call.ts'
import type { ChoiceEnd, FinishReason, ReplyEvent } from '../../formats/call/event.ts'
import type { ToolResultPart } from '../../formats/call/part.ts'
import { countCompletionTokens, countPromptTokens, zeroUsage } from '../../formats/call/usage.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { noAmounts } from '../../ledger/amounts.ts'
import { LinkedAbortController } from '../../platform/concurrency/linked-abort-controller.ts'
import { GatewayError } from '../../platform/errors/gateway-error.ts'
import { usdFromNanos } from '../../platform/money/money.ts'
import { UpstreamError } from '../failures/errors.ts'
import { guardAddedCalls } from '../guard/added-content.ts'
import { holdFee, holdTurn, protectTurn } from '../hold/extend-hold.ts'
import { isLimitError } from '../hold/limit-error.ts'
import type { Admitted, InferenceRequest } from '../request/inference-request.ts'
import type { PipelineStage, RequestWork } from '../request/work.ts'
import { recordOutcome } from '../settle/observe.ts'
import { computeTurnCharge, writeTurnCheckpoint } from '../settle/settle.ts'
import type { PreparedTools } from '../tools/prepared-tools.ts'
import { endTurnSpans } from '../upstream/attempt-span.ts'
import { dispatchTurn } from '../upstream/dispatch-turn.ts'
import type { UpstreamExchange } from '../upstream/exchange.ts'
import type { Turn } from '../upstream/turn.ts'
import { findStop } from './budget.ts'
import { CitationWriter } from './citations.ts'
import { type ServerCall, ToolCalls } from './tool-calls.ts'
import { relaxToolChoice } from './tool-choice.ts'
import { TurnRelay } from './turn-relay.ts'

/** The request whose reply a loop generates. */
export interface LoopContext {
  gateway: Gateway
  request: Admitted<InferenceRequest>
  /** The exchange of the first turn. It lasts as long as the request: when it ends, every turn and tool is aborted. */
  exchange: UpstreamExchange
}

interface LoopWork {
  work: RequestWork
  tools: PreparedTools
}

/** Creates a loop; null for a request without server tools. */
export function createLoop(context: LoopContext): ToolLoop | null {
  const { work } = context.request
  return work?.tools ? new ToolLoop({ ...context, work, tools: work.tools }) : null
}

/**
 * The reply of a request with server tools: the model's turns, and between them the tools it calls, until it calls
 * none. The turns before the last one are on the bill of the request.
 */
export class ToolLoop {
  readonly context: LoopContext & LoopWork
  readonly #citations = new CitationWriter()
  /** The request has ended. */
  readonly #ending: LinkedAbortController
  readonly #stage: PipelineStage = { type: 'server_tools', name: 'server_tools' }
  #call: ModelCall
  #partCount = 0
  #steps = 0
  #hasText = false
  #isLast: boolean
  #stopReason: string | null = null

  constructor(context: LoopContext & LoopWork) {
    const { request, exchange } = context
    this.context = context
    this.#call = request.content.call
    this.#ending = new LinkedAbortController([exchange.signal, request.httpRequest.signal])
    this.#isLast = context.tools.maxCalls === 0
    this.#partCount = context.tools.openingParts
  }

  /** Runs the turns. Only the first throws errors of its upstream: later the reply has begun and cannot fail over. */
  async *run(first: Turn): AsyncGenerator<ReplyEvent> {
    let relay = this.#createRelay(first)
    yield* this.#open(relay)
    try {
      for (let ending = this.#endTurn(relay); ; ending = this.#endTurn(relay)) {
        const next = yield* ending
        if (!next) return
        relay = this.#createRelay(next)
        yield* relay.relay(false)
      }
    } catch (error) {
      yield* this.#fail(error)
    } finally {
      this.#ending.close()
    }
  }

  get #signal(): AbortSignal {
    return this.#ending.signal
  }

  /** The first parts are sent with the first content, because until then another candidate may be tried. */
  async *#open(relay: TurnRelay): AsyncGenerator<ReplyEvent> {
    const { opening } = this.context.tools
    const { summary } = relay.turn
    const held: ReplyEvent[] = []
    for await (const event of relay.relay(true)) {
      if (opening.length === 0 || !isPartEvent(event)) yield event
      else held.push(event)
      if (held.length > 0 && summary.hasContent) yield* [...opening.splice(0), ...held.splice(0)]
    }
    if (summary.isComplete && !summary.failure) yield* opening.splice(0)
    yield* held
  }

  #createRelay(turn: Turn): TurnRelay {
    this.#steps++
    if (this.#steps > 1) this.#describeStage()
    const { functions } = this.context.tools
    return new TurnRelay(turn, { functions, citations: this.#citations, takePart: this.#takePart })
  }

  #takePart = () => this.#partCount++

  /** Runs the tools that the turn called; the next turn, or null if the reply has ended. */
  async *#endTurn(relay: TurnRelay): AsyncGenerator<ReplyEvent, Turn | null> {
    const { turn } = relay
    const called = relay.listCalls()
    this.#hasText ||= relay.hasText
    if (!turn.summary.isComplete || turn.summary.failure || called.length === 0) {
      yield* this.#endReply(relay, called)
      return null
    }
    this.#addToBill(turn)
    // At once: until then the turn would be charged with the reply in progress too.
    yield { type: 'turn-end' }
    yield* this.#citations.end(false)
    const calls = this.#isLast ? called : await this.#guardCalls(relay, called)
    const results = this.#isLast ? [] : yield* this.#runTools(relay, calls)
    const hasClientCalls = relay.hasPassedCalls || (!this.#isLast && !calls.every(isRunHere))
    if (this.#isLast || hasClientCalls) {
      yield* this.#finish(hasClientCalls ? 'tool_calls' : 'stop', relay.end?.native ?? null)
      return null
    }
    this.#extendConversation(relay, results)
    return yield* this.#openNext(relay)
  }

  /** The last turn, which is not on the bill: it is charged with the reply. */
  async *#endReply({ turn, end }: TurnRelay, calls: readonly ServerCall[]): AsyncGenerator<ReplyEvent> {
    const { isComplete, failure } = turn.summary
    void turn.release(this.#steps === 1)
    if (isComplete && !failure) this.#recordTurn(turn)
    yield* this.#citations.end(true)
    if (end && calls.length === 0) yield end
    if (isComplete) yield { type: 'reply-end' }
  }

  /** The reply ends without another turn. */
  async *#finish(reason: FinishReason, native: string | null): AsyncGenerator<ReplyEvent> {
    yield* this.#citations.end(true)
    const end: ChoiceEnd = { type: 'choice-end', choice: 0, reason, native }
    yield end
    yield { type: 'usage', usage: zeroUsage }
    yield { type: 'reply-end' }
  }

  #addToBill(turn: Turn): void {
    const { work, request } = this.context
    const { model, endpoint } = turn.candidate
    const { charge, ...times } = this.#recordTurn(turn)
    void turn.release(this.#steps === 1)
    endTurnSpans(request.attempts)
    work.bill.addTurn({ name: model.id, provider: endpoint.provider.slug, quantity: 1, ...times }, charge)
  }

  /** The outcome of a turn updates the health of the candidate that served it. */
  #recordTurn({ candidate, summary, firstContentAt }: Turn) {
    const { gateway, request } = this.context
    const charge = computeTurnCharge(gateway, request, summary)
    const firstTokenMs =
      request.content.stream && firstContentAt !== null ? firstContentAt - request.startedAt : null
    gateway.metrics.models.recordTurn(candidate.endpoint, request.format.task)
    recordOutcome(gateway, request, { status: 'completed', charge, summary, error: null, firstTokenMs })
    const { lastStartedAt } = request.attempts
    const durationMs = Math.round(performance.now() - lastStartedAt)
    return { charge, durationMs, startedMs: lastStartedAt - request.startedAt }
  }

  /** The calls with the arguments that the filters of prompts leave. */
  async #guardCalls(relay: TurnRelay, called: readonly ServerCall[]): Promise<ServerCall[]> {
    const { gateway, request } = this.context
    const calls = called.filter(isRunHere).map(({ call }) => call)
    const guarded = await guardAddedCalls(gateway, request, calls)
    for (const [index, call] of calls.entries()) relay.replaceCall(call, guarded[index] ?? call)
    return relay.listCalls()
  }

  async *#runTools(
    relay: TurnRelay,
    calls: readonly ServerCall[],
  ): AsyncGenerator<ReplyEvent, ToolResultPart[]> {
    const { gateway, request, work, tools } = this.context
    if (this.#signal.aborted) throw this.#signal.reason
    // With a text, the reply can end without another turn.
    if (this.#hasText) request.hold.funds?.protectTurn(noAmounts)
    else protectTurn(gateway, this.#createTurn())
    // Tools may take minutes.
    await writeTurnCheckpoint(gateway, request)
    const [ours, theirs] = [calls.filter(isRunHere), calls.filter((call) => !isRunHere(call))]
    const running = new ToolCalls({
      gateway,
      request,
      work,
      tools,
      model: relay.turn.candidate.model.id,
      conversation: this.#call.messages,
      signal: this.#signal,
      reserve: (nanos) => holdFee(gateway, request, nanos),
      takePart: this.#takePart,
    })
    yield* running.run(ours, tools.maxCalls - work.toolCalls.requested)
    for (const { call, target } of theirs) yield* this.#passCall(call, target)
    this.#citations.add(running.citations)
    this.#describeStage()
    return running.results
  }

  /** Sends a call to the client, which runs it. */
  *#passCall(call: ServerCall['call'], { instance, name }: ServerCall['target']): Generator<ReplyEvent> {
    const part = this.#takePart()
    const named = { ...call, name }
    const content = instance.toClientCall?.(named) ?? named
    yield { type: 'part-start', choice: 0, part, content }
    yield { type: 'part-end', choice: 0, part }
  }

  #extendConversation({ message }: TurnRelay, results: ToolResultPart[]): void {
    const reply: Message = { role: 'user', parts: results }
    const messages = [...this.#call.messages, message, reply]
    const { toolChoice: _choice, ...call } = this.#call
    const tools = this.context.tools.offerTools()
    this.#call = { ...call, messages, tools, ...relaxToolChoice(this.#call) }
  }

  /** Opens the next turn; null if a limit does not allow it and the client already has a text. */
  async *#openNext(relay: TurnRelay): AsyncGenerator<ReplyEvent, Turn | null> {
    const { gateway, request } = this.context
    this.#stopReason = this.#findStop(relay)
    this.#isLast = this.#stopReason !== null
    // The tools stay declared: some vendors reject calls of others in the conversation.
    if (this.#isLast) this.#call = { ...this.#call, toolChoice: { kind: 'none' } }
    const next = this.#createTurn()
    try {
      await holdTurn(gateway, next)
    } catch (error) {
      if (!isLimitError(error) || !this.#hasText) throw error
      this.#stopReason = error.code
      this.#describeStage()
      yield* this.#finish('length', null)
      return null
    }
    this.#describeStage()
    await writeTurnCheckpoint(gateway, request)
    return dispatchTurn(gateway, next, this.#signal)
  }

  /** The next turn: a state of its own, with the hold and the attempts of the request. */
  #createTurn(): Admitted<InferenceRequest> {
    const { request } = this.context
    return { ...request, content: request.content.replaceCall(this.#call) }
  }

  #findStop(relay: TurnRelay): string | null {
    const { work, tools } = this.context
    const { charge, nested } = work.bill
    const calls = relay.listCalls()
    return findStop(tools, {
      steps: this.#steps,
      calls: work.toolCalls.requested,
      names: new Set(
        calls.flatMap(({ call, target: { tool } }) => [call.name, tool.name, `service:${tool.name}`]),
      ),
      finishReason: relay.end?.reason ?? null,
      tokens: countPromptTokens(charge.usage) + countCompletionTokens(charge.usage),
      cost: usdFromNanos(charge.cost + nested),
    })
  }

  /** Describes the loop in `service_metadata`. */
  #describeStage(): void {
    const { stages, toolCalls, bill } = this.context.work
    if (!stages.includes(this.#stage)) stages.push(this.#stage)
    const { executed } = toolCalls
    this.#stage.summary = `${executed} tool calls in ${this.#steps} steps`
    this.#stage.data = {
      tool_calls: executed,
      tool_calls_requested: toolCalls.requested,
      steps: this.#steps,
      stop_reason: this.#stopReason,
    }
    this.#stage.cost_usd = usdFromNanos(bill.fees + bill.nested)
  }

  /** A failed turn ends the reply where it is: what came before it is charged. */
  async *#fail(error: unknown): AsyncGenerator<ReplyEvent> {
    const { exchange, request } = this.context
    const cause = this.#signal.aborted ? exchange.toError(new Error('the request has ended')) : error
    if (cause instanceof UpstreamError) return yield { type: 'reply-error', failure: cause.failure }
    const failure = request.attempts.failed.at(-1)?.failure
    if (cause instanceof GatewayError && cause.code.startsWith('upstream_') && failure)
      return yield { type: 'reply-error', failure }
    throw cause
  }
}

/** Whether the gateway runs the call; otherwise the client runs it, or decides about it. */
function isRunHere({ call, target: { instance, name } }: ServerCall): boolean {
  return instance.run !== undefined && instance.needsClient?.({ ...call, name }) !== true
}

function isPartEvent({ type }: ReplyEvent): boolean {
  return type === 'part-start' || type === 'part-delta' || type === 'part-end'
}
