import { applyTextEdits, type Edit } from '../../formats/call/json-text.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { GuardrailHit, ReplyRules } from '../../governance/policy/content-rules.ts'
import { StringBuilder } from '../../platform/text/string-builder.ts'
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

  /** Whether a filter may change the reply. */
  get isStrict(): boolean {
    return this.#filter !== null
  }

  /** Remembers a text for the filters whose matches are only recorded. */
  observe(text: string): void {
    if (this.#rules.recorded) this.#received += text
  }

  async redact(text: string): Promise<string> {
    this.observe(`${text}\n`)
    return this.#filter ? this.#filter.editText(text, 'text') : text
  }

  /** The pieces of a text that was counted before: a match may extend over several, and leaves its label in the first. */
  async redactPieces(pieces: readonly string[]): Promise<string[]> {
    if (!this.#filter || pieces.length === 0) return [...pieces]
    const editor = new PieceEditor(pieces)
    await this.#filter.findEdits(editor.joined, (edits) => editor.apply(edits))
    return editor.end()
  }

  /** Creates a filter for a text that arrives in deltas; null if no filter can change it. */
  hold(): HeldText | null {
    return this.#filter && new HeldText(this.#filter.createTextFilter('text'), false)
  }

  async completeHits(): Promise<void> {
    if (!this.#rules.recorded || this.#received === '') return
    const results = await this.#scanner.redact(this.#rules.recorded, [{ text: this.#received, place }])
    for (const { hits } of results) this.#hits.push(...hits.map(toReplyHit))
  }
}

/** Pieces of a text and, as they arrive, its edits: both are in order, and passed through once. */
class PieceEditor {
  readonly joined: string
  readonly #pieces: readonly string[]
  readonly #starts: number[] = []
  readonly #edited: string[] = []
  /** Edits of the current piece. */
  #open: Edit[] = []

  constructor(pieces: readonly string[]) {
    this.#pieces = pieces
    const parts = new StringBuilder()
    let length = 0
    for (const piece of pieces) {
      const separator = length === 0 || /^\s/.test(piece) ? '' : ' '
      parts.add(separator + piece)
      length += separator.length + piece.length
      this.#starts.push(length - piece.length)
    }
    this.joined = parts.take()
  }

  /** An edit that began before the piece leaves no label in it. */
  apply(edits: readonly Edit[]): void {
    for (const edit of edits) {
      let index = this.#edited.length
      for (; this.#endOf(index) <= edit.start; index++) this.#endPiece()
      for (; (this.#starts[index] ?? Number.POSITIVE_INFINITY) < edit.end; index++) {
        const [start, length] = [this.#starts[index] ?? 0, this.#pieces[index]?.length ?? 0]
        this.#open.push({
          start: Math.max(0, edit.start - start),
          end: Math.min(length, edit.end - start),
          label: edit.start >= start ? edit.label : '',
        })
        if (edit.end < start + length) break
        this.#endPiece()
      }
    }
  }

  end(): string[] {
    while (this.#edited.length < this.#pieces.length) this.#endPiece()
    return this.#edited
  }

  #endOf(index: number): number {
    return (this.#starts[index] ?? Number.POSITIVE_INFINITY) + (this.#pieces[index]?.length ?? 0)
  }

  #endPiece(): void {
    this.#edited.push(applyTextEdits(this.#pieces[this.#edited.length] ?? '', this.#open))
    this.#open = []
  }
}
