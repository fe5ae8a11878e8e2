import { type JsonObject, numberOf, objectOf, textOf } from '../../lib/loose.ts'

export interface OpenCall {
  id: string
  /** Which call of its choice it is. */
  ordinal: number
  /** The part it is, for readers. */
  part: number
  /** Takes free text, of which nothing is something too. */
  custom: boolean
  /** Something of its arguments came. */
  hasArguments: boolean
}

/** The tool calls of a choice. Vendors number them, or name each anew, or do both wrongly. */
export class CallTable {
  readonly #byKey = new Map<string, OpenCall>()
  readonly #byId = new Map<string, OpenCall>()
  readonly #all: OpenCall[] = []

  get size(): number {
    return this.#all.length
  }

  get all(): readonly OpenCall[] {
    return this.#all
  }

  /** The call that a piece continues; undefined when it begins another. */
  find(piece: JsonObject): OpenCall | undefined {
    const [index, id] = [numberOf(piece.index), textOf(piece.id)]
    const name = textOf(functionOf(piece).name)
    if (index === undefined) {
      if (id) return this.#byId.get(id)
      return name ? undefined : this.#all.at(-1)
    }
    const held = this.#byKey.get(String(index))
    // The same number with another id and a name is another call: some vendors number every call 0.
    return held && id && id !== held.id && name ? this.#byId.get(id) : held
  }

  add(piece: JsonObject, id: string, part: number): OpenCall {
    const custom = isCustomCall(piece)
    const call = { id, ordinal: this.#all.length, part, custom, hasArguments: false }
    this.#all.push(call)
    if (!this.#byId.has(id)) this.#byId.set(id, call)
    const index = numberOf(piece.index)
    // A number that is used again means the newest call from now on.
    if (index !== undefined) this.#byKey.set(String(index), call)
    return call
  }
}

/** What a call says of its function. Some vendors fill in every member of the format, the unused ones with nothing. */
export function functionOf(piece: JsonObject): JsonObject {
  const [custom, named] = [objectOf(piece.custom), objectOf(piece.function)]
  if (custom && !isBlank(custom)) return custom
  return named ?? custom ?? {}
}

export function isCustomCall(piece: JsonObject): boolean {
  const [custom, named] = [objectOf(piece.custom), objectOf(piece.function)]
  if (custom) return !isBlank(custom) || named === undefined
  return piece.type === 'custom'
}

/** Whether a member is there and says nothing: empty, or with nothing but empty members. */
export function isBlank(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true
  if (Array.isArray(value)) return value.length === 0
  return typeof value === 'object' && Object.values(value).every(isBlank)
}
