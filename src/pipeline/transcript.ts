import type { ReplyEvent } from '../call/event.ts'
import type { OutputPart } from '../call/part.ts'
import type { Dialect, Relay, ReplyReader } from '../dialects/dialect.ts'
import type { SseFrame } from '../lib/sse.ts'

/** Of what was asked, and of what was answered: more is not kept. */
export const mostCharacters = 1024 * 1024

/** What a part costs beside its text, so that there cannot be any number of them. */
const partCharacters = 32

export interface Said {
  completion: string | null
  reasoning: string | null
  tool_calls: { id: string; name: string; arguments: string }[]
}

interface Piece {
  choice: number
  kind: 'completion' | 'reasoning' | 'call'
  id: string
  name: string
  text: string
}

/** What a reply says, noted as it comes: text, thinking and calls of tools, not what else it is made of. */
export class Transcript {
  readonly #pieces = new Map<string, Piece>()
  #left = mostCharacters

  /** Something was too long to be kept. */
  get truncated(): boolean {
    return this.#left < 0
  }

  add(event: ReplyEvent): void {
    if (event.type === 'part-start') this.#begin(event.choice, event.part, event.content)
    else if (event.type === 'part-delta') {
      const piece = this.#pieces.get(`${event.choice} ${event.part}`)
      if (!piece) return
      const { text, transcript, summary, arguments: written } = event.delta
      const more = { completion: text ?? transcript, reasoning: text ?? summary, call: written }[piece.kind]
      if (more) piece.text += this.#take(more)
    }
  }

  said(): Said {
    const calls = [...this.#pieces.values()].filter(({ kind }) => kind === 'call')
    return {
      completion: this.#joined('completion'),
      reasoning: this.#joined('reasoning'),
      tool_calls: calls.map(({ id, name, text }) => ({ id, name, arguments: text })),
    }
  }

  #begin(choice: number, part: number, content: OutputPart): void {
    const begun = beginningOf(content)
    if (!begun) return
    this.#left -= partCharacters
    if (this.#left < 0) return
    const { kind, text, id = '', name = '' } = begun
    this.#pieces.set(`${choice} ${part}`, { choice, kind, id, name, text: this.#take(text) })
  }

  #take(text: string): string {
    const kept = text.slice(0, Math.max(0, this.#left))
    this.#left -= text.length
    return kept
  }

  /** Several answers to one question stand below each other. */
  #joined(kind: Piece['kind']): string | null {
    const texts = new Map<number, string>()
    for (const piece of this.#pieces.values()) {
      if (piece.kind === kind) texts.set(piece.choice, (texts.get(piece.choice) ?? '') + piece.text)
    }
    return [...texts.values()].join('\n\n') || null
  }
}

function beginningOf(part: OutputPart): (Pick<Piece, 'kind' | 'text'> & Partial<Piece>) | undefined {
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
export interface Listener {
  add(event: ReplyEvent): void
}

/** The events as they come, noted on their way. */
export function notedEvents(events: Events, transcript: Transcript | null): Events {
  return transcript ? noting(events, transcript) : events
}

type Events = AsyncIterator<ReplyEvent> | Iterator<ReplyEvent>

async function* noting(events: Events, transcript: Transcript): AsyncGenerator<ReplyEvent> {
  for (;;) {
    const { done, value } = await events.next()
    if (done) return
    transcript.add(value)
    yield value
  }
}

/** What a relay passes on is read a second time, because it reads as little as it can. */
export function notedRelay(relay: Relay, { upstream }: Dialect, listener: Listener | null): Relay {
  return listener ? new NotingRelay(relay, upstream.reader(), listener) : relay
}

class NotingRelay implements Relay {
  readonly #relay: Relay
  readonly #reader: ReplyReader
  readonly #listener: Listener
  #isRead = false

  constructor(relay: Relay, reader: ReplyReader, listener: Listener) {
    this.#relay = relay
    this.#reader = reader
    this.#listener = listener
  }

  get seen() {
    return this.#relay.seen
  }
  get final() {
    return this.#relay.final
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
