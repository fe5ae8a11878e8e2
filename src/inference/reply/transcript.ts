import type { ExportTargets } from '../../delivery/outbox.ts'
import type { ReplyEvent } from '../../formats/call/event.ts'
import type { OutputPart } from '../../formats/call/part.ts'
import type { ReplyObserver } from './transforms.ts'

/** The limit of the logged prompt, and of the logged reply. */
export const maxCharacters = 1024 * 1024

/** The cost of a part in addition to its text, which bounds the number of parts. */
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

/** Collects the text, reasoning and tool calls of a reply. */
export class Transcript implements ReplyObserver {
  readonly #fragments = new Map<string, Fragment>()
  #remaining = maxCharacters

  /** Whether something exceeded the limit. */
  get truncated(): boolean {
    return this.#remaining < 0
  }

  add(event: ReplyEvent): void {
    if (event.type === 'part-start') this.#begin(event.choice, event.part, event.content)
    else if (event.type === 'part-delta') {
      const fragment = this.#fragments.get(`${event.choice} ${event.part}`)
      if (!fragment) return
      const { text, transcript, summary, arguments: args } = event.delta
      const more = { completion: text ?? transcript, reasoning: text ?? summary, call: args }[fragment.kind]
      if (more) fragment.text += this.#take(more)
    }
  }

  /** The text of a reply without parts, so far. */
  setText(text: string): void {
    this.#remaining = maxCharacters
    this.#fragments.set('', { choice: 0, kind: 'completion', id: '', name: '', text: this.#take(text) })
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
    const first = createFragment(content)
    if (!first) return
    this.#remaining -= partCharacters
    if (this.#remaining < 0) return
    const { kind, text, id = '', name = '' } = first
    this.#fragments.set(`${choice} ${part}`, { choice, kind, id, name, text: this.#take(text) })
  }

  #take(text: string): string {
    const taken = text.slice(0, Math.max(0, this.#remaining))
    this.#remaining -= text.length
    return taken
  }

  /** Several choices are separated by an empty line. */
  #join(kind: Fragment['kind']): string | null {
    const texts = new Map<number, string>()
    for (const fragment of this.#fragments.values()) {
      if (fragment.kind === kind)
        texts.set(fragment.choice, (texts.get(fragment.choice) ?? '') + fragment.text)
    }
    return [...texts.values()].join('\n\n') || null
  }
}

interface LoggedRequest {
  logsContent: boolean
  exportTargets: ExportTargets | null
}

/** Creates a transcript; null if the content of the reply is neither logged nor exported. */
export function createTranscript({ logsContent, exportTargets }: LoggedRequest): Transcript | null {
  return logsContent || exportTargets?.includesContent ? new Transcript() : null
}

function createFragment(part: OutputPart): (Pick<Fragment, 'kind' | 'text'> & Partial<Fragment>) | undefined {
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
    case 'server-tool':
      return { kind: 'call', text: part.arguments, id: part.id, name: part.tool }
    default:
      return undefined
  }
}
