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
    return editPieces(pieces, starts, await this.#filter.findRedactions(joined))
  }

  /** For a text that arrives in deltas; null if no filter can change it. */
  hold(): HeldText | null {
    return this.#filter && new HeldText(this.#filter.createTextFilter('text'), false)
  }

  async completeHits(): Promise<void> {
    if (!this.#rules.recorded || this.#received === '') return
    const results = await this.#scanner.redact(this.#rules.recorded, [{ text: this.#received, place }])
    for (const { hits } of results) this.#hits.push(...hits.map(toReplyHit))
  }
}

/** The edits are in order, as the pieces are: both are passed through once. */
function editPieces(pieces: readonly string[], starts: readonly number[], edits: readonly Edit[]): string[] {
  let next = 0
  return pieces.map((piece, index) => {
    const start = starts[index] ?? 0
    while ((edits[next]?.end ?? Number.POSITIVE_INFINITY) <= start) next++
    let last = next
    while ((edits[last]?.start ?? Number.POSITIVE_INFINITY) < start + piece.length) last++
    return applyTextEdits(
      piece,
      edits.slice(next, last).map((edit) => moveEdit(edit, start, piece.length)),
    )
  })
}

/** The part of an edit that is in the piece. */
function moveEdit({ start, end, label }: Edit, pieceStart: number, length: number): Edit {
  return {
    start: Math.max(0, start - pieceStart),
    end: Math.min(length, end - pieceStart),
    label: start >= pieceStart ? label : '',
  }
}
