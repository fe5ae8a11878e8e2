import type { ReplyEvent } from '../../formats/call/event.ts'
import type { Citation } from '../../formats/call/part.ts'

type PartEvent = Extract<ReplyEvent, { type: 'part-start' | 'part-delta' | 'part-end' }>

/** More sources than a reply can usefully cite. */
const maxCitations = 200

/**
 * Adds the sources of server tools to the texts of a reply as citations: to each text those it names, and to the last
 * text the others. The end of a text is held back until it is known which one is the last.
 */
export class CitationWriter {
  readonly #pending: Citation[] = []
  readonly #urls = new Set<string>()
  #text: { part: number; text: string; isEnded: boolean } | null = null

  add(citations: readonly Citation[]): void {
    for (const citation of citations) {
      const key = citation.url ?? JSON.stringify(citation)
      if (this.#urls.size >= maxCitations || this.#urls.has(key)) continue
      this.#urls.add(key)
      this.#pending.push(citation)
    }
  }

  /** The events for the client, for an event of the model. */
  write(event: PartEvent): ReplyEvent[] {
    if (event.type === 'part-start') return [...this.#close(false), ...this.#open(event)]
    const text = this.#text
    if (text?.part !== event.part) return [event]
    if (event.type === 'part-delta') {
      text.text += event.delta.text ?? ''
      return [event]
    }
    text.isEnded = true
    return []
  }

  /** `isLast`: no text follows. */
  end(isLast: boolean): ReplyEvent[] {
    return this.#close(isLast)
  }

  #open(event: Extract<PartEvent, { type: 'part-start' }>): ReplyEvent[] {
    const { part, content } = event
    if (content.kind === 'text') this.#text = { part, text: content.text, isEnded: false }
    return [event]
  }

  /** A text that is still open is interleaved with the next part. */
  #close(isLast: boolean): ReplyEvent[] {
    const text = this.#text
    if (!text?.isEnded) return []
    this.#text = null
    const { part } = text
    const cited = this.#take(text.text, isLast)
    return [
      ...cited.map((citation): ReplyEvent => ({ type: 'part-delta', choice: 0, part, delta: { citation } })),
      { type: 'part-end', choice: 0, part },
    ]
  }

  #take(text: string, isLast: boolean): Citation[] {
    const taken: Citation[] = []
    for (const citation of this.#pending.splice(0)) {
      const place = findPlace(text, citation.url)
      if (place || isLast) taken.push({ ...citation, ...(place ?? { start: 0, end: 0 }) })
      else this.#pending.push(citation)
    }
    return taken
  }
}

/** Finds the place of the URL, or of the Markdown link that has it. */
function findPlace(text: string, url: string | undefined): { start: number; end: number } | null {
  const at = url ? text.indexOf(url) : -1
  if (!url || at < 0) return null
  const end = at + url.length
  const label = text.slice(0, at)
  if (!label.endsWith('](') || text[end] !== ')') return { start: at, end }
  const start = label.lastIndexOf('[')
  return start < 0 ? { start: at, end } : { start, end: end + 1 }
}
