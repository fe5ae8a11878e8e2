import type { ReplyEvent, ReplyStart } from '../../call/event.ts'
import type { Citation } from '../../call/part.ts'
import { type JsonObject, numberOf, objectOf, objectsOf, textOf } from '../../lib/loose.ts'
import type { SseFrame } from '../../lib/sse.ts'
import type { ReplyReader } from '../dialect.ts'
import { servedTier } from '../tier.ts'
import { isBlank } from './call-table.ts'
import { ChoiceReader } from './choice-reader.ts'
import { failureOf, malformed } from './error.ts'
import { encodeCitation } from './parts-encode.ts'
import { readUsage, usageObjectOf } from './usage.ts'

export function reader(): ReplyReader {
  return new ChatReader()
}

/** More answers than anyone asks for: a hostile index must not fill the memory. */
export const mostChoices = 128

class ChatReader implements ReplyReader {
  readonly #choices = new Map<number, ChoiceReader>()
  #started = false
  #over = false
  #id = ''
  #usage: JsonObject | undefined
  #citations: Citation[] = []

  read(frame: SseFrame): ReplyEvent[] {
    if (this.#over) return []
    const data = frame.data.trim()
    if (data === '[DONE]') return this.#finish(true)
    if (data === '') return []
    const chunk = parsed(data)
    // After the last word of every choice only the counts can be missing.
    if (!chunk && this.#allFinished()) return []
    if (!chunk) return this.#fail(malformed('The upstream sent an event that is not a JSON object.'))
    return this.chunk(chunk, frame.event === 'error')
  }

  end(): ReplyEvent[] {
    return this.#over ? [] : this.#finish(false)
  }

  chunk(chunk: JsonObject, isError: boolean): ReplyEvent[] {
    const error = errorIn(chunk, isError)
    const events = this.#start(chunk)
    this.#usage = usageObjectOf(chunk) ?? this.#usage
    const cited = citationsOf(chunk)
    if (cited.length > 0) this.#citations = cited
    for (const choice of objectsOf(chunk.choices))
      for (const event of this.#choice(choice)) events.push(event)
    const broken =
      error ??
      objectsOf(chunk.choices)
        .map(choiceError)
        .find((told) => told !== undefined)
    return broken === undefined ? events : events.concat(this.#fail(failureOf(broken, null)))
  }

  #start(chunk: JsonObject): ReplyEvent[] {
    // A first chunk may hold nothing but the vendor's remarks on the prompt, without an id.
    if (this.#started || !Array.isArray(chunk.choices)) return []
    const start: ReplyStart = { type: 'reply-start' }
    const [id, model] = [textOf(chunk.id), textOf(chunk.model)]
    const [tier, fingerprint] = [servedTier(chunk.service_tier), textOf(chunk.system_fingerprint)]
    if (!id && chunk.choices.length === 0) return []
    this.#started = true
    if (id) start.id = this.#id = id
    if (model) start.model = model
    if (tier) start.serviceTier = tier
    if (fingerprint) start.fingerprint = fingerprint
    return [start]
  }

  #choice(choice: JsonObject): ReplyEvent[] {
    const index = numberOf(choice.index) ?? 0
    let open = this.#choices.get(index)
    if (!open) {
      if (this.#choices.size >= mostChoices) return []
      open = new ChoiceReader(index)
      this.#choices.set(index, open)
    }
    open.finish(choice)
    const delta = objectOf(choice.delta) ?? objectOf(choice.message) ?? { content: choice.text }
    return open.read(delta, choice.logprobs, this.#id)
  }

  #fail(failure: ReturnType<typeof failureOf>): ReplyEvent[] {
    this.#over = true
    return [...this.#closing(false), { type: 'reply-error', failure }]
  }

  #closing(told: boolean): ReplyEvent[] {
    const citations = this.#citations
    const events = [...this.#choices.entries()]
      .sort(([a], [b]) => a - b)
      .flatMap(([, choice], at) => choice.end(told, at === 0 ? citations : []))
    if (this.#usage) events.push({ type: 'usage', usage: readUsage(this.#usage) })
    return events
  }

  /** `told`: the vendor marked the end; otherwise every choice must have said how it finished. */
  #finish(told: boolean): ReplyEvent[] {
    if (this.#choices.size === 0 && told) return this.#fail(malformed('The upstream sent an empty reply.'))
    this.#over = true
    const events = this.#closing(told)
    if (told || this.#allFinished()) events.push({ type: 'reply-end' })
    return events
  }

  #allFinished(): boolean {
    return this.#choices.size > 0 && [...this.#choices.values()].every((choice) => choice.finished)
  }
}

/** The events of a whole reply: read as a stream of one chunk. */
export function decodeReply(body: JsonObject): ReplyEvent[] {
  const whole = new ChatReader()
  const isReply = Array.isArray(body.choices) && body.choices.length > 0
  if (!isReply && errorIn(body, false) === undefined) {
    return [{ type: 'reply-error', failure: failureOrMalformed(body) }]
  }
  const events = whole.chunk(body, false)
  return events.concat(whole.read({ event: '', data: '[DONE]' }))
}

/** Some vendors answer 200 with a bare message in the place of an error. */
function failureOrMalformed(body: JsonObject) {
  const told = textOf(body.message) ?? textOf(body.detail)
  return told === undefined ? malformed('The upstream sent a reply without choices.') : failureOf(body, null)
}

export function errorIn(chunk: JsonObject, isError: boolean): unknown {
  const { error } = chunk
  if (error !== false && !isBlank(error)) return error
  if (isError || chunk.object === 'error' || chunk.type === 'error') return chunk
  return undefined
}

export function choiceError({ error }: JsonObject): unknown {
  return isBlank(error) ? undefined : objectOf(error)
}

export function parsed(data: string): JsonObject | undefined {
  try {
    return objectOf(JSON.parse(data))
  } catch {
    return undefined
  }
}

/** Sources named beside the choices: with titles where there are any, else bare addresses. */
function citationsOf(chunk: JsonObject): Citation[] {
  const results = objectsOf(chunk.search_results)
  if (results.length > 0) {
    return results.flatMap((result) => {
      const [url, title, cited] = [textOf(result.url), textOf(result.title), textOf(result.snippet)]
      if (url === undefined) return []
      return [{ url, ...(title !== undefined && { title }), ...(cited ? { cited } : {}) }]
    })
  }
  if (!Array.isArray(chunk.citations)) return []
  return chunk.citations.flatMap((url) => (typeof url === 'string' ? [{ url }] : []))
}

/** The same sources as this API names them. */
export function annotationsFor(chunk: JsonObject): JsonObject[] {
  return citationsOf(chunk)
    .map((citation) => encodeCitation(citation, 0))
    .filter((annotation) => annotation !== undefined)
}
