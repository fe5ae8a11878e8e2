import { applyTextEdits, type Edit, escapeJson } from '../../formats/call/json-text.ts'
import type { OutputPart } from '../../formats/call/part.ts'
import type { TextPlace } from '../../formats/call/texts.ts'
import type { Placeholders } from '../../governance/filters/placeholders.ts'
import { EditOffsets } from './edit-offsets.ts'
import type { EditedText, TextField } from './part-filter.ts'
import { ReplyEditor } from './reply-editor.ts'

/** Restores the values that placeholders stand for, in a reply on its way to the client. */
export class PlaceholderRestorer extends ReplyEditor {
  readonly #placeholders: Placeholders
  readonly #isJson: boolean

  /** `isJson`: the text of the reply is to be JSON. */
  constructor(placeholders: Placeholders, isJson: boolean) {
    super()
    this.#placeholders = placeholders
    this.#isJson = isJson
  }

  override openText(content: OutputPart, field: TextField): EditedText {
    const isJson = field === 'arguments' ? !isCustomCall(content) : this.#isJson && content.kind === 'text'
    return new RestoredText(this.#placeholders, isJson)
  }

  override async editText(text: string, part: TextPlace['part']): Promise<string> {
    return restore(this.#placeholders, text, part === 'tool-call')
  }

  override async editJson<T extends object>(value: T): Promise<T> {
    return JSON.parse(restore(this.#placeholders, JSON.stringify(value), true)) as T
  }
}

/** The arguments of a custom tool are free text. */
function isCustomCall(content: OutputPart): boolean {
  return content.kind === 'tool-call' && content.custom === true
}

function restore(placeholders: Placeholders, text: string, isJson: boolean): string {
  return applyTextEdits(text, listEdits(placeholders, text, isJson))
}

/** `isJson`: the placeholders are in strings of a JSON text. */
function listEdits(placeholders: Placeholders, text: string, isJson: boolean): Edit[] {
  return [...placeholders.find(text)].map(({ start, end, value }) => ({
    start,
    end,
    label: isJson ? escapeJson(value) : value,
  }))
}

/** A text that arrives in deltas: only what may begin a placeholder is held back. */
class RestoredText implements EditedText {
  readonly #placeholders: Placeholders
  readonly #isJson: boolean
  readonly #offsets = new EditOffsets()
  #held = ''
  /** The length of the text before `#held`, as received. */
  #position = 0
  isChanged = false

  constructor(placeholders: Placeholders, isJson: boolean) {
    this.#placeholders = placeholders
    this.#isJson = isJson
  }

  async add(text: string): Promise<string> {
    const all = this.#held + text
    return this.#release(all, this.#placeholders.findOpen(all))
  }

  async end(): Promise<string> {
    return this.#release(this.#held, this.#held.length)
  }

  mapOffset(offset: number): number | undefined {
    return this.#offsets.map(offset)
  }

  #release(text: string, end: number): string {
    const released = text.slice(0, end)
    const edits = listEdits(this.#placeholders, released, this.#isJson)
    for (const edit of edits)
      this.#offsets.add({ ...edit, start: edit.start + this.#position, end: edit.end + this.#position })
    this.isChanged ||= edits.length > 0
    this.#position += end
    this.#held = text.slice(end)
    return applyTextEdits(released, edits)
  }
}
