import type { ReplyEvent } from '../../call/event.ts'
import type { OutputPart } from '../../call/part.ts'
import type { ReplyObserver } from './transforms.ts'

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
export class Transcript implements ReplyObserver {
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
