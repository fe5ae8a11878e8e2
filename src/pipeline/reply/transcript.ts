import type { ReplyEvent } from '../../call/event.ts'
import type { OutputPart } from '../../call/part.ts'
import type { Dialect, Relay, ReplyReader } from '../../dialects/dialect.ts'
import type { SseFrame } from '../../lib/sse.ts'

/** Of what was asked, and of what was answered: more is not kept. */
export const maxCharacters = 1024 * 1024

/** What a part costs beside its text, so that there cannot be any number of them. */
const partCharacters = 32

export interface TranscriptText {
  completion: string | null
  reasoning: string | null
  tool_calls: { id: string; name: string; arguments: string }[]
}

interface Fragment {
  choice: number
  kind: 'completion' | 'reasoning' | 'call'
  id: string
  name: string
  text: string
}

/** What a reply says, noted as it comes: text, thinking and calls of tools, not what else it is made of. */
export class Transcript {
  readonly #fragments = new Map<string, Fragment>()
  #remaining = maxCharacters

  /** Something was too long to be kept. */
  get truncated(): boolean {
    return this.#remaining < 0
  }

  add(event: ReplyEvent): void {
    if (event.type === 'part-start') this.#begin(event.choice, event.part, event.content)
    else if (event.type === 'part-delta') {
      const piece = this.#fragments.get(`${event.choice} ${event.part}`)
      if (!piece) return
      const { text, transcript, summary, arguments: written } = event.delta
      const more = { completion: text ?? transcript, reasoning: text ?? summary, call: written }[piece.kind]
      if (more) piece.text += this.#take(more)
    }
  }

  toText(): TranscriptText {
    const calls = [...this.#fragments.values()].filter(({ kind }) => kind === 'call')
    return {
      completion: this.#join('completion'),
      reasoning: this.#join('reasoning'),
      tool_calls: calls.map(({ id, name, text }) => ({ id, name, arguments: text })),
    }
  }

  #begin(choice: number, part: number, content: OutputPart): void {
    const begun = firstFragment(content)
    if (!begun) return
    this.#remaining -= partCharacters
    if (this.#remaining < 0) return
    const { kind, text, id = '', name = '' } = begun
    this.#fragments.set(`${choice} ${part}`, { choice, kind, id, name, text: this.#take(text) })
  }

  #take(text: string): string {
    const kept = text.slice(0, Math.max(0, this.#remaining))
    this.#remaining -= text.length
    return kept
  }

  /** Several answers to one question stand below each other. */
  #join(kind: Fragment['kind']): string | null {
    const texts = new Map<number, string>()
    for (const piece of this.#fragments.values()) {
      if (piece.kind === kind) texts.set(piece.choice, (texts.get(piece.choice) ?? '') + piece.text)
    }
    return [...texts.values()].join('\n\n') || null
  }
}

function firstFragment(part: OutputPart): (Pick<Fragment, 'kind' | 'text'> & Partial<Fragment>) | undefined {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      return { kind: 'completion', text: part.text }
    case 'audio':
      return { kind: 'completion', text: part.transcript ?? '' }
    case 'reasoning':
      return { kind: 'reasoning', text: part.text + part.summary.join('\n\n') }
    case 'tool-call':
      return { kind: 'call', text: part.arguments, id: part.id, name: part.name }
    default:
      return undefined
  }
}

/** Whoever takes note of a reply. */
export interface EventListener {
  add(event: ReplyEvent): void
}

/** The events as they come, noted on their way. */
export function tapEvents(events: Events, transcript: Transcript | null): Events {
  return transcript ? recordEach(events, transcript) : events
}

type Events = AsyncIterator<ReplyEvent> | Iterator<ReplyEvent>

async function* recordEach(events: Events, transcript: Transcript): AsyncGenerator<ReplyEvent> {
  for (;;) {
    const { done, value } = await events.next()
    if (done) return
    transcript.add(value)
    yield value
  }
}

/** What a relay passes on is read a second time, because it reads as little as it can. */
export function tapRelay(relay: Relay, { upstream }: Dialect, listener: EventListener | null): Relay {
  return listener ? new TappedRelay(relay, upstream.createReader(), listener) : relay
}

class TappedRelay implements Relay {
  readonly #relay: Relay
  readonly #reader: ReplyReader
  readonly #listener: EventListener
  #isRead = false

  constructor(relay: Relay, reader: ReplyReader, listener: EventListener) {
    this.#relay = relay
    this.#reader = reader
    this.#listener = listener
  }

  get summary() {
    return this.#relay.summary
  }
  get finalBody() {
    return this.#relay.finalBody
  }

  pass(frame: SseFrame): string {
    for (const event of this.#reader.read(frame)) this.#listener.add(event)
    return this.#relay.pass(frame)
  }
  close(): string {
    this.#readEnd()
    return this.#relay.close?.() ?? ''
  }
  /** A stream that has said everything is ended without being read to its last frame. */
  end: Relay['end'] = (usage, bill) => {
    this.#readEnd()
    return this.#relay.end(usage, bill)
  }
  fail: Relay['fail'] = (error) => this.#relay.fail(error)

  #readEnd(): void {
    if (this.#isRead) return
    this.#isRead = true
    for (const event of this.#reader.end()) this.#listener.add(event)
  }
}
