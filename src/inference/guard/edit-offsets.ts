import type { Edit } from '../../formats/call/json-text.ts'

interface PlacedEdit extends Edit {
  /** Characters that the edits before it add to the text. */
  growth: number
}

/** Edits that are recorded; after more of them, offsets are unknown. */
const maxRecordedEdits = 100_000

/** Offsets of a text after its edits. */
export class EditOffsets {
  readonly #edits: PlacedEdit[] = []

  /** Adds an edit, which follows those that were added before. */
  add(edit: Edit): void {
    if (this.#edits.length >= maxRecordedEdits) return
    const last = this.#edits.at(-1)
    this.#edits.push({ ...edit, growth: last ? last.growth + growthOf(last) : 0 })
  }

  /** Maps the offset of a character to its offset after the edits; undefined if that is unknown. */
  map(offset: number): number | undefined {
    if (this.#edits.length >= maxRecordedEdits) return undefined
    const last = this.#edits[countBefore(this.#edits, offset) - 1]
    return last ? offset + last.growth + growthOf({ ...last, end: Math.min(last.end, offset) }) : offset
  }
}

/** Computes the characters that an edit adds to the text. */
function growthOf({ start, end, label }: Edit): number {
  return label.length - (end - start)
}

/** The number of edits that begin before this place. */
function countBefore(edits: readonly Edit[], offset: number): number {
  let [low, high] = [0, edits.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((edits[middle]?.start ?? offset) < offset) low = middle + 1
    else high = middle
  }
  return low
}
