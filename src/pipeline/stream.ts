import type { ReplyFacts } from '../dialects/dialect.ts'
import { lossComment } from '../dialects/reply-losses.ts'
import { GatewayError } from '../errors.ts'
import type { Gateway } from '../gateway.ts'
import { type Charge, nothingCharged } from '../ledger/charge.ts'
import { quiet, type Watch } from '../lib/pulse.ts'
import type { Admission } from './admit.ts'
import type { Asked } from './asked.ts'
import type { StreamedReply } from './dispatch.ts'
import { failedAttempt, toClientError } from './failure.ts'
import type { Flow } from './flow.ts'
import type { Journey, Outcome, Taken } from './journey.ts'
import { explainError } from './metadata.ts'
import { excuse } from './observe.ts'
import { billOf, type Close, charged, checkpointOf, endedBadly } from './settle.ts'
import { ClientGoneError, fellSilent, StoppingError, UpstreamError, unexpected } from './upstream-error.ts'

/**
 * The body of a streamed answer, from the moment the client is told 200. `opening` may still be under way:
 * until it is done the client gets signs of life. Whatever happens, the request is settled exactly once.
 */
export async function* streamedBody(
  gateway: Gateway,
  asked: Asked,
  run: StreamRun,
  opening: Promise<Taken<StreamedReply>>,
): AsyncGenerator<string> {
  const watch = gateway.pulse.watch()
  try {
    if (run.overdue) yield asked.format.writes.heartbeat
    const taken = yield* waited(gateway, asked, opening)
    run.began(taken)
    yield taken.reply.pending
    yield* passed(gateway, asked, taken.reply.flow, watch, run)
    // With signs of life: a database that is away keeps the end waiting.
    yield yield* waited(gateway, asked, run.ended())
  } catch (error) {
    const text = await run.failed(error)
    if (text !== null) yield text
  } finally {
    watch.close()
    // Reached without an end when the client left while a text was being written to it.
    await run.abandoned()
  }
}

/** What `opening` gives, with heartbeats as long as it takes. */
async function* waited<T>(gateway: Gateway, asked: Asked, opening: Promise<T>): AsyncGenerator<string, T> {
  for (;;) {
    const done = await gateway.pulse.wait(opening, gateway.settings.limits.heartbeat)
    if (done !== quiet) return done
    yield asked.format.writes.heartbeat
  }
}

/** After the end of a reply only its usage can follow: this long it is waited for. */
const graceMs = 1000

/** Nothing more is to be expected of a reply that is complete and has told its usage. */
function isOver({ seen }: Flow): boolean {
  return seen.complete && seen.usage !== null
}

/** The upstream's text as it comes; a long silence is a failure, a shorter one a heartbeat. */
async function* passed(
  gateway: Gateway,
  asked: Asked,
  flow: Flow,
  watch: Watch,
  run: StreamRun,
): AsyncGenerator<string> {
  const quietness = new Quietness(gateway, flow)
  let next: Promise<string | null> | null = null
  while (!isOver(flow)) {
    if (flow.seen.failure) throw new UpstreamError(flow.seen.failure)
    next ??= flow.next()
    const text = await watch.wait(next, flow.seen.complete ? graceMs : quietness.patience)
    if (text === null) return
    quietness.measure()
    if (quietness.isGraceOver || (text === quiet && flow.seen.complete)) return yield flow.close()
    if (text !== quiet) next = null
    const nothing = text === quiet || text === ''
    if (!nothing || quietness.isHeartbeatDue) {
      yield nothing ? asked.format.writes.heartbeat : text
      if (quietness.sent() > gateway.settings.limits.heartbeat) run.keptWaiting = true
    }
    if (quietness.isTooLong) yield stopped(flow)
  }
}

/** What follows from what was received of a reply that does not go on: its end, if it needs no more, or a failure. */
function stopped(flow: Flow): string {
  const rest = flow.close()
  if (!flow.seen.complete) flow.seen.failure ??= fellSilent().failure
  return rest
}

/**
 * How long a client was sent nothing, and how long the reply made no progress. The two differ: comments, pings and
 * empty deltas of a provider are no progress, and what is not passed on does not keep the client's connection alive.
 */
class Quietness {
  readonly #flow: Flow
  readonly #heartbeat: number
  readonly #idle: number
  #now = performance.now()
  #sentAt = this.#now
  #progressAt = this.#now
  #progress: number
  #completeAt: number | null = null

  constructor({ settings }: Gateway, flow: Flow) {
    this.#flow = flow
    this.#heartbeat = settings.limits.heartbeat
    this.#idle = settings.limits.idle
    this.#progress = flow.seen.progress
  }

  /** Until there is something to do though nothing comes. */
  get patience(): number {
    return Math.max(0, Math.min(this.#sentAt + this.#heartbeat, this.#progressAt + this.#idle) - this.#now)
  }

  get isHeartbeatDue(): boolean {
    return this.#now - this.#sentAt >= this.#heartbeat
  }

  /** Whether the provider has sent nothing that matters for longer than it may. */
  get isTooLong(): boolean {
    return this.#now - this.#progressAt >= this.#idle
  }

  /** Whether the usage of a reply that is complete was waited for long enough, whatever came instead. */
  get isGraceOver(): boolean {
    return this.#completeAt !== null && this.#now - this.#completeAt >= graceMs
  }

  /** Looks at the clock, and at what came. */
  measure(): void {
    this.#now = performance.now()
    const { progress, complete } = this.#flow.seen
    this.#completeAt = complete ? (this.#completeAt ?? this.#now) : null
    if (progress === this.#progress) return
    this.#progress = progress
    this.#progressAt = this.#now
  }

  /** How long the client took for what it was sent, which is not held against the provider. */
  sent(): number {
    this.#sentAt = performance.now()
    const took = this.#sentAt - this.#now
    this.#progressAt += took
    this.#now = this.#sentAt
    return took
  }
}

/** The connection can be used again once the last byte is read; one that does not end is closed. */
async function letGo(gateway: Gateway, flow: Flow): Promise<void> {
  await readOn(gateway, flow, graceMs, () => false)
  flow.cancel()
}

/** How long a reply that nobody waits for is read on. */
const drainMs = 60_000

/** Reads what a provider bills anyway, to learn what it bills. */
function drain(gateway: Gateway, flow: Flow): Promise<void> {
  return readOn(gateway, flow, drainMs, () => isOver(flow) || flow.seen.failure !== null)
}

/** Reads without passing anything on, until the end, until it is enough, or until the time is up. */
async function readOn(gateway: Gateway, flow: Flow, ms: number, isEnough: () => boolean): Promise<void> {
  const deadline = performance.now() + ms
  try {
    for (let text: unknown = ''; text !== null && text !== quiet && !isEnough(); ) {
      text = await gateway.pulse.wait(flow.next(), Math.max(0, deadline - performance.now()))
    }
  } catch (error) {
    gateway.log.debug({ err: error }, 'a reply broke off when nobody needed it any more')
  }
}

/** One streamed reply, to whichever end it comes. */
export class StreamRun {
  readonly #gateway: Gateway
  readonly #asked: Asked
  readonly #admission: Admission
  readonly #journey: Journey
  readonly #close: Close
  #taken: Taken<StreamedReply> | null = null
  /** It has come to an end that was told to the client. */
  #over = false
  /** The client has already waited as long as it may without a sign of life. */
  overdue = false
  /** The client took so long to read that the provider may have lost patience. */
  keptWaiting = false

  constructor(gateway: Gateway, asked: Asked, admission: Admission, journey: Journey, close: Close) {
    this.#gateway = gateway
    this.#asked = asked
    this.#admission = admission
    this.#journey = journey
    this.#close = close
    // The body may never be asked for, when the client is gone before it begins.
    asked.request.signal.addEventListener('abort', () => void this.abandoned(), { once: true })
  }

  began(taken: Taken<StreamedReply>): void {
    this.#taken = taken
    this.#journey.firstTokenMs = performance.now() - this.#asked.startedAt
    if (this.#asked.request.signal.aborted) return
    let noted = 0
    this.#gateway.ledger.follow(this.#asked.id, () => {
      const { seen } = taken.reply.flow
      if (seen.characters === noted) return null
      noted = seen.characters
      return checkpointOf(this.#gateway, this.#journey, taken)
    })
  }

  /** The last text, once the charge is durable. A reply that was not marked as complete broke off. */
  async ended(): Promise<string> {
    const flow = this.#taken?.reply.flow
    if (flow?.seen.failure) throw new UpstreamError(flow.seen.failure)
    if (!flow?.seen.complete) throw unexpected('The connection to the provider broke off.')
    if (endedBadly(flow.seen)) throw unexpected('The provider ended its reply with an error.')
    const charge = this.#charge()
    const text = this.#lossComment(flow) + flow.end(charge.usage, billOf(charge, this.#taken?.candidate))
    // From here on a client that leaves changes nothing: all of its reply is there.
    this.#over = true
    const keep = flow.final ? await this.#asked.keep?.(flow.final) : undefined
    const left = this.#asked.request.signal.aborted
    await this.#close(this.#outcome(left ? 'cancelled' : 'completed', charge, null), keep)
    void letGo(this.#gateway, flow)
    return text
  }

  /** Formats that are not server-sent events have no comments. */
  #lossComment({ seen }: Flow): string {
    return this.#asked.format.writes.streamType === undefined ? lossComment(seen.lost) : ''
  }

  /** The error in the client's format; null when there is no client any more. */
  async failed(error: unknown): Promise<string | null> {
    if (error instanceof ClientGoneError || this.#asked.request.signal.aborted) return null
    this.#over = true
    const shown = this.#shown(error)
    explainError(this.#asked, this.#journey.plan, this.#journey, shown)
    const flow = this.#taken?.reply.flow
    flow?.cancel()
    const isCut = this.#isCut(error)
    if (isCut) excuse(this.#gateway, this.#journey)
    // It is in the log; the client is told of the first error, not of the second.
    const charge = this.#charge(!isCut)
    await this.#close(this.#outcome('failed', charge, shown)).catch(() => undefined)
    return (flow ?? this.#asked.format.writes.writer(this.#unanswered())).fail(shown)
  }

  /** The client left, unless the reply is already over. What was produced until then is charged. */
  async abandoned(): Promise<void> {
    if (this.#over) return
    const taken = this.#taken
    if (taken?.candidate.endpoint.provider.billsAbandoned) {
      await this.#gateway.drains.use(() => drain(this.#gateway, taken.reply.flow))
      void letGo(this.#gateway, taken.reply.flow)
    } else taken?.reply.flow.cancel()
    await this.#close(this.#outcome('cancelled', this.#charge(), null)).catch(() => undefined)
  }

  /** It was we or the client who took too long, after it had begun: the provider did its part. */
  #isCut(error: unknown): boolean {
    if (error instanceof StoppingError) return true
    const isLate = error instanceof UpstreamError && error.failure.kind === 'timeout'
    return (isLate || this.keptWaiting) && this.#taken?.reply.flow.seen.failure === null
  }

  /** One that broke off costs no tokens: its client was given an error. */
  #charge(brokeOff = false): Charge {
    if (!this.#taken) return nothingCharged
    const { candidate, reply } = this.#taken
    return charged(this.#gateway, this.#asked, this.#admission, candidate, reply.flow.seen, brokeOff)
  }

  #outcome(status: Outcome['status'], charge: Charge, error: GatewayError | null): Outcome {
    const seen = this.#taken?.reply.flow.seen ?? null
    return { status, charge, seen, error, firstTokenMs: this.#journey.firstTokenMs }
  }

  #shown(error: unknown): GatewayError {
    if (error instanceof GatewayError) return error
    const { candidate, attempts, attemptAt, translation } = this.#journey
    if (error instanceof UpstreamError && candidate) {
      const isSameFormat = translation?.passes ?? false
      return toClientError([...attempts, failedAttempt(candidate, error.failure, attemptAt, isSameFormat)])
    }
    this.#gateway.log.error({ err: error, id: this.#asked.id }, 'stream failed')
    return new GatewayError('internal', { cause: error })
  }

  /** Nobody has answered yet: there is only what was asked. */
  #unanswered(): ReplyFacts {
    const { id, at, call, body, wishes } = this.#asked
    const model = wishes.models[0] ?? ''
    return { id, created: Math.floor(at / 1000), model, provider: '', tier: null, call, body }
  }
}
