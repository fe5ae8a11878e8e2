import { createHash } from 'node:crypto'
import type { EffectiveCheck, FilterDirection } from '../../../governance/policy/effective.ts'
import { type ExternalCheck, sealContextOf } from '../../../governance/policy/guardrail.ts'
import { ByteCache } from '../../../platform/concurrency/byte-cache.ts'
import { LinkedAbortController } from '../../../platform/concurrency/linked-abort-controller.ts'
import type { Vault } from '../../../platform/crypto/crypto.ts'
import { EgressError, sendBuffered } from '../../../platform/http/egress-client.ts'
import type { Clock } from '../../../platform/time/clock.ts'
import { findCheckService } from './all.ts'
import { Breaker } from './breaker.ts'
import { type CheckRequest, ReplyFormatError, type Verdict } from './service.ts'
import { Slots } from './slots.ts'

/** Why a text was not checked. Nothing of the text, the address or the reply is part of it. */
export type FailureCause = 'timeout' | 'unreachable' | 'status' | 'format' | 'too_long' | 'resting'

export class CheckFailure extends Error {
  readonly failureCause: FailureCause

  constructor(failureCause: FailureCause) {
    super(`The check failed: ${failureCause}.`)
    this.failureCause = failureCause
  }
}

/** A piece of a text, and what is known about it. */
interface Piece {
  /** The index of its text, and where it begins there. */
  index: number
  start: number
  text: string
  key: string
  known: Verdict | undefined
}

/** A check of texts that is about to be made. */
export interface PreparedCheck {
  check: EffectiveCheck
  direction: FilterDirection
  pieces: Piece[]
  /** Calls that it needs: for pieces whose verdict is not known. */
  calls: number
}

/** The verdict about each text, and why some were not read. */
export interface CheckOutcome {
  verdicts: Verdict[]
  failure: CheckFailure | null
}

interface RunnerOptions {
  clock: Clock
  vault: Vault
  allowPrivate: () => readonly string[]
}

interface ServiceState {
  breaker: Breaker
  slots: Slots
}

const maxCacheBytes = 16 * 1024 * 1024
const maxStates = 10_000
const maxReplyBytes = 4 * 1024 * 1024

/** Sends texts to the services of guardrails. Verdicts, failures and places are those of this node. */
export class CheckRunner {
  readonly #options: RunnerOptions
  readonly #cache = new ByteCache()
  readonly #states = new Map<string, ServiceState>()

  constructor(options: RunnerOptions) {
    this.#options = options
  }

  /** Cuts texts into pieces, and finds the verdicts that are known. `budget`: the calls that are left. */
  prepare(
    check: EffectiveCheck,
    organizationId: string,
    direction: FilterDirection,
    texts: readonly string[],
    budget = check.max_calls,
  ): PreparedCheck | CheckFailure {
    const identity = JSON.stringify([organizationId, check.guardrailId, check.type, check.config, direction])
    const now = this.#options.clock.now()
    const pieces: Piece[] = []
    for (const [index, text] of texts.entries())
      for (const [start, piece] of cutText(text, check.max_characters)) {
        // A text of more pieces than calls is not checked in part.
        if (pieces.length >= maxPieces) return new CheckFailure('too_long')
        const key = createHash('sha256').update(identity).update('\0').update(piece).digest('base64')
        pieces.push({ index, start, text: piece, key, known: this.#findKnown(check, key, now) })
      }
    const calls = pieces.filter(({ known }) => !known).length
    return calls > budget ? new CheckFailure('too_long') : { check, direction, pieces, calls }
  }

  #findKnown({ cache_seconds }: ExternalCheck, key: string, now: number): Verdict | undefined {
    const entry = cache_seconds > 0 ? this.#cache.get(key, now) : undefined
    return entry && (JSON.parse(entry.bytes.toString()) as Verdict)
  }

  /** Makes the calls. A failure of one fails the check; what was flagged before counts all the same. */
  async run({ check, direction, pieces }: PreparedCheck, signal: AbortSignal): Promise<CheckOutcome> {
    const state = this.#findState(check)
    const abort = new LinkedAbortController([signal], check.timeout_ms)
    let failure: CheckFailure | null = null
    const judge = async (piece: Piece): Promise<Verdict | null> => {
      if (piece.known) return piece.known
      try {
        const verdict = await this.#call(check, state, { text: piece.text, direction }, abort.signal, signal)
        this.#remember(check, piece.key, verdict)
        return verdict
      } catch (error) {
        failure ??= toFailure(error)
        return null
      }
    }
    try {
      const found = await Promise.all(pieces.map(judge))
      return { verdicts: joinVerdicts(pieces, found), failure }
    } finally {
      abort.close()
    }
  }

  #remember({ cache_seconds }: ExternalCheck, key: string, verdict: Verdict): void {
    if (cache_seconds === 0) return
    const at = this.#options.clock.now()
    const entry = { bytes: Buffer.from(JSON.stringify(verdict)), at, until: at + cache_seconds * 1000 }
    this.#cache.set(key, entry, maxCacheBytes)
  }

  #call(
    check: EffectiveCheck,
    { breaker, slots }: ServiceState,
    text: { text: string; direction: FilterDirection },
    signal: AbortSignal,
    outer: AbortSignal,
  ): Promise<Verdict> {
    return slots.run(check.concurrency, signal, async () => {
      const { clock } = this.#options
      if (!breaker.tryPass(clock.now())) throw new CheckFailure('resting')
      try {
        const service = findCheckService(check.type)
        if (!service) throw new CheckFailure('format')
        const config = openConfig(this.#options.vault, check)
        const checked = { ...text, check: check.name, sentAt: clock.now() }
        const verdict = await service.check(config, checked, (request) =>
          this.#post(request, check.timeout_ms, signal),
        )
        breaker.recordSuccess()
        return verdict
      } catch (error) {
        if (!outer.aborted) breaker.recordFailure(clock.now())
        throw error
      }
    })
  }

  async #post(
    { url, headers, body }: CheckRequest,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<unknown> {
    const { status, bytes } = await sendBuffered(
      { url, method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body },
      { allowPrivate: this.#options.allowPrivate(), timeoutMs, maxBytes: maxReplyBytes, signal },
    )
    if (status !== 200) throw new CheckFailure('status')
    try {
      return JSON.parse(Buffer.from(bytes).toString())
    } catch {
      throw new CheckFailure('format')
    }
  }

  #findState({ guardrailId, name, config }: EffectiveCheck): ServiceState {
    const key = JSON.stringify([guardrailId, name, config])
    const state = this.#states.get(key) ?? { breaker: new Breaker(), slots: new Slots() }
    this.#states.delete(key)
    this.#states.set(key, state)
    if (this.#states.size > maxStates) this.#states.delete(this.#states.keys().next().value ?? '')
    return state
  }
}

/** Pieces of one prompt, known verdicts included. */
const maxPieces = 10_000

/** The config with its secrets. */
function openConfig(
  vault: Vault,
  { name, config, guardrailId, sealed }: EffectiveCheck,
): Record<string, unknown> {
  if (sealed === null) return config
  const secrets = JSON.parse(vault.decrypt(sealed, sealContextOf(guardrailId)))
  return { ...config, ...secrets[name] }
}

function toFailure(error: unknown): CheckFailure {
  if (error instanceof CheckFailure) return error
  if (error instanceof ReplyFormatError) return new CheckFailure('format')
  const isTimeout = error instanceof EgressError ? error.kind === 'timeout' : error instanceof DOMException
  return new CheckFailure(isTimeout ? 'timeout' : 'unreachable')
}

/** The pieces of a text and where each begins. No piece splits a surrogate pair. */
function* cutText(text: string, max: number): Generator<[number, string]> {
  for (let start = 0; start < text.length; ) {
    const end = start + max
    const isSplit = /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(end - 1, end + 1))
    const cut = isSplit ? end - 1 : end
    yield [start, text.slice(start, cut)]
    start = cut
  }
}

function joinVerdicts(pieces: readonly Piece[], found: readonly (Verdict | null)[]): Verdict[] {
  const joined: Verdict[] = []
  for (const [at, { index, start }] of pieces.entries()) {
    const verdict = found[at]
    joined[index] ??= { isFlagged: false, kinds: [], spans: [] }
    const all = joined[index]
    if (!verdict?.isFlagged) continue
    all.isFlagged = true
    all.kinds = [...new Set([...all.kinds, ...verdict.kinds])]
    // A flagged piece without places cannot be redacted.
    all.hasUnplaced ||= verdict.spans.length === 0
    const moved = verdict.spans.map((span) => ({ ...span, start: span.start + start, end: span.end + start }))
    all.spans.push(...moved)
  }
  return joined
}
