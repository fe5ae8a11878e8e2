import type { Reply, ReplyEvent } from '../call/event.ts'
import { eventsOf } from '../call/replay.ts'
import { noTokens } from '../call/usage.ts'
import type { ServedTier } from '../catalog/vocabulary.ts'
import type { ReplyFacts, Seen } from '../dialects/dialect.ts'
import { addReplyLosses } from '../dialects/reply-losses.ts'
import type { Gateway } from '../gateway.ts'
import { nothingCharged } from '../ledger/charge.ts'
import type { Place } from '../ledger/draft.ts'
import type { Settle } from '../ledger/engine.ts'
import { generationValues, tokensOf } from '../ledger/generation.ts'
import type { Kept } from '../lib/byte-cache.ts'
import type { JsonObject } from '../lib/loose.ts'
import { type Admission, admitFree, placeOf } from './admit.ts'
import type { Asked } from './asked.ts'
import { contentStatements } from './content.ts'
import type { Journey } from './journey.ts'
import { Recording } from './response-cache-recording.ts'
import { cacheKey, forbidsRetention, readCacheWish } from './response-cache-wish.ts'
import type { Plan } from './route.ts'
import { billOf, type Close, settle, tierOf } from './settle.ts'
import { Transcript } from './transcript.ts'

/** Where the answer to a request is kept, because it asks for that. */
export interface Slot {
  key: string
  seconds: number
  clears: boolean
}

/** An answer as it is kept: whatever belongs to one request alone is not in it. */
interface Answer {
  /** The generation it is of. */
  sourceId: string
  place: Omit<Place, 'pricing'>
  /** Display name. */
  provider: string
  finish: Seen['finishes'][number] | null
  dropped: string[]
  tier: ServedTier | null
  reply: Reply
}

/** Null for a request that neither gets nor leaves an answer here. */
export function slotOf(gateway: Gateway, asked: Asked): Slot | null {
  if (!gateway.settings.response_cache.enabled) return null
  const preset = asked.presetId === null ? null : asked.body
  const { enabled, seconds, clears } = readCacheWish(asked.request.headers, preset)
  if (!enabled || forbidsRetention(asked)) return null
  return { key: cacheKey(asked), seconds, clears }
}

/** What there is in a slot. */
export function findKept(
  { responseCache, clock, metrics }: Gateway,
  { key, clears }: Slot,
): Kept | undefined {
  if (clears) responseCache.delete(key)
  const kept = responseCache.find(key, clock.now())
  metrics.cacheAsked(kept ? 'hit' : 'miss')
  return kept
}

/** A request whose answer is to be kept: what it says is listened to, and kept once it is settled. */
export class Keeping {
  readonly #gateway: Gateway
  readonly #slot: Slot
  readonly #recording: Recording

  constructor(gateway: Gateway, slot: Slot) {
    this.#gateway = gateway
    this.#slot = slot
    this.#recording = new Recording(gateway.settings.response_cache.entry_bytes)
  }

  get headers(): Record<string, string> {
    return { 'x-service-cache-status': 'MISS', 'x-service-cache-ttl': String(this.#slot.seconds) }
  }

  listening(asked: Asked): Asked {
    return { ...asked, format: this.#recording.listening(asked.format) }
  }

  /** Closes a request as before; an answer that came to its end is kept, which must never cost us the answer. */
  closing({ id }: Asked, journey: Journey, close: Close): Close {
    return async (outcome, companions) => {
      await close(outcome, companions)
      if (outcome.status !== 'completed') return
      try {
        this.#keep(id, journey, outcome.seen)
      } catch (err) {
        this.#gateway.log.warn({ err, id }, 'an answer could not be kept')
      }
    }
  }

  #keep(sourceId: string, { candidate, translation }: Journey, seen: Seen | null): void {
    const { reply } = this.#recording
    if (!candidate || !translation || !reply) return
    const answer: Answer = {
      sourceId,
      place: placeOf(this.#gateway, candidate, translation.dialect.name),
      provider: candidate.endpoint.provider.name,
      finish: seen?.finishes[0] ?? null,
      dropped: translation.request.dropped,
      tier: tierOf(candidate, seen),
      reply,
    }
    const { responseCache, clock, settings } = this.#gateway
    const bytes = Buffer.from(JSON.stringify(answer))
    if (bytes.length > settings.response_cache.entry_bytes) return
    const at = clock.now()
    const until = at + this.#slot.seconds * 1000
    responseCache.put(this.#slot.key, { bytes, at, until }, settings.response_cache.bytes)
  }
}

/** An answer given once more. */
export interface Replay {
  /** Whole, or the texts of a stream. */
  body: JsonObject | string[]
  dropped: string[]
  headers: Record<string, string>
}

/** It costs nothing, but it is a request like others: it is counted, and has a record of its own. */
export async function replay(gateway: Gateway, asked: Asked, plan: Plan, kept: Kept): Promise<Replay> {
  const answer: Answer = JSON.parse(kept.bytes.toString())
  const events = eventsOf(answer.reply)
  const { body, final } = asked.call.stream ? streamed(asked, answer, events) : whole(asked, answer)
  const transcript = transcriptOf(asked, events)
  const companions = [
    ...((final && (await asked.keep?.(final))) ?? []),
    ...contentStatements(gateway, asked, { transcript, error: null, attempts: [] }),
  ]
  const admission = await admitFree(gateway, asked, plan)
  await settle(gateway, { ...settlementOf(asked, admission, answer), companions }, asked)
  const now = gateway.clock.now()
  const headers = {
    'x-service-cache-status': 'HIT',
    'x-service-cache-age': String(Math.max(0, Math.floor((now - kept.at) / 1000))),
    'x-service-cache-ttl': String(Math.max(0, Math.ceil((kept.until - now) / 1000))),
    'x-service-cache-source-id': answer.sourceId,
  }
  const lost: string[] = []
  for (const event of events) addReplyLosses(lost, event, asked.format.writes.replyLimits)
  return { body, dropped: [...answer.dropped, ...lost], headers }
}

const noBill = billOf(nothingCharged, undefined)

function whole(asked: Asked, answer: Answer): { body: JsonObject; final: JsonObject } {
  const reply = { ...answer.reply, usage: noTokens }
  const body = asked.format.writes.encodeReply(reply, factsOf(asked, answer), noBill)
  return { body, final: body }
}

function streamed(
  asked: Asked,
  answer: Answer,
  events: ReplyEvent[],
): { body: string[]; final: JsonObject | null } {
  const writer = asked.format.writes.writer(factsOf(asked, answer))
  const texts = events.map((event) => writer.write(event))
  texts.push(writer.end(noTokens, noBill))
  return { body: texts.filter((text) => text !== ''), final: writer.final }
}

function factsOf({ id, at, call, body, wishes }: Asked, { place, provider, tier }: Answer): ReplyFacts {
  const { formatNames } = wishes
  return { id, created: Math.floor(at / 1000), model: place.model, provider, tier, call, body, formatNames }
}

function transcriptOf({ keepsContent }: Asked, events: ReplyEvent[]): Transcript | null {
  if (!keepsContent) return null
  const transcript = new Transcript()
  for (const event of events) transcript.add(event)
  return transcript
}

function settlementOf(asked: Asked, { draft, countsIn }: Admission, answer: Answer): Settle {
  const { place, finish, dropped, tier, sourceId } = answer
  const latency = Math.round(performance.now() - asked.startedAt)
  const generation = generationValues({
    draft: draft.generation,
    place: { ...place, is_byok: 0 },
    tokens: tokensOf(nothingCharged),
    end: {
      status: 'completed',
      error_code: null,
      finish_reason: finish?.reason ?? null,
      native_finish_reason: finish?.native?.slice(0, 100).replaceAll('\0', '') ?? null,
      hold_nanos: 0n,
      flag: null,
      latency_ms: latency,
      first_token_ms: asked.call.stream ? latency : null,
      attempts: '[]',
      dropped: dropped.length === 0 ? null : JSON.stringify(dropped),
      upstream_id: null,
      service_tier: tier,
      response_cache_source_id: sourceId,
    },
  })
  return {
    op: 'settle',
    id: asked.id,
    organizationId: asked.caller.organizationId,
    isByok: false,
    spent: { amount: 0n, byok: 0n },
    generation,
    countsIn,
    companions: [],
  }
}
