import type { Gateway } from '../../app/gateway.ts'
import { applyTextEdits, type Edit } from '../../call/json-text.ts'
import type { GuardrailHit, ReplyRules } from '../../policy/content-rules.ts'
import { HeldText } from './held-text.ts'
import { ReplyFilter, toReplyHit } from './reply-filter.ts'

const place = { part: 'text', role: 'assistant', message: null } as const

/** Applies the filters of replies to a reply of another task, which consists of a few texts. */
export class MediaFilter {
  readonly #scanner: Gateway['scanner']
  readonly #rules: ReplyRules
  readonly #hits: GuardrailHit[]
  readonly #filter: ReplyFilter | null
  #received = ''

  constructor({ scanner }: Pick<Gateway, 'scanner'>, rules: ReplyRules, hits: GuardrailHit[]) {
    this.#scanner = scanner
    this.#rules = rules
    this.#hits = hits
    this.#filter = rules.enforced && new ReplyFilter({ scanner }, rules.enforced, hits)
  }

  /** A filter may change the reply. */
  get isStrict(): boolean {
    return this.#filter !== null
  }

  /** Remembers a text for the filters whose matches are only recorded. */
  observe(text: string): void {
    if (this.#rules.recorded) this.#received += text
  }

  async redact(text: string): Promise<string> {
    this.observe(`${text}\n`)
    return this.#filter ? this.#filter.redactText(text, 'text') : text
  }

  /** The pieces of a text that was counted before: a match may extend over several, and leaves its label in the first. */
  async redactPieces(pieces: readonly string[]): Promise<string[]> {
    if (!this.#filter || pieces.length === 0) return [...pieces]
    const starts: number[] = []
    let joined = ''
    for (const piece of pieces) {
      if (joined !== '' && !/^\s/.test(piece)) joined += ' '
      starts.push(joined.length)
      joined += piece
    }
    const edits = await this.#filter.findRedactions(joined)
    return pieces.map((piece, index) => editPiece(piece, starts[index] ?? 0, edits))
  }

  /** For a text that arrives in deltas; null if no filter can change it. */
  hold(): HeldText | null {
    return this.#filter && new HeldText(this.#filter.createTextFilter('text'), false)
  }

  async completeHits(): Promise<void> {
    if (!this.#rules.recorded || this.#received === '') return
    const results = await this.#scanner.scan(this.#rules.recorded, [{ text: this.#received, place }])
    for (const { hits } of results) this.#hits.push(...hits.map(toReplyHit))
  }
}

function editPiece(piece: string, start: number, edits: readonly Edit[]): string {
  const end = start + piece.length
  const own = edits.filter((edit) => edit.start < end && edit.end > start)
  return applyTextEdits(
    piece,
    own.map((edit) => ({
      start: Math.max(0, edit.start - start),
      end: Math.min(piece.length, edit.end - start),
      label: edit.start >= start ? edit.label : '',
    })),
  )
}
